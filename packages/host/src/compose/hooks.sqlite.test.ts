import { expect, test } from "vitest";
import type { Capability, Constraints } from "turnpike/contracts";
import { newTenant, openFresh } from "../../test/databases.ts";
import { alice, assistant, grant } from "../../test/records.ts";
import { openWiredHost } from "../../test/wired-host.ts";
import { openRuntimes } from "../turns/index.ts";

const push = {
  hook_event_name: "PreToolUse",
  session_id: "session-1",
  tool_use_id: "call-1",
  tool_name: "Bash",
  tool_input: { command: "git push" },
  cwd: "/work",
};
const asks = { ...push, hook_event_name: "PermissionRequest", tool_use_id: undefined };
const ran = { ...push, hook_event_name: "PostToolUse", tool_response: {} };
const decision = (permissionDecision: string, reason?: unknown) => ({
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision,
    ...(reason !== undefined && { permissionDecisionReason: reason }),
  },
});

/** A host, and the assistant of a tenant who may push, as often as the constraints say. */
async function openWorld({ constraints = {}, ...changes }: { constraints?: Constraints } & Partial<Capability> = {}) {
  const runtimes = await openRuntimes({ kind: "none" }, {});
  const host = await openWiredHost(await openFresh("sqlite"), { ...runtimes });
  const { stores } = host;
  const namespaceId = newTenant();
  const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
  const { token } = await stores.credentials.create({ namespaceId, access });
  const resource = { namespace: "shell", path: ["git", "push"] };
  const capabilities = [{ resource, actions: ["run"], scope: "exact" as const, ...changes }];
  await stores.grants.issue(grant("push", { namespaceId, capabilities, constraints }));
  return {
    send: (body: object, as = token) => host.post(as, "/hooks/v1/claude-code", body),
    used: () => stores.usage.used(namespaceId, "push"),
    act: (id: string) => host.get(token, `/v1/acts/${id}?traceId=session-1`),
  };
}

test("a hook over HTTP begins an act in the agent's session, and reports it", async () => {
  const { send, used, act } = await openWorld({ constraints: { maxUses: 2 } });
  expect(await send(push)).toMatchObject({ status: 200, body: decision("allow") });
  expect(await act("call-1")).toMatchObject({ status: 200, body: { status: "allowed", grants: ["push"] } });
  expect(await send(ran)).toMatchObject({ status: 200, body: {} });
  expect(await act("call-1")).toMatchObject({ body: { status: "succeeded" } });
  expect((await act("call-1")).body).not.toHaveProperty("output");
  expect(await used()).toBe(1);
});

test("a call is allowed once, and a denial takes nothing", async () => {
  const { send, used } = await openWorld({ constraints: { maxUses: 2 } });
  await send(push);
  expect((await send(push)).body).toEqual(
    decision("deny", expect.stringMatching(/^Turnpike: replay_pending: .+ its outcome was not reported\.$/)),
  );
  await send(ran);
  expect((await send(push)).body).toEqual(decision("deny", expect.stringContaining("begun before (succeeded)")));
  const pull = { ...push, tool_use_id: "call-2", tool_input: { command: "git pull" } };
  expect((await send(pull)).body).toEqual(
    decision("deny", expect.stringMatching(/^Turnpike: no_matching_grant: .+ It needs run on shell\/git\/pull\.$/)),
  );
  expect(await used()).toBe(1);
});

test("a question about a permission takes nothing", async () => {
  const { send, used } = await openWorld({ constraints: { maxUses: 1 } });
  const answer = { hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "allow" } } };
  expect(await send(asks)).toMatchObject({ status: 200, body: answer });
  expect(await send(asks)).toMatchObject({ status: 200, body: answer });
  expect(await used()).toBe(0);
});

test("an act that needs an approval is denied with the question, and the question is one", async () => {
  const { send, used } = await openWorld({ approval: "each" });
  const asked = decision(
    "deny",
    expect.stringMatching(/^Turnpike: approval_required: a person is asked until .+ The question is at https/),
  );
  expect(await send(push)).toMatchObject({ status: 200, body: asked });
  expect(await send({ ...push, tool_use_id: "call-2" })).toMatchObject({ status: 200, body: asked });
  expect(await used()).toBe(0);
});

test("who is not admitted, or sends what is no hook, is denied with status 200, which alone keeps the tool from running", async () => {
  const { send, used } = await openWorld();
  const unknown = "Turnpike: It was denied because unauthenticated: ";
  expect(await send(push, "tp_unknown")).toMatchObject({
    status: 200,
    body: decision("deny", expect.stringContaining(unknown)),
  });
  expect((await send(asks, "tp_unknown")).body).toMatchObject({
    hookSpecificOutput: { decision: { behavior: "deny", message: expect.stringContaining(unknown) as string } },
  });
  expect((await send(ran, "tp_unknown")).body).toMatchObject({
    systemMessage: expect.stringContaining("was not told") as string,
  });
  for (const sent of [{}, { ...push, session_id: "" }, { ...push, hook_event_name: "Stop" }]) {
    const { status, body } = await send(sent);
    expect([status, body]).toMatchObject([200, { decision: "block", continue: false }]);
    expect(String(body["reason"])).toMatch(/^Turnpike: It was denied because the hook/);
  }
  expect(await used()).toBe(0);
});
