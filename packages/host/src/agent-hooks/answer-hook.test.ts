import { describe, expect, test } from "vitest";
import { answerHook, type HookOptions } from "./answer-hook.ts";
import type { ActOutcome, ActRequest } from "turnpike/contracts";
import type { HookActState } from "./hook-gate.ts";
import { readHook } from "./read-hook.ts";

const now = new Date("2026-01-01T12:00:00Z");
const push = {
  session_id: "session-1",
  transcript_path: "/tmp/t",
  cwd: "/work",
  permission_mode: "default",
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command: "git push" },
  tool_use_id: "call-1",
};
const ran = { ...push, hook_event_name: "PostToolUse", tool_response: { stdout: "secret" } };
const asks = { ...push, hook_event_name: "PermissionRequest", tool_use_id: undefined };
const codex = { turn_id: "turn-1", model: "m" };

/** A gate that answers with one state, or breaks, and remembers what it was asked and told. */
function gateWith(state: HookActState | Error) {
  const begun: ActRequest[] = [];
  const told: [string, ActOutcome][] = [];
  const answer = <T>(value: T): Promise<T> => (state instanceof Error ? Promise.reject(state) : Promise.resolve(value));
  return {
    begun,
    told,
    gate: {
      begin: (act: ActRequest) => (begun.push(act), answer(state as HookActState)),
      finish: (id: string, outcome: ActOutcome) => (told.push([id, outcome]), answer(undefined)),
    },
  };
}

async function answered(sent: object, state: HookActState | Error, options: Partial<HookOptions> = {}) {
  const hook = readHook(sent);
  if (hook.kind === "undecided") throw new Error(hook.why);
  const world = gateWith(state);
  return { ...world, answer: await answerHook(hook, world.gate, { now, ...options }) };
}

const waiting = { status: "waiting", expiresAt: "2026-01-01T13:00:00Z", url: "https://gate.test/q/1" };
const waitingText =
  "Turnpike: approval_required: a person is asked until 2026-01-01T13:00:00Z, and nothing was run. The question is at https://gate.test/q/1\nDo not call again by yourself. Once they have approved it, make exactly the same call again.";
const denied = { status: "denied", error: { code: "no_matching_grant", message: "No grant covers this." } };
const deniedText = "Turnpike: no_matching_grant: No grant covers this. It needs run on shell/git/push.";
const unreachable = Object.assign(new Error("The host cannot be reached."), { code: "request_failed" });
const unreachableText = "Turnpike: request_failed: The host cannot be reached. Nothing was run.";
const interrupted = Object.assign(new Error("It may have happened."), { code: "replay_interrupted" });

const rows: readonly { name: string; state: HookActState | Error; reason: string | undefined }[] = [
  { name: "an act that is allowed", state: { status: "allowed" }, reason: undefined },
  { name: "an act that is denied", state: denied, reason: deniedText },
  { name: "a question", state: waiting, reason: waitingText },
  {
    name: "a question that is not asked yet",
    state: { status: "waiting" },
    reason:
      "Turnpike: approval_required: a person has to approve it, and nothing was run.\nDo not call again by yourself. Once they have approved it, make exactly the same call again.",
  },
  {
    name: "a denial without words",
    state: { status: "denied" },
    reason: "Turnpike: denied: It was denied. It needs run on shell/git/push.",
  },
  { name: "a gate that is away", state: unreachable, reason: unreachableText },
  { name: "an error without a code", state: new Error("x"), reason: "Turnpike: unreachable: x Nothing was run." },
  {
    name: "an act that may have happened",
    state: interrupted,
    reason: "Turnpike: replay_interrupted: It may have happened. Look whether it happened before you do anything.",
  },
  ...["succeeded", "failed", "interrupted", "Allowed", ""].map((status) => ({
    name: `the state "${status}"`,
    state: { status },
    reason: `Turnpike: This call was begun before (${status}). It is not run a second time: make a new call if it is needed.`,
  })),
];

