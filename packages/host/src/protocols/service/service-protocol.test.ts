import { describe, expect, test } from "vitest";
import type { DiscoveryContext } from "turnpike/contracts";
import { acceptContext, type ServiceApi } from "turnpike/http";
import { asFetch } from "../../../test/fetch-front.ts";
import { context } from "../../../test/records.ts";
import { createFront } from "../../front/front.ts";
import { serveProtocol } from "../../front/protocol.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import { serviceProtocol } from "./service-protocol.ts";

const { authority: _authority, ...withoutAuthority } = context();
const call = { id: "call-1", tool: "files.read", arguments: {}, requestedAt: context().now, traceId: "trace-1" };
const envelope = {
  version: 1,
  id: "message-1",
  createdAt: context().now,
  traceId: "trace-1",
  purpose: "support",
  sender: context().actor,
  receiver: context().owner,
  payload: null,
};
const resource = { namespace: "files", path: ["a"] };

/** A front with nothing but the service, whose operations all answer `[]`, and the names of those that were called. */
function serviceFor(resolved: DiscoveryContext) {
  const called: string[] = [];
  const api = new Proxy({} as ServiceApi, {
    get: (_target, name) => () => {
      called.push(String(name));
      return Promise.resolve([]);
    },
  });
  const protocol = serviceProtocol(api, () => Promise.resolve(resolved));
  const log = { info() {}, warn() {}, error() {} };
  const front = asFetch(createFront({ protocols: [serveProtocol(protocol)], log, metrics: createMetrics() }));
  const send = (method: string, path: string, body?: unknown) =>
    front(new Request(`http://host${path}`, { method, ...(body !== undefined && { body: JSON.stringify(body) }) }));
  return { send, called };
}

describe("an operation that exercises authority", () => {
  for (const [path, body] of [
    ["/v1/authorize", { action: "read", resource }],
    ["/v1/tools/invoke", call],
    ["/v1/resources/invoke", { operationId: "operation-1", action: "read", resource }],
    ["/v1/messages", envelope],
  ] as const) {
    test(`at ${path} is refused in a context without authority, before it is called`, async () => {
      const { send, called } = serviceFor(withoutAuthority);
      const response = await send("POST", path, body);
      expect([response.status, await response.json()]).toMatchObject([
        500,
        { error: { code: "invalid_access_context", message: "No valid access context could be resolved." } },
      ]);
      expect(called).toEqual([]);
    });

    test(`at ${path} is called in a context with authority`, async () => {
      const { send, called } = serviceFor(context());
      expect((await send("POST", path, body)).status).toBe(200);
      expect(called).toHaveLength(1);
    });
  }
});

describe("an operation that only reads", () => {
  for (const path of ["/v1/tools", "/v1/tools/namespaces", "/v1/reach"]) {
    test(`at ${path} needs no authority`, async () => {
      const { send, called } = serviceFor(withoutAuthority);
      expect((await send("GET", path)).status).toBe(200);
      expect(called).toHaveLength(1);
    });
  }
});

test("a context that does not fit the contract is refused, and the body is not read", async () => {
  const { send, called } = serviceFor({ ...context(), purpose: "" });
  const response = await send("POST", "/v1/tools/invoke", "no call");
  expect([response.status, await response.json()]).toMatchObject([500, { error: { code: "invalid_access_context" } }]);
  expect(called).toEqual([]);
});

test("a context is read as often as validating it takes, and no more", async () => {
  let reads = 0;
  const counting = (): DiscoveryContext =>
    Object.defineProperty(context(), "purpose", { enumerable: true, get: () => ((reads += 1), "support") });
  acceptContext(counting(), "required");
  const once = reads;
  reads = 0;
  await serviceFor(counting()).send("POST", "/v1/tools/invoke", call);
  expect(reads).toBe(once);
});
