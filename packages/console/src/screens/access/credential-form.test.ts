import { expect, test } from "vitest";
import { accessOf, DraftError, emptyDraft, expiryOf, operatorAccessOf } from "./credential-form.ts";

const alice = { kind: "human", userId: "alice" };
const assistant = { kind: "agent", agentId: "assistant" };
const now = new Date("2026-11-16T09:00:00.000Z");

test("owner and authority are the actor's own unless they are given", () => {
  const draft = { ...emptyDraft, actor: "human:alice", purposes: "demo" };
  expect(accessOf(draft)).toEqual({ actor: alice, owner: alice, authority: alice, purposes: ["demo"] });
});

test("purposes and senders are one on each line, each once, and none of them is empty", () => {
  const draft = {
    ...emptyDraft,
    actor: "agent:assistant",
    owner: "human:alice",
    purposes: "demo\n\n support \ndemo",
    senders: "human:alice\n",
    evaluates: true,
  };
  expect(accessOf(draft)).toEqual({
    actor: assistant,
    owner: alice,
    authority: alice,
    purposes: ["demo", "support"],
    senders: [alice],
    evaluates: true,
  });
});

test("an operator has a role, and one tenant or all", () => {
  const draft = { ...emptyDraft, actor: "human:alice", role: "auditor" as const };
  const all = { actor: alice, owner: alice, purposes: ["operate"], admin: true, role: "auditor" };
  expect(operatorAccessOf(draft)).toEqual(all);
  expect(operatorAccessOf({ ...draft, tenant: "demo" })).toEqual({ ...all, tenant: "demo" });
});

for (const { name, draft } of [
  { name: "an actor without a kind", draft: { actor: "alice", purposes: "demo" } },
  { name: "an owner of no kind that there is", draft: { actor: "human:alice", owner: "robot:x", purposes: "demo" } },
  { name: "no purpose", draft: { actor: "human:alice", purposes: " \n" } },
  { name: "a sender without an id", draft: { actor: "human:alice", purposes: "demo", senders: "human:" } },
]) {
  test(`${name} is said before anything is sent`, () => {
    expect(() => accessOf({ ...emptyDraft, ...draft })).toThrow(DraftError);
  });
}

test("a credential ends after so many days, at an instant, or never", () => {
  expect(expiryOf({ ...emptyDraft, expires: "30d" }, now)).toBe("2026-12-16T09:00:00.000Z");
  expect(expiryOf({ ...emptyDraft, expires: "at", expiresAt: "2026-11-16T10:00:00Z" }, now)).toBe(
    "2026-11-16T10:00:00.000Z",
  );
  expect(expiryOf({ ...emptyDraft, expires: "" }, now)).toBeUndefined();
});

test("an instant that has passed, or none, is no end", () => {
  expect(() => expiryOf({ ...emptyDraft, expires: "at", expiresAt: "2026-11-16T08:00:00Z" }, now)).toThrow(DraftError);
  expect(() => expiryOf({ ...emptyDraft, expires: "at" }, now)).toThrow(DraftError);
});
