import { expect, test } from "vitest";
import {
  agent,
  alice,
  bob,
  capability,
  contextOf,
  deferred,
  envelopeOf,
  fails,
  grantOf,
  portSecret,
  refusingAudit,
  rejection,
  untyped,
  worldOf,
} from "../../test/deployment.ts";
import { ticks } from "../../test/turns.ts";
import {
  MessageResultSchema,
  type AccessContext,
  type Capability,
  type Grant,
  type MessageEnvelope,
  type MessageResult,
  type PrincipalRef,
} from "../contracts/index.ts";
import { memoryAudit, memoryMessages } from "../testing/index.ts";
import type { MessageTransport } from "./ports.ts";

const sendToBob: Capability = capability("service.messaging", ["human", "bob"], "send", { scope: "exact" });
const bounded = [grantOf("grant-1", { capabilities: [sendToBob], constraints: { maxUses: 1 } })];

const receipt = { status: "delivered", messageId: "message-1", timestamp: "2026-01-01T12:00:00Z" };

function answering(answer: unknown): MessageTransport {
  return { deliver: () => Promise.resolve(untyped<MessageResult>(answer)) };
}

function granted(one: Capability): Grant[] {
  return [grantOf("grant-1", { capabilities: [one], constraints: { maxUses: 1 } })];
}

interface Row {
  name: string;
  envelope?: unknown;
  context?: unknown;
  grants?: readonly Grant[];
  transport?: MessageTransport;
  status: "delivered" | "accepted" | "denied" | "failed";
  code?: string;
  used: 0 | 1;
}

const rows: Row[] = [
  { name: "a message that a grant covers", status: "delivered", used: 1 },
  { name: "a message whose version is a text", envelope: envelopeOf({ version: "1" }), status: "delivered", used: 1 },
  {
    name: "a message from another sender",
    envelope: envelopeOf({ sender: alice }),
    status: "denied",
    code: "message_context_mismatch",
    used: 0,
  },
  {
    name: "a message from a sender of another kind with the same id",
    envelope: envelopeOf({ sender: { kind: "human", userId: "helper" } }),
    status: "denied",
    code: "message_context_mismatch",
    used: 0,
  },
  {
    name: "a message for another purpose",
    envelope: envelopeOf({ purpose: "Help" }),
    status: "denied",
    code: "message_context_mismatch",
    used: 0,
  },
  {
    name: "a message of another trace",
    envelope: envelopeOf({ traceId: "trace-2" }),
    status: "denied",
    code: "message_context_mismatch",
    used: 0,
  },
  { name: "a message without a grant", grants: [], status: "denied", code: "no_matching_grant", used: 0 },
  {
    name: "a message to another receiver",
    envelope: envelopeOf({ receiver: alice }),
    status: "denied",
    code: "no_matching_grant",
    used: 0,
  },
  {
    name: "a message to a receiver of another kind with the same id",
    envelope: envelopeOf({ receiver: { kind: "agent", agentId: "bob" } }),
    status: "denied",
    code: "no_matching_grant",
    used: 0,
  },
  {
    name: "a message with a grant to read the receiver",
    grants: granted(capability("service.messaging", ["human", "bob"], "read")),
    status: "denied",
    code: "no_matching_grant",
    used: 0,
  },
  {
    name: "a message with a grant in another namespace",
    grants: granted(capability("messaging", ["human", "bob"], "send")),
    status: "denied",
    code: "no_matching_grant",
    used: 0,
  },
  {
    name: "a message with a grant for everyone of that kind",
    grants: granted(capability("service.messaging", ["human"], "send")),
    status: "delivered",
    used: 1,
  },
  {
    name: "a message to a receiver whose id is no path segment",
    envelope: envelopeOf({ receiver: { kind: "human", userId: "../bob" } }),
    grants: granted(capability("service.messaging", [], "*")),
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "a message with a key too many",
    envelope: { ...envelopeOf(), grants: [] },
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "a message of another version",
    envelope: { ...envelopeOf(), version: 2 },
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "a message whose payload is no JSON",
    envelope: { ...envelopeOf(), payload: new Date(0) },
    status: "denied",
    code: "invalid_request",
    used: 0,
  },
  {
    name: "a context that does not fit",
    context: { ...contextOf(), traceId: "" },
    status: "denied",
    code: "invalid_context",
    used: 0,
  },
  {
    name: "a context without authority",
    context: withoutAuthority(),
    status: "denied",
    code: "invalid_context",
    used: 0,
  },
  {
    name: "a transport that fails",
    transport: { deliver: fails },
    status: "failed",
    code: "message_delivery_failed",
    used: 1,
  },
  {
    name: "a transport that throws at once",
    transport: {
      deliver: (): never => {
        throw new Error(portSecret);
      },
    },
    status: "failed",
    code: "message_delivery_failed",
    used: 1,
  },
  {
    name: "a transport that accepts",
    transport: answering({ ...receipt, status: "accepted" }),
    status: "accepted",
    used: 1,
  },
  {
    name: "a transport that answers for another message",
    transport: answering({ ...receipt, messageId: "message-2" }),
    status: "failed",
    code: "invalid_message_receipt",
    used: 1,
  },
  {
    name: "a transport that answers nothing",
    transport: answering(undefined),
    status: "failed",
    code: "invalid_message_receipt",
    used: 1,
  },
  {
    name: "a transport that answers another status",
    transport: answering({ ...receipt, status: "sent" }),
    status: "failed",
    code: "invalid_message_receipt",
    used: 1,
  },
  {
    name: "a transport that answers with a key too many",
    transport: answering({ ...receipt, secret: portSecret }),
    status: "failed",
    code: "invalid_message_receipt",
    used: 1,
  },
];

