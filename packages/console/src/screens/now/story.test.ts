import type { CredentialRecord } from "turnpike-host/admin-contract";
import { expect, test } from "vitest";
import { assistantCredential, endText } from "./story.ts";

const now = Date.parse("2026-11-16T09:00:00Z");
const alice = { kind: "human", userId: "alice" } as const;
const assistant = { kind: "agent", agentId: "assistant" } as const;
const record = (id: string, more: Partial<CredentialRecord> = {}): CredentialRecord => ({
  id,
  namespaceId: "demo",
  access: { actor: assistant, owner: alice, purposes: ["demo"] },
  createdAt: "2026-11-16T08:00:00Z",
  ...more,
});

test("the story is played with a credential of the assistant that still counts", () => {
  const credentials = [
    record("alice", { access: { actor: alice, owner: alice, purposes: ["demo"] } }),
    record("revoked", { revokedAt: "2026-11-16T08:30:00Z" }),
    record("expired", { expiresAt: "2026-11-16T08:30:00Z" }),
    record("good", { expiresAt: "2026-11-16T10:00:00Z" }),
  ];
  expect(assistantCredential(credentials, now)?.id).toBe("good");
  expect(assistantCredential(credentials.slice(0, 3), now)).toBeUndefined();
});

test("what a turn came to is said in short", () => {
  expect(endText([{ content: "Text\n" }])).toBe("Text");
  expect(endText([{ receipt: "r1" }])).toBe(`{"receipt":"r1"}`);
  expect(endText("x".repeat(200))).toHaveLength(161);
  expect(endText(undefined)).toBe("");
});