describe("a tool that is wanted", () => {
  for (const { name, state, reason } of rows)
    test(`with ${name} is ${reason === undefined ? "allowed" : "denied"} in the words of each agent`, async () => {
      const decision = reason === undefined ? "allow" : "deny";
      expect((await answered(push, state)).answer).toEqual({
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: decision,
          ...(reason !== undefined && { permissionDecisionReason: reason }),
        },
      });
      expect((await answered({ ...push, ...codex }, state)).answer).toEqual(
        reason === undefined
          ? undefined
          : {
              hookSpecificOutput: {
                hookEventName: "PreToolUse",
                permissionDecision: "deny",
                permissionDecisionReason: reason,
              },
            },
      );
    });

  for (const { name, state, reason } of rows)
    test(`with ${name}, where the person at the terminal is about to be asked`, async () => {
      const decision = reason === undefined ? { behavior: "allow" } : { behavior: "deny", message: reason };
      const specific = { hookSpecificOutput: { hookEventName: "PermissionRequest", decision } };
      expect((await answered(asks, state)).answer).toEqual(specific);
      expect((await answered({ ...asks, ...codex }, state)).answer).toEqual(
        reason === undefined ? undefined : specific,
      );
    });

  test("is told the first of many things that it needs", async () => {
    const tool_input = { command: "a; b; c; d; e; f" };
    expect(JSON.stringify((await answered({ ...push, tool_input }, denied)).answer)).toContain(
      "It needs run on shell/a, run on shell/b, run on shell/c, run on shell/d and 2 more.",
    );
  });

  test("is begun under the agent's own id and session", async () => {
    const { begun } = await answered(push, { status: "allowed" });
    expect(begun).toEqual([
      {
        version: 1,
        id: "call-1",
        tool: "Bash",
        needs: [{ action: "run", resource: { namespace: "shell", path: ["git", "push"] } }],
        arguments: { command: "git push", cwd: "/work" },
        write: true,
        requestedAt: "2026-01-01T12:00:00.000Z",
        traceId: "session-1",
        leaseSeconds: 3600,
      },
    ]);
  });

  test("is only tried where the person at the terminal is about to be asked", async () => {
    const { begun } = await answered(asks, { status: "allowed" });
    expect(begun).toMatchObject([{ dryRun: true, id: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
    expect((await answered({ ...asks, tool_use_id: "call-2" }, { status: "allowed" })).begun).toMatchObject([
      { dryRun: true, id: "call-2" },
    ]);
  });

  test("that cannot be decided is denied without asking the gate", async () => {
    const { begun, answer } = await answered({ ...push, tool_input: { command: "git push &" } }, { status: "allowed" });
    expect(begun).toEqual([]);
    expect(JSON.stringify(answer)).toContain(
      '"permissionDecision":"deny","permissionDecisionReason":"Turnpike: It was denied because it has a command that goes on in the background. Say it as one plain command,',
    );
  });

  test("runs in a trial whatever is decided, and the agent is told nothing", async () => {
    for (const { state } of rows) {
      const { answer, begun } = await answered(push, state, { isShadow: true });
      expect([answer, begun[0]?.shadow, begun.length]).toEqual([undefined, true, 1]);
      expect(await answered(asks, state, { isShadow: true })).toMatchObject({ answer: undefined, begun: [] });
      expect(await answered(ran, state, { isShadow: true })).toMatchObject({ answer: undefined, told: [] });
    }
  });
});

describe("a tool that ran", () => {
  const failure = { ...ran, hook_event_name: "PostToolUseFailure", error: "secret" };
  const about = { version: 1, traceId: "session-1" };
  for (const { name, sent, outcome } of [
    { name: "and succeeded", sent: ran, outcome: { ...about, status: "succeeded" } },
    {
      name: "and failed",
      sent: failure,
      outcome: { ...about, status: "failed", error: { code: "effect_failed", message: "The tool reported an error." } },
    },
    {
      name: "and was stopped",
      sent: { ...failure, is_interrupt: true },
      outcome: {
        ...about,
        status: "failed",
        error: { code: "cancelled", message: "The person at the terminal stopped the tool." },
      },
    },
  ])
    test(`${name} is reported, and nothing of what it answered`, async () => {
      for (const agent of [{}, codex]) {
        const { told, answer } = await answered({ ...sent, ...agent }, { status: "succeeded" });
        expect([told, answer]).toEqual([[["call-1", outcome]], undefined]);
      }
    });

  test("and cannot be reported is told to the person at the terminal", async () => {
    expect((await answered(ran, unreachable)).answer).toEqual({
      systemMessage: "Turnpike was not told that the tool ran: The host cannot be reached. (request_failed)",
    });
  });
});

describe("what is no hook about a tool cannot be decided", () => {
  for (const [name, sent] of [
    ["a text", "PreToolUse"],
    ["nothing", null],
    ["a list", [push]],
    ["another hook", { ...push, hook_event_name: "Stop" }],
    ["a hook with a name of every object", { ...push, hook_event_name: "constructor" }],
    ["a hook without a session", { ...push, session_id: undefined }],
    ["a session that is no id", { ...push, session_id: " " }],
    ["a call whose id no URL can name", { ...push, tool_use_id: ".." }],
    ["a call whose id is half a character", { ...push, tool_use_id: "a\uD800" }],
    ["a session that is too long", { ...push, session_id: "x".repeat(257) }],
    ["a call without an id", { ...push, tool_use_id: undefined }],
    ["a call whose id is no text", { ...push, tool_use_id: 7 }],
    ["a question whose id is no text", { ...asks, tool_use_id: 7 }],
    ["a report without an id", { ...ran, tool_use_id: undefined }],
    ["a call without a tool", { ...push, tool_name: undefined }],
    ["a call that is given a text", { ...push, tool_input: "git push" }],
    ["a call that is given a list", { ...push, tool_input: ["git push"] }],
  ] as const)
    test(name, () => {
      expect(readHook(sent).kind).toBe("undecided");
    });
});
