import { expect, test } from "vitest";
import type { TurnRequest } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";
import { memoryTurnJournal } from "turnpike/testing";
import { asFetch } from "../../../test/fetch-front.ts";
import { events } from "../../../test/counting-api.ts";
import { access, alice, assistant, context, now } from "../../../test/records.ts";
import { eventEntries } from "../../../test/turn-journals.ts";
import type { Credential } from "../../access/credential-store.ts";
import type { ContextResolver } from "../../access/index.ts";
import { createFront } from "../../front/front.ts";
import { serveProtocol } from "../../front/protocol.ts";
import { createMetrics } from "../../telemetry/metrics.ts";
import { serviceProtocol } from "./service-protocol.ts";

function turnRequest(executionId: string): TurnRequest {
  const ids = { id: "message-1", createdAt: now, traceId: "trace-1", purpose: "support" };
  const message = { version: 1 as const, ...ids, sender: alice, receiver: assistant, payload: null };
  return { version: 1, executionId, agent: assistant, message };
}

/** A front with the service over a journal in memory, where every turn begins and none ends. */
function serviceWithJournal(isAdmitted: () => boolean = () => true, given?: ServiceApi["executeTurn"]) {
  const journal = memoryTurnJournal();
  const limits = { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 };
  const executeTurn: ServiceApi["executeTurn"] = async (accessContext, request, options) => {
    const { executionId } = request;
    const runtime = { id: "played", version: "1" };
    const begun = { request, context: { ...accessContext, executionId }, runtime, limits, startedAt: now };
    await journal.begin({ ...begun, isAsync: options?.isAsync === true }, {});
    const { namespaceId, actor } = accessContext;
    const state = await journal.find({ namespaceId, actor, executionId });
    if (state !== undefined) options?.onBegun?.(state);
    return new Promise(() => {});
  };
  const api = { executeTurn: given ?? executeTurn } as ServiceApi;
  const credential: Credential = { id: "credential-1", namespaceId: "tenant-1", access };
  const resolve: ContextResolver = (_headers, record) => {
    // The credential itself stays valid: it has another token.
    const isValidAt = () => Promise.resolve(true);
    record.caller = { credential, isValidAt, isStillAdmitted: () => Promise.resolve(isAdmitted()) };
    return Promise.resolve(context());
  };
  const protocol = serviceProtocol(api, resolve, { journal });
  const lines: { route?: string }[] = [];
  const log = { info: (line: object) => void lines.push(line), warn() {}, error() {} };
  const front = asFetch(createFront({ protocols: [serveProtocol(protocol)], log, metrics: createMetrics() }));
  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
    front(
      new Request(`http://host${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }),
    );
  return { send, lines, journal };
}

test("a turn is started, found, listed, followed and cancelled through the front, whatever its id", async () => {
  const { send, lines } = serviceWithJournal();
  const started = await send("POST", "/v1/turns", { prefer: "respond-async" }, turnRequest("a/b ä"));
  expect([started.status, started.headers.get("location")]).toEqual([202, "/v1/turns/a%2Fb%20%C3%A4"]);
  const path = started.headers.get("location") ?? "";
  expect(await (await send("GET", path)).json()).toMatchObject({ executionId: "a/b ä", status: "running" });
  const listed = (await (await send("GET", "/v1/turns?status=running&limit=1")).json()) as { turns: object[] };
  expect(listed.turns).toHaveLength(1);
  expect(await (await send("GET", "/v1/turns?status=waiting")).json()).toEqual({ turns: [] });
  expect(await (await send("GET", `${path}/events`, { "last-event-id": "3" })).json()).toEqual({ events: [] });
  expect((await send("GET", `${path}/events`, { "last-event-id": "x" })).status).toBe(400);
  const stream = await send("GET", `${path}/events`, { accept: "text/event-stream" });
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  await stream.body?.cancel();
  expect((await send("POST", `${path}/cancel`)).status).toBe(202);
  expect(lines.at(-1)?.route).toBe("/v1/turns/{executionId}/cancel");
});

test("a caller who follows a turn is shown nothing more of it once their token is revoked", async () => {
  let isValid = true;
  const { send, journal } = serviceWithJournal(() => isValid);
  await send("POST", "/v1/turns", { prefer: "respond-async" }, turnRequest("long"));
  const writer = journal.take({ namespaceId: "tenant-1", actor: assistant, executionId: "long" });
  const store = (place: number) => writer.write(eventEntries(place, place + 1), writer.progress);
  await store(0);
  const stream = await send("GET", "/v1/turns/long/events", { accept: "text/event-stream" });
  const reader = stream.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"eventId":"event-0"');
  isValid = false;
  await store(1);
  expect(await reader?.read()).toEqual({ done: true, value: undefined });
});

test("a caller who streams a turn that they start is shown nothing more of it once their token is revoked", async () => {
  let isValid = true;
  let tell: (place: number) => void = () => {};
  let isCancelled: Promise<unknown> = Promise.resolve();
  const executeTurn: ServiceApi["executeTurn"] = (_context, _request, options) => {
    tell = (place) => void events.slice(place, place + 1).forEach((event) => options?.onEvent?.(event));
    isCancelled = new Promise((resolve) => options?.signal?.addEventListener("abort", resolve));
    tell(0);
    return new Promise(() => {});
  };
  const { send } = serviceWithJournal(() => isValid, executeTurn);
  const stream = await send("POST", "/v1/turns", { accept: "text/event-stream" }, turnRequest("streamed"));
  const reader = stream.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"eventId":"event-0"');
  isValid = false;
  tell(1);
  expect(await reader?.read()).toEqual({ done: true, value: undefined });
  await isCancelled;
});

test("a path of a turn is one route in the log, whatever the id, and no route without a journal", async () => {
  const { send, lines } = serviceWithJournal();
  for (const id of ["a", "b%2Fc", "{executionId}"]) {
    expect((await send("GET", `/v1/turns/${id}`)).status).toBe(404);
    expect(lines.at(-1)?.route).toBe("/v1/turns/{executionId}");
  }
  expect((await send("GET", "/v1/turns/%E4")).status).toBe(404);
  expect(lines.at(-1)?.route).toBe("other");
});
