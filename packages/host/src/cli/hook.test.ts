import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { runHookLine } from "./hook.ts";

const push = {
  hook_event_name: "PreToolUse",
  session_id: "session-1",
  tool_use_id: "call/1",
  tool_name: "Bash",
  tool_input: { command: "git push" },
  cwd: "/work",
};
const ran = { ...push, hook_event_name: "PostToolUse", tool_response: {} };
const allowed = { status: "allowed", id: "call/1", expiresAt: "2026-01-01T12:00:00Z", grants: ["grant-1"] };

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

interface Sent {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage["headers"];
  body: unknown;
}

/** A host that gives one answer, whatever it is sent. */
async function hostThat(status: number, body: string, headers: Record<string, string> = {}) {
  const sent: Sent[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const part of request) text += String(part);
      sent.push({ method: request.method, path: request.url, headers: request.headers, body: JSON.parse(text) });
      response.writeHead(status, headers).end(body);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push(() => void (server.close(), server.closeAllConnections()));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

/** Runs a hook with this input, and returns all that the agent notices of it. */
async function run(input: unknown, env: NodeJS.ProcessEnv, args: readonly string[] = []) {
  const [said, complained]: string[][] = [[], []];
  const code = await runHookLine(args, env, {
    read: () => Promise.resolve(typeof input === "string" ? input : JSON.stringify(input)),
    say: (text) => void said?.push(text),
    complain: (text) => void complained?.push(text),
  });
  const output = said?.join("") ?? "";
  return { code, output: output === "" ? undefined : (JSON.parse(output) as object), complaint: complained?.join("") };
}

const decision = (permissionDecision: string, reason?: string) => ({
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision,
    ...(reason !== undefined && { permissionDecisionReason: reason }),
  },
});

test("an act that the host allows is allowed, and asked for with the token", async () => {
  const { url, sent } = await hostThat(200, JSON.stringify(allowed));
  const env = { TURNPIKE_URL: `${url}/base`, TURNPIKE_TOKEN: " tp_1\n" };
  expect(await run(push, env)).toEqual({ code: 0, output: decision("allow"), complaint: "" });
  expect(sent).toMatchObject([
    { method: "POST", path: "/base/v1/acts", headers: { authorization: "Bearer tp_1" }, body: { id: "call/1" } },
  ]);
  expect(sent[0]?.headers["prefer"]).toBeUndefined();
});

test("flags name another host, token, agent and wait", async () => {
  const { url, sent } = await hostThat(200, JSON.stringify(allowed));
  const file = join(temporaryFolder(), "token");
  writeFileSync(file, "tp_2\n");
  const env = { TURNPIKE_URL: "http://127.0.0.1:1", TURNPIKE_TOKEN: "tp_1" };
  const args = ["--url", url, "--token-file", file, "--agent", "codex", "--wait", "30"];
  expect(await run(push, env, args)).toEqual({ code: 0, output: undefined, complaint: "" });
  expect(sent).toMatchObject([{ headers: { authorization: "Bearer tp_2", prefer: "wait=30" } }]);
});

test("the outcome is told to the host, without waiting for a person", async () => {
  const { url, sent } = await hostThat(200, JSON.stringify({ status: "succeeded", id: "call/1" }));
  const env = { TURNPIKE_URL: url, TURNPIKE_TOKEN: "tp_1" };
  expect(await run(ran, env, ["--wait", "30"])).toEqual({ code: 0, output: undefined, complaint: "" });
  expect(sent).toMatchObject([
    { path: "/v1/acts/call%2F1/outcome", body: { version: 1, traceId: "session-1", status: "succeeded" } },
  ]);
  expect(sent[0]?.headers["prefer"]).toBeUndefined();
});

