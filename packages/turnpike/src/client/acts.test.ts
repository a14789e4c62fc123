import { afterEach, describe, expect, test } from "vitest";
import { grantOf, needs, now, rejection } from "../../test/deployment.ts";
import { httpWorldOf } from "../../test/http.ts";
import { transports, type Loopback, type Transport } from "../../test/loopback.ts";
import type { ActRequest } from "../contracts/index.ts";
import { memoryActs } from "../testing/index.ts";
import { createServiceClient, type ServiceClient } from "./client.ts";

const opened: Loopback[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

/** A client of a service with a store of acts. */
async function connectTo(transport: Transport, acts = memoryActs()): Promise<ServiceClient> {
  const server = await transport.open(httpWorldOf({ kernel: { acts, grants: [grantOf("notes")] } }).handler);
  opened.push(server);
  const { baseUrl, fetch } = server;
  return createServiceClient({ baseUrl, ...(fetch && { fetch }) });
}

const id = "a/b?c ä";
const request: ActRequest = {
  version: 1,
  id,
  tool: "summarize",
  needs: [needs("notes", "today")],
  requestedAt: now,
  traceId: "trace-1",
};
const allowed = { status: "allowed", id: "a/b?c ä", expiresAt: "2026-01-01T12:05:00.000Z", grants: ["notes"] };
const succeeded = { status: "succeeded", id: "a/b?c ä", completedAt: "2026-01-01T12:00:00Z", output: "short" };

for (const transport of transports) {
  describe(transport.name, () => {
    for (const { name, begun, scope, other } of [
      { name: "trace", begun: request, scope: { traceId: "trace-1" }, other: { executionId: "turn-1" } },
      {
        name: "execution",
        begun: { ...request, executionId: "turn-1" },
        scope: { executionId: "turn-1" },
        other: { traceId: "trace-1" },
      },
    ]) {
      test(`an act is begun, read and finished by its ${name}, and its outcome answers it from then on`, async () => {
        const client = await connectTo(transport);
        expect(await client.beginAct(begun)).toStrictEqual(allowed);
        expect(await client.act(id, scope)).toStrictEqual(allowed);
        const outcome = { version: 1, ...scope, status: "succeeded", output: "short" } as const;
        expect(await client.finishAct(id, outcome)).toStrictEqual(succeeded);
        expect(await client.act(id, scope)).toStrictEqual(succeeded);
        expect(await client.beginAct(begun)).toStrictEqual(succeeded);
        expect(await rejection(client.act(id, other))).toMatchObject({ status: 404, code: "not_found" });
      });
    }

    test("an act that is begun twice rejects as pending, with the time to wait", async () => {
      const client = await connectTo(transport);
      await client.beginAct(request);
      expect(await rejection(client.beginAct(request))).toMatchObject({
        status: 409,
        code: "replay_pending",
        retryAfter: 1,
      });
    });

    for (const { name, call } of [
      { name: "act", call: (client: ServiceClient) => client.act("act-9", { traceId: "trace-1" }) },
      {
        name: "finishAct",
        call: (client: ServiceClient) =>
          client.finishAct("act-9", { version: 1, traceId: "trace-1", status: "succeeded" }),
      },
    ]) {
      test(`${name} rejects for an act that is not there`, async () => {
        expect(await rejection(call(await connectTo(transport)))).toMatchObject({ status: 404, code: "not_found" });
      });
    }

    test("a signal that has fired rejects with its reason, and nothing is begun, read or finished", async () => {
      const client = await connectTo(transport);
      const reason = new Error("changed my mind");
      const signal = AbortSignal.abort(reason);
      const scope = { traceId: "trace-1" };
      expect(await rejection(client.beginAct(request, { signal }))).toBe(reason);
      expect(await rejection(client.act(id, scope))).toMatchObject({ code: "not_found" });
      await client.beginAct(request);
      const finishing = client.finishAct(id, { version: 1, ...scope, status: "succeeded" }, { signal });
      expect(await rejection(finishing)).toBe(reason);
      expect(await rejection(client.act(id, scope, { signal }))).toBe(reason);
      expect(await client.act(id, scope)).toStrictEqual(allowed);
    });
  });
}
