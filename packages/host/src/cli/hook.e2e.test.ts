import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { hookFlags } from "./hook.ts";

const script = fileURLToPath(new URL("../../bin/turnpike.js", import.meta.url));

/** Runs the command with this input in an empty folder, with a home folder of its own. */
function turnpike(args: readonly string[], { input = "", env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {}) {
  const home = temporaryFolder();
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    input,
    cwd: home,
    env: { PATH: "/usr/bin:/bin", HOME: home, ...env },
    encoding: "utf8",
  });
  return { status, stdout, stderr, home };
}

const push = JSON.stringify({
  hook_event_name: "PreToolUse",
  session_id: "session-1",
  tool_use_id: "call-1",
  tool_name: "Bash",
  tool_input: { command: "git push" },
  cwd: "/work",
});

describe("a hook as a process", () => {
  test("denies with code 0 when the host is away", () => {
    const env = { TURNPIKE_URL: "http://127.0.0.1:1", TURNPIKE_TOKEN: "tp_1" };
    expect(turnpike(["hook"], { input: push, env })).toMatchObject({ status: 0, stderr: "" });
    expect(turnpike(["hook"], { input: push, env }).stdout).toContain('"permissionDecision":"deny"');
  });

  for (const [name, args, input] of [
    ["nothing to read", ["hook"], ""],
    ["no host", ["hook"], push],
    ["an unknown flag", ["hook", "--allow"], push],
    ["an unknown command", ["hook", "allow"], push],
    ["an unknown agent to install for", ["hook", "install", "emacs"], ""],
    ["a time to wait that is none", ["hook", "install", "codex", "--wait", "61"], ""],
  ] as const)
    test(`with ${name} ends with code 2 and a reason`, () => {
      const { status, stdout, stderr } = turnpike(args, { input });
      expect([status, stdout]).toEqual([2, ""]);
      expect(stderr).not.toBe("");
    });

  test("asks no host that the folder of the agent names", () => {
    const { status, stderr } = turnpike(["hook"], {
      input: push,
      env: { TURNPIKE_LISTEN_PORT: "1", TURNPIKE_TOKEN: "tp_1" },
    });
    expect([status, stderr]).toEqual([
      2,
      "Turnpike: It was denied because TURNPIKE_URL is not the address of a host, such as http://127.0.0.1:8787.\n",
    ]);
  });

  for (const [name, broken] of [
    ["breaks late", "globalThis.fetch=()=>new Promise(()=>setImmediate(()=>{throw(new(Error)('late'))}))"],
    ["rejects late", "globalThis.fetch=()=>new Promise(()=>setImmediate(()=>Promise.reject(new(Error)('late'))))"],
    ["waits for nothing", "globalThis.fetch=()=>new(Promise)(()=>{})"],
    ["cannot say its answer", "process.stdout.write=()=>{throw(new(Error)('gone'))}"],
  ] as const)
    test(`that ${name} ends with code 2`, () => {
      const env = { TURNPIKE_URL: "http://127.0.0.1:1", TURNPIKE_TOKEN: "tp_1" };
      const preload = `--import=data:text/javascript,${encodeURIComponent(broken)}`;
      expect(turnpike(["hook"], { input: push, env: { ...env, NODE_OPTIONS: preload } }).status).toBe(2);
    });

  test("is described with all of its flags", () => {
    const { status, stdout } = turnpike(["hook", "--help"]);
    expect(status).toBe(0);
    for (const flag of Object.keys(hookFlags)) expect(stdout).toContain(`--${flag}`);
  });
});

test("installing writes the command that was started and no token, and says where", () => {
  const { status, stdout, home } = turnpike(["hook", "install", "codex", "--project"], {
    env: { TURNPIKE_TOKEN: "tp_secret" },
  });
  expect([status, stdout]).toEqual([
    0,
    `Wrote .codex/hooks.json: PreToolUse, PermissionRequest, PostToolUse run \`node ${script} hook --agent codex\`.\nThe agent has to be started with TURNPIKE_URL and TURNPIKE_TOKEN. Until then it can run no tool.\n`,
  ]);
  const written = readFileSync(join(home, ".codex/hooks.json"), "utf8");
  expect(written).toContain(`"command": "node ${script} hook --agent codex"`);
  expect(written).not.toContain("tp_secret");
});

test("installing for all projects writes into the home folder, with the file of the token, and for how long to wait", () => {
  const { home } = turnpike(["hook", "install", "claude-code", "--token-file", "token", "--wait", "30"]);
  expect(readFileSync(join(home, ".claude/settings.json"), "utf8")).toContain(
    `hook --agent claude-code --token-file ${join(home, "token")} --wait 30"`,
  );
});