describe("an answer that does not allow the act denies it", () => {
  for (const { name, status, body, reason } of [
    { name: "another status", status: 200, body: { status: "maybe" }, reason: "This call was begun before (maybe)." },
    { name: "no status", status: 200, body: {}, reason: "This call was begun before ()." },
    { name: "a status that is no text", status: 200, body: { status: ["allowed"] }, reason: "begun before ()." },
    { name: "no object", status: 200, body: "allowed", reason: "begun before ()." },
    {
      name: "a refusal",
      status: 401,
      body: { error: { code: "unauthenticated", message: "No." } },
      reason: "unauthenticated: No.",
    },
    {
      name: "a refusal that is allowed",
      status: 409,
      body: allowed,
      reason: "refused: The host answered with status 409.",
    },
    {
      name: "a redirection",
      status: 307,
      body: allowed,
      reason: "unreachable: No answer came from the host at http://",
    },
  ])
    test(name, async () => {
      const { url } = await hostThat(status, JSON.stringify(body), { location: "/elsewhere" });
      const { code, output } = await run(push, { TURNPIKE_URL: url, TURNPIKE_TOKEN: "tp_1" });
      expect([code, output]).toMatchObject([0, decision("deny", expect.stringContaining(reason) as string)]);
    });

  test("a page that is no JSON", async () => {
    const { url } = await hostThat(200, "<html>");
    expect((await run(push, { TURNPIKE_URL: url, TURNPIKE_TOKEN: "tp_1" })).output).toMatchObject(decision("deny"));
  });

  test("no answer, which names the host and not the token", async () => {
    const { url } = await hostThat(200, "");
    opened.splice(0).forEach((close) => close());
    const { output } = await run(push, { TURNPIKE_URL: `${url}/x?y=z`, TURNPIKE_TOKEN: "tp_secret" });
    expect(output).toEqual(
      decision("deny", `Turnpike: unreachable: No answer came from the host at ${url}. Nothing was run.`),
    );
  });
});

describe("a hook that cannot be answered ends with code 2 and a reason", () => {
  const env = { TURNPIKE_URL: "http://127.0.0.1:1", TURNPIKE_TOKEN: "tp_1" };
  for (const { name, input = push, given = env, args = [], reason } of [
    { name: "no JSON", input: "{", reason: "what the agent sent is no JSON." },
    { name: "nothing", input: "", reason: "what the agent sent is no JSON." },
    {
      name: "another hook",
      input: { ...push, hook_event_name: "Stop" },
      reason: "the hook is none that decides about a tool.",
    },
    {
      name: "no address",
      given: { TURNPIKE_TOKEN: "tp_1" },
      reason: "TURNPIKE_URL is not the address of a host, such as http://127.0.0.1:8787.",
    },
    {
      name: "an address of another kind",
      args: ["--url", "file:///etc"],
      reason: "--url is not the address of a host, such as http://127.0.0.1:8787.",
    },
    { name: "no token", given: { TURNPIKE_URL: env.TURNPIKE_URL }, reason: "TURNPIKE_TOKEN has no token." },
    { name: "a token of two words", given: { ...env, TURNPIKE_TOKEN: "tp 1" }, reason: "TURNPIKE_TOKEN has no token." },
    {
      name: "a file that is not there",
      args: ["--token-file", "/nowhere/t"],
      reason: "--token-file /nowhere/t cannot be read.",
    },
    { name: "an unknown agent", args: ["--agent", "x"], reason: "--agent x is none of claude-code, codex." },
    {
      name: "a wait that is too long",
      args: ["--wait", "61"],
      reason: "--wait 61 is no number of seconds from 0 to 60.",
    },
    { name: "an unknown flag", args: ["--allow"], reason: "Unknown option '--allow'" },
    { name: "a word", args: ["allow"], reason: "Unexpected argument 'allow'" },
  ])
    test(name, async () => {
      const { code, output, complaint } = await run(input, given, args);
      expect([code, output]).toEqual([2, undefined]);
      expect(complaint).toContain(`Turnpike: It was denied because ${reason}`);
    });
});
