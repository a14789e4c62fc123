import { spawnSync } from "node:child_process";
import { beforeAll, expect, test } from "vitest";
import { ask } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "../support/host-process.ts";
import { makeCredential, makeGrant } from "../support/host-world.ts";

let host: HostProcess;
let token: string;

beforeAll(async () => {
  host = await startHostProcess({ folder: makeFolder() });
  await makeGrant(host, { id: "git", resource: "shell/git/status", actions: ["run"] });
  await makeGrant(host, { id: "push", resource: "shell/git/push", actions: ["run"], approval: "each" });
  await makeGrant(host, { id: "work", resource: "disk/work", actions: ["read", "write"] });
  ({ token } = await makeCredential(host));
});

/** What the agent sees of a hook that it runs for a tool. */
function hook(sent: object, args: readonly string[] = []) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [turnpike, "hook", ...args], {
    input: JSON.stringify({ session_id: "séance 1", cwd: "/work", ...sent }),
    env: { TURNPIKE_URL: host.url, TURNPIKE_TOKEN: token },
    encoding: "utf8",
  });
  return { status, stderr, answer: stdout === "" ? undefined : (JSON.parse(stdout) as object) };
}

const wants = (id: string, tool_name: string, tool_input: object) => ({
  hook_event_name: "PreToolUse",
  tool_use_id: id,
  tool_name,
  tool_input,
});
const decided = (permissionDecision: string, reason?: string) => ({
  status: 0,
  stderr: "",
  answer: {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision,
      ...(reason !== undefined && { permissionDecisionReason: expect.stringContaining(reason) as string }),
    },
  },
});

async function stateOf(id: string): Promise<unknown> {
  const query = new URLSearchParams({ traceId: "séance 1" });
  return (await ask(host.url, `/v1/acts/${encodeURIComponent(id)}?${query}`, { token })).body;
}

test("a tool that is granted runs once and is reported", async () => {
  const status = wants("call 1", "Bash", { command: "git status" });
  expect(hook(status)).toEqual(decided("allow"));
  expect(await stateOf("call 1")).toMatchObject({ status: "allowed", grants: ["git"] });
  expect(hook(status)).toEqual(decided("deny", "replay_pending"));
  const ran = { ...status, hook_event_name: "PostToolUse", tool_response: { stdout: "clean" } };
  expect(hook(ran)).toEqual({ status: 0, stderr: "", answer: undefined });
  expect(await stateOf("call 1")).toEqual({
    status: "succeeded",
    id: "call 1",
    completedAt: expect.any(String) as string,
  });
});

test("Codex is answered with nothing at all where a tool is granted", () => {
  const write = {
    ...wants("call-2", "apply_patch", { command: "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch" }),
    turn_id: "t",
  };
  expect(hook(write)).toEqual({ status: 0, stderr: "", answer: undefined });
});

test("a failure is reported as one", async () => {
  const read = wants("call-3", "Read", { file_path: "a.txt" });
  expect(hook(read)).toEqual(decided("allow"));
  hook({ ...read, hook_event_name: "PostToolUseFailure", error: "no such file" });
  expect(await stateOf("call-3")).toMatchObject({ status: "failed", error: { code: "effect_failed" } });
});

test("what is not granted, or leads out of what is, is denied", () => {
  for (const [tool, input] of [
    ["Bash", { command: "git status && git pull" }],
    ["Bash", { command: "git -C status pull" }],
    ["Write", { file_path: "/work/../etc/passwd", content: "" }],
    ["WebFetch", { url: "https://example.com" }],
  ] as const)
    expect(hook(wants(`denied ${tool}`, tool, input))).toEqual(decided("deny", "Turnpike: no_matching_grant: "));
});

test("a tool that needs an approval is denied with the question, and runs once when the act is approved", async () => {
  const push = (id: string, description: string) => wants(id, "Bash", { command: "git push", description });
  expect(hook(push("call-5", "Push it"))).toEqual(
    decided("deny", "Turnpike: approval_required: a person is asked until"),
  );
  const operator = host.operatorToken();
  const listed = await ask(host.url, "/admin/v1/escalations?namespaceId=acme&status=pending", { token: operator });
  const [{ id, ask: hash } = {}] = (listed.body as { escalations: { id?: string; ask?: string }[] }).escalations;
  const approval = { namespaceId: "acme", id, ask: hash };
  await ask(host.url, "/admin/v1/escalations/approve", { token: operator, body: approval });
  expect(hook(push("call-6", "Push it now"))).toEqual(decided("allow"));
  expect(hook(push("call-7", "Push it again"))).toEqual(decided("deny", "Turnpike: approval_required: "));
});

test("a trial lets everything run, and takes nothing", async () => {
  expect(hook(wants("call-8", "Bash", { command: "git pull" }), ["--shadow"])).toEqual({
    status: 0,
    stderr: "",
    answer: undefined,
  });
  expect(await stateOf("call-8")).toMatchObject({ error: { code: "not_found" } });
});

test("what trials lacked is suggested as grants, and is granted when they are applied", () => {
  hook(wants("call-9", "Bash", { command: "git fetch && git diff" }), ["--shadow"]);
  const operator = (...args: string[]) =>
    spawnSync(process.execPath, [turnpike, "grant", ...args], {
      cwd: host.folder,
      env: { TURNPIKE_URL: host.url, TURNPIKE_ADMIN_TOKEN: host.operatorToken() },
      encoding: "utf8",
    });
  const suggest = ["suggest", "--from-shadow", "--tenant", "acme", "--out", "acme.json"];
  expect(operator(...suggest)).toMatchObject({
    status: 0,
    stdout: "Wrote 3 grants of acme and 1 suggested to acme.json.\n",
  });
  expect(hook(wants("call-10", "Bash", { command: "git fetch" }))).toEqual(decided("deny", "no_matching_grant"));
  expect(operator("apply", "-f", "acme.json", "--yes").status).toBe(0);
  expect(hook(wants("call-11", "Bash", { command: "git fetch" }))).toEqual(decided("allow"));
  expect(operator(...suggest)).toMatchObject({
    status: 0,
    stdout: "Wrote 4 grants of acme and 0 suggested to acme.json.\n",
  });
});