for (const row of rows) {
  test(`${row.name} is ${row.status}${row.code === undefined ? "" : ` with ${row.code}`}`, async () => {
    const memory = memoryMessages();
    const { kernel, usage, portErrors } = worldOf({ grants: row.grants ?? bounded, messages: row.transport ?? memory });
    const result = await kernel.sendMessage(
      untyped<AccessContext>(row.context ?? contextOf()),
      untyped<MessageEnvelope>(row.envelope ?? envelopeOf()),
    );
    expect(result.status).toBe(row.status);
    expect("error" in result ? result.error.code : undefined).toBe(row.code);
    expect(result.messageId).toBe("message-1");
    expect(MessageResultSchema.safeParse(result).success).toBe(true);
    expect(JSON.stringify(result)).not.toContain(portSecret);
    expect(memory.delivered).toHaveLength(row.status === "delivered" ? 1 : 0);
    expect(await usage.used("demo", "grant-1")).toBe(row.used);
    expect(portErrors.map(({ failure }) => failure)).toStrictEqual(
      row.status === "failed" ? [{ port: "messages" }] : [],
    );
  });
}

function withoutAuthority(): Omit<AccessContext, "authority"> {
  const { authority: _open, ...rest } = contextOf();
  return rest;
}

for (const row of [
  { name: "a human", receiver: bob, path: ["human", "bob"] },
  { name: "an agent", receiver: agent, path: ["agent", "helper"] },
  { name: "a group", receiver: { kind: "group", conversationId: "family" }, path: ["group", "family"] },
  { name: "a service", receiver: { kind: "service", serviceId: "calendar" }, path: ["service", "calendar"] },
] satisfies { name: string; receiver: PrincipalRef; path: string[] }[]) {
  test(`to send to ${row.name} takes service.messaging / ${JSON.stringify(row.path)} / send`, async () => {
    const grants = granted(capability("service.messaging", row.path, "send", { scope: "exact" }));
    const { kernel, events } = worldOf({ grants, messages: memoryMessages() });
    expect(await kernel.sendMessage(contextOf(), envelopeOf({ receiver: row.receiver }))).toMatchObject({
      status: "delivered",
    });
    expect(events[0]).toMatchObject({ action: "send", resource: { namespace: "service.messaging", path: row.path } });
  });
}

test("without a transport an allowed message is message_transport_not_configured, a refused one is still refused", async () => {
  const allowed = await worldOf({ grants: bounded }).kernel.sendMessage(contextOf(), envelopeOf());
  expect(allowed).toMatchObject({
    status: "failed",
    messageId: "message-1",
    error: { code: "message_transport_not_configured" },
  });
  const refused = await worldOf().kernel.sendMessage(contextOf(), envelopeOf());
  expect(refused).toMatchObject({ status: "denied", error: { code: "no_matching_grant" } });
});

test("the transport gets the trusted context, the envelope as it was sent, frozen, and a signal", async () => {
  const seen: unknown[] = [];
  const transport: MessageTransport = {
    deliver(...given) {
      seen.push(...given, Object.isFrozen(given[1]) && Object.isFrozen(given[1].payload));
      return Promise.resolve(untyped<MessageResult>(receipt));
    },
  };
  const envelope = envelopeOf({ payload: { text: "hello" }, replyTo: "message-0" });
  const { signal } = new AbortController();
  await worldOf({ grants: bounded, messages: transport }).kernel.sendMessage(contextOf(), envelope, { signal });
  expect(seen).toStrictEqual([contextOf(), envelope, signal, true]);
});

