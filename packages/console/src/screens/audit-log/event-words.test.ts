import type { AuditEvent } from "turnpike/contracts";
import { expect, test } from "vitest";
import { eventText } from "./event-words.ts";

const common = {
  id: "e1",
  version: 1,
  at: "2026-11-16T09:00:00.000Z",
  traceId: "t1",
  namespaceId: "demo",
  actor: { kind: "agent", agentId: "assistant" },
  owner: { kind: "human", userId: "alice" },
  purpose: "demo",
} as const;
const diary = { namespace: "files", path: ["private", "diary.md"] };
const alice = { kind: "human", userId: "alice" } as const;

const rows: readonly [Pick<AuditEvent, "type" | "outcome"> & Partial<AuditEvent>, string][] = [
  [
    { type: "authorization.checked", outcome: "allowed", action: "read", resource: diary },
    "may read files/private/diary.md",
  ],
  [
    { type: "authorization.checked", outcome: "allowed", action: "read", resource: { ...diary, owner: alice } },
    "may read files/private/diary.md of human:alice",
  ],
  [
    { type: "authorization.checked", outcome: "denied", action: "read", resource: diary, tool: "files.read" },
    "may not read files/private/diary.md with files.read",
  ],
  [{ type: "tool.invoked", outcome: "succeeded", tool: "files.read" }, "called files.read"],
  [{ type: "tool.invoked", outcome: "denied", tool: "files.read" }, "was refused: files.read"],
  [{ type: "tool.invoked", outcome: "failed", tool: "files.read" }, "called files.read, which failed"],
  [
    { type: "resource.invoked", outcome: "succeeded", action: "read", resource: diary },
    "did read files/private/diary.md",
  ],
  [{ type: "message.sent", outcome: "succeeded", receiver: alice }, "sent a message to human:alice"],
  [{ type: "act.finished", outcome: "succeeded", tool: "deploy" }, "carried out deploy"],
  [{ type: "act.finished", outcome: "failed", tool: "deploy" }, "carried out deploy, which failed"],
  [
    {
      type: "authorization.checked",
      outcome: "shadow",
      action: "read",
      resource: diary,
      metadata: { shadow: "allowed" },
    },
    "would have been allowed to read files/private/diary.md",
  ],
  [
    {
      type: "authorization.checked",
      outcome: "shadow",
      action: "read",
      resource: diary,
      metadata: { shadow: "waiting" },
    },
    "would not have been allowed to read files/private/diary.md",
  ],
  [{ type: "turn.started", outcome: "allowed" }, "began a turn"],
  [{ type: "turn.ended", outcome: "cancelled" }, "ended the turn: cancelled"],
  [{ type: "escalation.requested", outcome: "escalated", receiver: alice }, "asked human:alice"],
  [
    { type: "operator.changed", outcome: "allowed", action: "credential.revoke", receiver: alice },
    "was allowed: credential.revoke for human:alice",
  ],
  [{ type: "operator.changed", outcome: "succeeded", action: "credential.revoke" }, "did credential.revoke"],
];

for (const [event, text] of rows) {
  test(`${event.type} ${event.outcome} reads "${text}"`, () => expect(eventText({ ...common, ...event })).toBe(text));
}
