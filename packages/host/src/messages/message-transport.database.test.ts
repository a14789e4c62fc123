import { describe, expect, test } from "vitest";
import type { MessageEnvelope } from "turnpike/contracts";
import { createKernel } from "turnpike/kernel";
import { createServiceApi, createServiceHandler } from "turnpike/http";
import { memoryAudit, memoryGrants, messageTransportSuite } from "turnpike/testing";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../test/databases.ts";
import { envelope } from "../../test/counting-api.ts";
import { context, grant, neverAborted } from "../../test/records.ts";
import { createMessageStore, type MessageStore } from "./message-store.ts";
import { messageTransport } from "./message-transport.ts";

const bob = { kind: "human", userId: "bob" } as const;

describe.each(databaseKinds)("the message transport on %s", (kind) => {
  const open = sharedDatabase(kind);

  const cases = messageTransportSuite(async () => {
    const store = createMessageStore(await openFresh(kind));
    return {
      transport: messageTransport(store),
      delivered: async (namespaceId) =>
        (await store.inbox({ namespaceId, receiver: bob }, { limit: 100 })).map((received) => received.envelope),
    };
  });
  for (const one of cases) test(one.name, () => expect(one.run()).resolves.toBeUndefined());

  test("a message that is stored is accepted", async () => {
    const transport = messageTransport(createMessageStore(await open()));
    const result = await transport.deliver(context({ namespaceId: newTenant() }), envelope, neverAborted);
    expect(result).toEqual({ status: "accepted", messageId: "id-1", timestamp: "2026-01-01T12:00:00Z" });
  });

  test("a message to a full inbox fails, and says so", async () => {
    const transport = messageTransport(createMessageStore(await open(), { maxUnacknowledged: 0 }));
    const result = await transport.deliver(context({ namespaceId: newTenant() }), envelope, neverAborted);
    expect(result).toEqual({
      status: "failed",
      messageId: "id-1",
      timestamp: "2026-01-01T12:00:00Z",
      error: { code: "quota_exceeded", message: "The receiver's inbox is full.", retryable: false },
    });
  });

  test("another message under an id that was used fails, and says so", async () => {
    const transport = messageTransport(createMessageStore(await open()));
    const within = context({ namespaceId: newTenant() });
    await transport.deliver(within, envelope, neverAborted);
    const result = await transport.deliver(within, { ...envelope, payload: "other" }, neverAborted);
    expect(result).toMatchObject({ status: "failed", error: { code: "invalid_request" } });
  });
});

/** What `POST /v1/messages` answers to the assistant, who may send to Alice alone. */
async function post(store: MessageStore, sent: MessageEnvelope): Promise<{ status: number; body: unknown }> {
  const kernel = createKernel({
    grants: memoryGrants([
      grant("send", {
        capabilities: [
          {
            resource: { namespace: "service.messaging", path: ["human", "alice"] },
            actions: ["send"],
            scope: "exact",
          },
        ],
      }),
    ]),
    messages: messageTransport(store),
    audit: memoryAudit(),
  });
  const turns = { execute: () => Promise.reject(new Error("not part of this test")) };
  const handler = createServiceHandler({
    api: createServiceApi({ kernel, turns }),
    resolveContext: () => Promise.resolve(context()),
  });
  const request = new Request("http://host/v1/messages", { method: "POST", body: JSON.stringify(sent) });
  const response = await handler(request);
  return { status: response.status, body: await response.json() };
}

test("a message that was posted is answered with 202 and is in the receiver's inbox", async () => {
  const store = createMessageStore(await openFresh("sqlite"));
  expect(await post(store, envelope)).toEqual({
    status: 202,
    body: { status: "accepted", messageId: "id-1", timestamp: "2026-01-01T12:00:00Z" },
  });
  const { receiver } = envelope;
  expect(await store.inbox({ namespaceId: "tenant-1", receiver }, { limit: 10 })).toMatchObject([{ envelope }]);
});

for (const row of [
  { name: "to a receiver whom no grant covers", sent: { ...envelope, receiver: bob }, code: "no_matching_grant" },
  { name: "in another's name", sent: { ...envelope, sender: bob }, code: "message_context_mismatch" },
  {
    name: "to a receiver whose id is no path segment",
    sent: { ...envelope, receiver: { kind: "human", userId: "a/b" } as const },
    code: "invalid_request",
  },
]) {
  test(`a message ${row.name} is denied and never stored`, async () => {
    const store = createMessageStore(await openFresh("sqlite"));
    expect(await post(store, row.sent)).toMatchObject({
      status: 200,
      body: { status: "denied", error: { code: row.code } },
    });
    expect(await store.countUnacknowledged()).toBe(0);
  });
}
