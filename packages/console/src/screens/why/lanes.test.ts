import { expect, test } from "vitest";
import { errorCodes, type Grant } from "turnpike/contracts";
import type { AdminExplanation } from "turnpike-host/admin-contract";
import { instantText } from "../../shared/instants.ts";
import { lanesOf } from "./lanes.ts";
import { actText, verdictOf } from "./reasons.ts";

const alice = { kind: "human" as const, userId: "alice" };
const bob = { kind: "human" as const, userId: "bob" };
const assistant = { kind: "agent" as const, agentId: "assistant" };

function grant(id: string, more: Partial<Grant> = {}): Grant {
  return {
    id,
    namespaceId: "demo",
    subject: assistant,
    issuer: alice,
    capabilities: [
      { resource: { namespace: "files", path: ["notes"] }, actions: ["read", "list"], scope: "descendants" },
    ],
    constraints: {},
    issuedAt: "2026-01-01T12:00:00Z",
    ...more,
  };
}

function explanation(grants: AdminExplanation["grants"], matchedGrantId?: string): AdminExplanation {
  const allowed = matchedGrantId !== undefined;
  return {
    decision: { allowed, reasonCode: allowed ? "allowed" : "no_matching_grant", ...(allowed && { matchedGrantId }) },
    access: { namespaceId: "demo", actor: assistant, authority: alice, owner: alice, purpose: "demo" },
    request: { action: "write", resource: { namespace: "files", path: ["private", "diary.md"] } },
    policy: "not-asked",
    grants,
  };
}

const signs = { met: "+", failed: "x", open: "." };
const drawn = (told: AdminExplanation): string[] =>
  lanesOf(told).map(({ grant: { id }, steps }) => `${id} ${steps.map(({ state }) => signs[state]).join("")}`);

for (const { failed, lane, stop } of [
  { failed: "expired", lane: "+x.........", stop: "In force" },
  { failed: "revoked", lane: "+x.........", stop: "In force" },
  { failed: "purpose", lane: "++x........", stop: "Purpose" },
  { failed: "namespace", lane: "+++x.......", stop: "Namespace" },
  { failed: "owner", lane: "++++x......", stop: "Owner" },
  { failed: "action", lane: "+++++x.....", stop: "Action" },
  { failed: "path", lane: "++++++x....", stop: "Path" },
  { failed: "delegation_chain_invalid", lane: "+++++++x...", stop: "Chain" },
  { failed: "host_policy_denied", lane: "++++++++x..", stop: "Policy" },
  { failed: "grant_exhausted", lane: "+++++++++x.", stop: "Uses" },
  { failed: "approval_required", lane: "++++++++++x", stop: "Approval" },
]) {
  test(`a grant that failed by ${failed} met what comes before it, and nothing is said of what comes behind`, () => {
    const told = explanation([{ grant: grant("g"), failed }]);
    expect(drawn(told)).toEqual([`g ${lane}`]);
    expect(lanesOf(told)[0]?.stop).toBe(stop);
  });
}

test("a code that the page does not know claims nothing of any condition", () => {
  const told = explanation([{ grant: grant("g"), failed: "something_new" }]);
  expect(drawn(told)).toEqual(["g ..........."]);
  expect(lanesOf(told)[0]).toMatchObject({ stop: "something_new", outcome: "stopped" });
});

test("the grant that carries the act comes first and met everything; one that was not needed was only compared", () => {
  const told = explanation(
    [{ grant: grant("spare") }, { grant: grant("far"), failed: "namespace" }, { grant: grant("it") }],
    "it",
  );
  expect(drawn(told)).toEqual(["it +++++++++++", "spare +++++++....", "far +++x......."]);
  expect(lanesOf(told).map(({ outcome }) => outcome)).toEqual(["carries", "not needed", "stopped"]);
});

test("whether a grant was admitted is a condition only where one failed it", () => {
  const told = explanation([{ grant: grant("late"), failed: "not-admitted" }]);
  expect(drawn(told)).toEqual(["late +++++++x...."]);
});

test("a grant says why it stopped, with instants as the page shows them", () => {
  const revokedAt = "2026-01-02T12:00:00Z";
  const told = explanation([{ grant: grant("g", { revokedAt }), failed: "revoked" }]);
  expect(lanesOf(told)[0]?.because).toBe(`It was revoked at ${instantText(revokedAt)}.`);
});

for (const [code, { families }] of Object.entries(errorCodes)) {
  if (!(families as readonly string[]).includes("authorization")) continue;
  test(`the reason ${code} has words of its own`, () => {
    const { reason, word } = verdictOf({ allowed: code === "allowed", reasonCode: code });
    expect(reason).not.toContain(code);
    expect(word).toBe(
      code === "allowed" ? "Allowed" : code === "approval_required" ? "Waits for an approval" : "Denied",
    );
  });
}

test("a reason that the page does not know is shown as it is", () => {
  expect(verdictOf({ allowed: false, reasonCode: "host_says_no" }).reason).toBe("The host says: host_says_no.");
});

test("the act is one sentence, which names the owner, and an authority only where it is another's", () => {
  const told = explanation([]);
  expect(actText(told)).toBe("agent:assistant may not write files/private/diary.md of human:alice, for demo.");
  const own = { ...told.access, actor: alice };
  expect(actText({ ...told, access: own })).toBe(
    "human:alice may not write files/private/diary.md of human:alice, for demo.",
  );
  expect(actText({ ...told, access: { ...told.access, authority: bob } })).toBe(
    "agent:assistant may not write files/private/diary.md of human:alice, on grants of human:bob, for demo.",
  );
  expect(actText({ ...told, decision: { allowed: false, reasonCode: "approval_required" } })).toBe(
    "agent:assistant may write files/private/diary.md of human:alice, for demo, once a person approves it.",
  );
  const theirs = { action: "write", resource: { namespace: "files", path: ["a"], owner: bob } };
  expect(actText({ ...told, request: theirs })).toBe("agent:assistant may not write files/a of human:bob, for demo.");
  const { request: _request, ...undecided } = told;
  expect(actText(undecided)).toBe("agent:assistant may not call this tool, for demo.");
});
