import type { JsonObject } from "turnpike/contracts";
import type { AgentCall } from "./tool-needs.ts";
import { undecided, type Undecided } from "./need.ts";

/** The agents whose hooks are understood. */
export const codingAgents = ["claude-code", "codex"] as const;
export type CodingAgent = (typeof codingAgents)[number];

/** What an agent says at one of its hooks. */
export type Hook =
  /** It wants to run a tool. */
  | { kind: "before"; agent: CodingAgent; id: string; trace: string; call: AgentCall }
  /** It is about to ask the person at the terminal whether the tool may run. */
  | { kind: "permission"; agent: CodingAgent; id: string | undefined; trace: string; call: AgentCall }
  /** The tool ran. */
  | { kind: "after"; agent: CodingAgent; id: string; trace: string; outcome: "succeeded" | "failed" | "interrupted" };

const kinds: Readonly<Record<string, Hook["kind"]>> = {
  PreToolUse: "before",
  PermissionRequest: "permission",
  PostToolUse: "after",
  PostToolUseFailure: "after",
};

/** Reads the JSON of a hook. Both agents send the same fields; only Codex numbers the turns of a session. */
export function readHook(sent: unknown, named?: CodingAgent): Hook | Undecided {
  if (!isObject(sent)) return undecided("what the agent sent is no JSON object");
  const { hook_event_name: event, session_id: trace, tool_use_id: id, tool_name: tool, tool_input: input, cwd } = sent;
  const kind = typeof event === "string" && Object.hasOwn(kinds, event) ? kinds[event] : undefined;
  if (kind === undefined) return undecided("the hook is none that decides about a tool");
  const agent = named ?? (typeof sent["turn_id"] === "string" ? "codex" : "claude-code");
  if (!isIdentifier(trace)) return undecided("the hook names no session");
  if (!(isIdentifier(id) || (kind === "permission" && id === undefined))) return undecided("the hook names no call");
  if (kind === "after") return { kind, agent, id: id ?? "", trace, outcome: outcomeOf(sent) };
  if (!isIdentifier(tool) || !isObject(input)) return undecided("the hook names no tool, or nothing that it is given");
  const call = { tool, input, cwd };
  return kind === "before" ? { kind, agent, id: id ?? "", trace, call } : { kind, agent, id, trace, call };
}

function outcomeOf(sent: JsonObject): "succeeded" | "failed" | "interrupted" {
  if (sent["hook_event_name"] !== "PostToolUseFailure") return "succeeded";
  return sent["is_interrupt"] === true ? "interrupted" : "failed";
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An id of the contract that a URL can name. */
function isIdentifier(value: unknown): value is string {
  return typeof value === "string" && value.length <= 256 && /\S/u.test(value) && !/^\.\.?$|\p{Cs}/u.test(value);
}