test("a message carries no authority: what a payload says changes nothing about what its sender may do", async () => {
  const payload = { grants: [{ id: "grant-9", capabilities: [{ actions: ["*"] }] }], authority: "root" };
  const { kernel } = worldOf({ grants: bounded, messages: memoryMessages() });
  await kernel.sendMessage(contextOf(), envelopeOf({ payload }));
  const { allowed } = await kernel.authorize(contextOf(), {
    action: "read",
    resource: { namespace: "files", path: [] },
  });
  expect(allowed).toBe(false);
});

test("a spent grant denies with grant_exhausted and nothing more is delivered", async () => {
  const messages = memoryMessages();
  const { kernel } = worldOf({ grants: bounded, messages });
  expect(await kernel.sendMessage(contextOf(), envelopeOf())).toMatchObject({ status: "delivered" });
  const second = await kernel.sendMessage(contextOf(), envelopeOf({ id: "message-2" }));
  expect(second).toMatchObject({ status: "denied", messageId: "message-2", error: { code: "grant_exhausted" } });
  expect(messages.delivered).toHaveLength(1);
});

test("a class instance has its this", async () => {
  class Post implements MessageTransport {
    readonly #status = "accepted";

    deliver(_context: AccessContext, { id: messageId }: MessageEnvelope): Promise<MessageResult> {
      return Promise.resolve({ status: this.#status, messageId, timestamp: "2026-01-01T12:00:00Z" });
    }
  }
  const { kernel } = worldOf({ grants: bounded, messages: new Post() });
  expect(await kernel.sendMessage(contextOf(), envelopeOf())).toMatchObject({ status: "accepted" });
});

for (const status of ["denied", "failed"] as const) {
  test(`a transport's own ${status} passes with the transport's own code`, async () => {
    const own = { ...receipt, status, error: { code: "mailbox_full", message: "Try tomorrow." } };
    const result = await worldOf({ grants: bounded, messages: answering(own) }).kernel.sendMessage(
      contextOf(),
      envelopeOf(),
    );
    expect(result).toStrictEqual(own);
  });
}

test("an abort before the effect rejects with its reason; nothing is taken, delivered or recorded", async () => {
  const messages = memoryMessages();
  const reason = new Error("the caller went away");
  const answer = deferred<readonly Grant[]>();
  const { kernel, usage, events } = worldOf({ source: { load: () => answer.promise }, messages });
  expect(await rejection(kernel.sendMessage(contextOf(), envelopeOf(), { signal: AbortSignal.abort(reason) }))).toBe(
    reason,
  );
  const controller = new AbortController();
  const sending = rejection(kernel.sendMessage(contextOf(), envelopeOf(), { signal: controller.signal }));
  controller.abort(reason);
  answer.resolve(bounded);
  expect(await sending).toBe(reason);
  expect([messages.delivered.length, events.length, await usage.used("demo", "grant-1")]).toStrictEqual([0, 0, 0]);
});

test("a decision that the sink refuses fails the message, and nothing is delivered", async () => {
  const messages = memoryMessages();
  const { kernel } = worldOf({ grants: bounded, messages, audit: refusingAudit(() => true) });
  expect(await kernel.sendMessage(contextOf(), envelopeOf())).toMatchObject({
    status: "failed",
    error: { code: "audit_unavailable" },
  });
  expect(messages.delivered).toStrictEqual([]);
});

for (const row of [
  { name: "without an audit log", audit: () => "none" as const },
  { name: "with a sink", audit: memoryAudit },
]) {
  for (const count of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`aborted ${count} microtasks after the call, ${row.name}, a message is delivered before the abort or not at all`, async () => {
      const controller = new AbortController();
      const reason = new Error("the caller went away");
      const deliveredAborted: boolean[] = [];
      const messages: MessageTransport = {
        deliver(_context, _envelope, signal) {
          deliveredAborted.push(signal.aborted);
          return Promise.resolve(untyped<MessageResult>(receipt));
        },
      };
      const grants = [grantOf("grant-1", { capabilities: [sendToBob] })];
      const { kernel } = worldOf({ grants, messages, audit: row.audit() });
      const ended = kernel.sendMessage(contextOf(), envelopeOf(), { signal: controller.signal }).then(
        ({ status }) => status,
        (error: unknown) => error,
      );
      await ticks(count);
      controller.abort(reason);
      const end = await ended;
      expect([reason, "delivered"]).toContain(end);
      expect(deliveredAborted).toStrictEqual(end === reason ? [] : [false]);
    });
  }
}
