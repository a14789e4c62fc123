import { expect, test } from "vitest";
import type { Grant } from "turnpike/contracts";
import { changeOf, draftBelow, emptyDraft, freshId, grantOf, type Draft } from "./draft.ts";

const now = new Date("2026-01-01T12:00:00.000Z");

const typed: Draft = {
  ...emptyDraft("grant-1"),
  subject: "agent:assistant",
  issuer: " human:alice ",
  capabilities: [
    { resource: "files/notes", owner: "", actions: "read, list search", isExact: false, asksEachTime: false },
  ],
};

const issued: Grant = {
  id: "grant-1",
  namespaceId: "demo",
  subject: { kind: "agent", agentId: "assistant" },
  issuer: { kind: "human", userId: "alice" },
  capabilities: [
    { resource: { namespace: "files", path: ["notes"] }, actions: ["read", "list", "search"], scope: "descendants" },
  ],
  constraints: {},
  issuedAt: "2026-01-01T12:00:00.000Z",
};

test("what was typed becomes the grant that it says", () => {
  expect(grantOf(typed, "demo", now)).toEqual({ grant: issued });
});

test("terms are read as the command reads them, and an empty field is no term", () => {
  const terms = { purposes: "support, work at night,", expires: "1h", uses: "3", depth: "0" };
  expect(grantOf({ ...typed, ...terms }, "demo", now)).toMatchObject({
    grant: {
      constraints: {
        purposes: ["support", "work at night"],
        expiresAt: "2026-01-01T13:00:00.000Z",
        maxUses: 3,
        delegationDepth: 0,
      },
    },
  });
});

test("a capability is exact, bound to an owner and asks each time only when that was chosen", () => {
  const [plain] = typed.capabilities;
  const capabilities = plain ? [{ ...plain, owner: "human:bob", isExact: true, asksEachTime: true }] : [];
  expect(grantOf({ ...typed, capabilities }, "demo", now)).toMatchObject({
    grant: {
      capabilities: [
        { scope: "exact", approval: "each", resource: { owner: { kind: "human", userId: "bob" }, namespace: "files" } },
      ],
    },
  });
});

for (const { field, change } of [
  { field: "subject", change: { subject: "assistant" } },
  { field: "issuer", change: { issuer: "" } },
  { field: "id", change: { id: " " } },
  { field: "expires", change: { expires: "soon" } },
  { field: "expires", change: { expires: "2026-13-99T00:00:00Z" } },
  { field: "uses", change: { uses: "0" } },
  { field: "uses", change: { uses: "1.5" } },
  { field: "depth", change: { depth: "-1" } },
]) {
  test(`${JSON.stringify(change)} is no grant, and the problem is at ${field}`, () => {
    expect(grantOf({ ...typed, ...change }, "demo", now)).toEqual({ problems: { [field]: expect.any(String) } });
  });
}

test("a capability without a place or an action is no grant, and the problem names which", () => {
  const empty = emptyDraft("grant-1").capabilities;
  const draft = { ...typed, capabilities: [...typed.capabilities, ...empty] };
  const { problems } = grantOf(draft, "demo", now) as { problems: object };
  expect(Object.keys(problems)).toEqual(["actions 1", "resource 1"]);
});

test("a draft below a grant is issued by its holder, as wide as it, and passed on one time less", () => {
  const parent: Grant = { ...issued, constraints: { delegationDepth: 2, purposes: ["support"] } };
  const draft = draftBelow(parent, "grant-2");
  expect(draft).toMatchObject({ issuer: "agent:assistant", parentId: "grant-1", depth: "1", purposes: "support" });
  expect(grantOf({ ...draft, subject: "agent:helper" }, "demo", now)).toMatchObject({
    grant: { capabilities: parent.capabilities, parentId: "grant-1" },
  });
});

test("a grant is previewed as it is issued, and one below another as it is derived, with what that leaves to its parent", () => {
  expect(changeOf(issued)).toEqual({ draft: issued });
  const { id, subject, capabilities, constraints } = issued;
  const derive = { parentId: "above", id, subject, capabilities, constraints };
  expect(changeOf({ ...issued, parentId: "above" })).toEqual({ derive });
});

test("no two fresh ids are the same", () => {
  expect(freshId()).toMatch(/^grant-[0-9a-f]{12}$/);
  expect(freshId()).not.toBe(freshId());
});
