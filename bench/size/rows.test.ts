import { createHash } from "node:crypto";
import type { Grant } from "turnpike/contracts";
import { expect, test } from "vitest";
import { agentOf, auditRows, grantOf, messageRows, useRows } from "./rows.ts";

const now = Date.parse("2026-06-01T12:00:00Z");
const event = { actor: agentOf(1), at: "", id: "", outcome: "allowed", traceId: "", type: "tool.invoked", version: 1 };
const template = { namespace_id: "acme", strand: 3, outcome: "allowed", content: JSON.stringify(event) };
const denied = { ...template, outcome: "denied", content: JSON.stringify({ ...event, outcome: "denied" }) };
const grant: Grant = {
  id: "one",
  namespaceId: "acme",
  subject: agentOf(1),
  issuer: agentOf(2),
  capabilities: [],
  constraints: {},
  issuedAt: "2026-01-01T00:00:00Z",
};

test("rows of the audit log continue from its head, each with a hash of the one before, its number and its content", () => {
  const head = { sequence: 7, hash: "f00" };
  const rows = [...auditRows(head, [template, denied], 200, now)];
  let previous = head.hash;
  for (const [place, { sequence, content, hash }] of rows.entries()) {
    expect(sequence).toBe(8 + place);
    previous = createHash("sha256").update(`${previous}\n${sequence}\n${content}`).digest("hex");
    expect(hash).toBe(previous);
  }
  expect(rows.filter(({ outcome }) => outcome === "denied")).toHaveLength(2);
  expect(new Set(rows.map(({ strand }) => strand))).toEqual(new Set([3]));
});

test("the columns of a row of the audit log say what its content says, which is canonical", () => {
  for (const { id, at, trace_id, actor, content } of auditRows(
    { sequence: 0, hash: "" },
    [template, denied],
    100,
    now,
  )) {
    const stored = JSON.parse(String(content)) as typeof event;
    expect([stored.id, stored.at, stored.traceId, `agent:${stored.actor.agentId}`]).toEqual([id, at, trace_id, actor]);
    expect(Object.keys(stored)).toEqual(Object.keys(event).toSorted());
  }
});

test("of twenty grants one each is expired, revoked, to come, used up, and derived in two ways", () => {
  const made = Array.from({ length: 20 }, (_, place) => grantOf(grant, place, now));
  expect(made.map(({ grant: { id } }) => id)).toEqual([...new Set(made.map(({ grant: { id } }) => id))]);
  expect(made.filter(({ isRevoked }) => isRevoked)).toHaveLength(1);
  const [expired, , future, usedUp, parent, derived, orphan] = made.slice(13);
  expect(Date.parse(expired?.grant.constraints.expiresAt ?? "")).toBeLessThan(now);
  expect(Date.parse(future?.grant.constraints.notBefore ?? "")).toBeGreaterThan(now);
  expect([...useRows("acme", 20)]).toEqual([{ namespace_id: "acme", grant_id: usedUp?.grant.id, used: 3 }]);
  expect(usedUp?.grant.constraints.maxUses).toBe(3);
  expect(derived?.grant).toMatchObject({ parentId: parent?.grant.id, issuer: parent?.grant.subject });
  expect(orphan?.grant.parentId).toBe("not-there");
});

test("messages come behind the one they are made of", () => {
  const first = { sequence: 1, id: "m", content: "{}", received_at: "2026-01-01", acknowledged_at: null };
  const rows = [...messageRows(first, 10)];
  expect(rows.map(({ sequence }) => sequence)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(rows.filter(({ acknowledged_at }) => acknowledged_at === null)).toHaveLength(9);
});
