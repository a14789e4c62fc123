import { expect, test } from "vitest";
import type { AuditEvent, JsonObject } from "turnpike/contracts";
import { alice, assistant, now } from "../../test/records.ts";
import { suggestedGrants } from "./suggested-grants.ts";

const bob = { kind: "human" as const, userId: "bob" };
const push = { namespace: "shell", path: ["git", "push"] };

/** An act that was only shadowed, and would have been denied. */
function shadowed(changes: Partial<AuditEvent> = {}, shadow = "denied"): AuditEvent {
  return {
    id: "event-1",
    version: 1,
    type: "authorization.checked",
    outcome: "shadow",
    at: now,
    traceId: "trace-1",
    namespaceId: "acme",
    actor: assistant,
    authority: alice,
    owner: alice,
    purpose: "support",
    resource: push,
    action: "run",
    reason: "no_matching_grant",
    metadata: { shadow } satisfies JsonObject,
    ...changes,
  };
}

const ids = (): (() => string) => {
  let last = 0;
  return () => `grant-${(last += 1)}`;
};
const suggested = (...events: AuditEvent[]) => suggestedGrants(events, [], ids());
const capability = (path: string[], ...actions: string[]) => ({
  resource: { namespace: "shell", path, owner: alice },
  actions,
  scope: "exact" as const,
});
const grant = (id: string, ...capabilities: ReturnType<typeof capability>[]) => ({
  id,
  subject: assistant,
  issuer: alice,
  capabilities,
  constraints: { purposes: ["support"] },
});

test("what an act lacked is suggested exactly, once, and for its purpose alone", () => {
  const pull = { ...push, path: ["git", "pull"] };
  expect(suggested(shadowed(), shadowed(), shadowed({ action: "see" }), shadowed({ resource: pull }))).toEqual({
    grants: [grant("grant-1", capability(["git", "push"], "run", "see"), capability(["git", "pull"], "run"))],
    without: [],
  });
});

test("all that one act lacked is suggested at once", () => {
  const lacking = [
    { action: "run", resource: { namespace: "shell", path: ["npm", "test"] }, reason: "no_matching_grant" },
    { action: "run", resource: { namespace: "shell", path: ["rm"] }, reason: "approval_required" },
    { action: "run", resource: { namespace: "shell", path: ["ls"], owner: bob }, reason: "no_matching_grant" },
  ];
  expect(suggested(shadowed({ metadata: { shadow: "denied", lacking } }))).toEqual({
    grants: [grant("grant-1", capability(["git", "push"], "run"), capability(["npm", "test"], "run"))],
    without: ["run shell/rm: approval_required", "run shell/ls: it is human:bob's, who has to grant it first"],
  });
});

test("what cannot be read of an act suggests nothing", () => {
  const lacking = [
    null,
    "all",
    { action: "run" },
    ["run"],
    { action: "", resource: push, reason: "no_matching_grant" },
  ];
  expect(suggested(shadowed({ metadata: { shadow: "denied", lacking } })).grants).toEqual([
    grant("grant-1", capability(["git", "push"], "run")),
  ]);
  expect(suggested(shadowed({ resource: undefined as never, metadata: { shadow: "denied" } })).grants).toEqual([]);
});

test("those of another holder, issuer or purpose are other grants", () => {
  const { grants } = suggested(
    shadowed(),
    shadowed({ actor: bob }),
    shadowed({ authority: bob, owner: bob }),
    shadowed({ purpose: "sales" }),
  );
  expect(grants.map(({ subject, issuer, constraints }) => [subject, issuer, constraints.purposes])).toEqual([
    [assistant, alice, ["support"]],
    [bob, alice, ["support"]],
    [assistant, bob, ["support"]],
    [assistant, alice, ["sales"]],
  ]);
});

test("what is allowed, waits for a person, or is granted meanwhile is not suggested", () => {
  const none = { grants: [], without: [] };
  expect(suggested(shadowed({}, "allowed"), shadowed({}, "waiting"), shadowed({ metadata: {} }))).toEqual(none);
  expect(suggestedGrants([shadowed()], [grant("there", capability(["git", "push"], "run"))], ids())).toEqual(none);
  const almost = [
    grant("action", capability(["git", "push"], "see")),
    grant("path", capability(["git"], "run")),
    { ...grant("purpose", capability(["git", "push"], "run")), constraints: { purposes: ["sales"] } },
    { ...grant("holder", capability(["git", "push"], "run")), subject: bob },
    { ...grant("issuer", capability(["git", "push"], "run")), issuer: bob },
  ];
  expect(suggestedGrants([shadowed()], almost, ids()).grants).toHaveLength(1);
});

test("what no grant of the authority would allow is named with the reason", () => {
  expect(suggested(shadowed({ reason: "grant_exhausted" }), shadowed({ resource: { ...push, owner: bob } }))).toEqual({
    grants: [],
    without: [
      "run shell/git/push: grant_exhausted",
      "run shell/git/push: it is human:bob's, who has to grant it first",
    ],
  });
});

test("more than one grant may hold is several", () => {
  const events = Array.from({ length: 65 }, (_, index) => shadowed({ resource: { ...push, path: [`p${index}`] } }));
  expect(suggested(...events).grants.map(({ capabilities }) => capabilities.length)).toEqual([64, 1]);
});
