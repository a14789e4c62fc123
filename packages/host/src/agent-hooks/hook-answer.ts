import type { JsonObject } from "turnpike/contracts";
import type { Undecided } from "./need.ts";
import type { Hook } from "./read-hook.ts";

/** What is said to an agent about a tool that it wants to run. */
export type Verdict = { kind: "allow" } | { kind: "deny"; reason: string } | { kind: "silent" };

/** An answer in the words of both agents: JSON on standard output, or nothing at all. */
export type HookAnswer = JsonObject | undefined;

/**
 * A verdict in the agent's own words. INVARIANT: Codex is told of denials alone, because it runs the tool where it is told
 * something that it does not know, such as an allowance. No agent is told to ask: a person at the terminal, or an agent that asks
 * no person in some of its modes, would then run what the gate has not allowed.
 */
export function hookAnswer(
  { kind, agent }: Extract<Hook, { kind: "before" | "permission" }>,
  verdict: Verdict,
): HookAnswer {
  if (verdict.kind === "silent" || (verdict.kind === "allow" && agent === "codex")) return undefined;
  const reason = verdict.kind === "deny" ? verdict.reason : undefined;
  if (kind === "permission")
    return specific("PermissionRequest", {
      decision: { behavior: verdict.kind, ...(reason !== undefined && { message: reason }) },
    });
  return specific("PreToolUse", {
    permissionDecision: verdict.kind,
    ...(reason !== undefined && { permissionDecisionReason: reason }),
  });
}

/** A denial of whatever was sent, in words that Claude Code understands at any of its hooks when it is not known which it was. */
export function refuseHook(hook: Hook | Undecided, why: string): HookAnswer {
  const reason = `Turnpike: It was denied because ${why}`;
  if (hook.kind === "after") return hookWarning(`Turnpike was not told that the tool ran: ${why}`);
  if (hook.kind !== "undecided") return hookAnswer(hook, { kind: "deny", reason });
  return { decision: "block", reason, continue: false, stopReason: reason };
}

/** A warning for the person at the terminal. The tool has run. */
export function hookWarning(text: string): HookAnswer {
  return { systemMessage: text };
}

function specific(hookEventName: string, answer: JsonObject): JsonObject {
  return { hookSpecificOutput: { hookEventName, ...answer } };
}
