import type { Escalation, JsonValue, TurnEvent, TurnResult, TurnState } from "turnpike/contracts";
import { truncateText, programName } from "../shared/index.ts";
import { grantText, principalText } from "../display/index.ts";
import { jsonText, oneLine } from "./table.ts";

/** One event of a turn on one line: the time since its start, a mark, what it was and what came of it. */
export function eventLine({ type, data, occurredAt }: TurnEvent, startedAt: string): string {
  const { mark, text } = described(type, data);
  return `${sinceText(Date.parse(occurredAt) - Date.parse(startedAt)).padStart(8)}  ${mark}  ${oneLine(text)}`;
}

/** What a turn waits for, and for whom. */
export function waitingText({ reason, reviewer, requestedAuthority }: Escalation): string {
  const requested = requestedAuthority === undefined ? "" : `\nIt requests: ${oneLine(grantText(requestedAuthority))}`;
  return `It waits for ${oneLine(principalText(reviewer))}: ${oneLine(reason)}${requested}`;
}

/** Told to those who may not answer themselves. */
export function answeredBy(): string {
  return `An operator answers it: ${programName()} escalation list --tenant <tenant>`;
}

/** Where a turn is, in a sentence or two. */
export function stateText(state: TurnState): string {
  const { executionId, agent, status, startedAt, completedAt, steps, toolCalls } = state;
  const counted = `${count(steps, "step")} and ${count(toolCalls, "tool call")}`;
  const [is, times] =
    completedAt === undefined
      ? [`is ${status}`, `It started ${startedAt}, with ${counted} so far.`]
      : [statusText(status), `It started ${startedAt} and ended ${completedAt}, with ${counted}.`];
  return oneLine(`${executionId} of ${principalText(agent)} ${is}. ${times}`);
}

/** What a turn ended with. */
export function resultText(result: TurnResult): string {
  if (result.status === "succeeded") return jsonText(result.output);
  if (result.status === "escalated") return waitingText(result.escalation).replace("It waits for", "It asked");
  const { code, message } = result.error ?? cutShort;
  return oneLine(`${result.status.charAt(0).toUpperCase()}${result.status.slice(1)} (${code}): ${message}`);
}

/** The error of a turn that ended without one. */
export const cutShort = { code: "turn_cancelled", message: "The turn was cut short." };

/** What the list says of a turn besides its state: whom it waits for, or why it did not succeed. */
export function noteText({ escalation, result }: TurnState): string {
  if (escalation !== undefined) return `for ${principalText(escalation.reviewer)}: ${escalation.reason}`;
  if (result?.status === "escalated") return result.escalation.reason;
  return result === undefined || result.status === "succeeded" ? "" : (result.error?.code ?? "");
}

function statusText(status: TurnState["status"]): string {
  return status === "succeeded" || status === "failed" ? status : `was ${status}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

const endMarks: Partial<Record<TurnEvent["type"], string>> = {
  "turn.completed": "+",
  "turn.escalated": "?",
  "turn.failed": "x",
  "turn.denied": "x",
  "turn.cancelled": "x",
};

function described(type: TurnEvent["type"], data: JsonValue): { mark: string; text: string } {
  const tool = fieldOf(data, "tool") ?? "a tool";
  const code = fieldOf(data, "code");
  const because = code === undefined ? "" : ` (${code})`;
  if (type === "tool.requested") return { mark: ">", text: tool };
  if (type === "tool.completed") {
    const status = fieldOf(data, "status") ?? "completed";
    return { mark: status === "succeeded" ? "+" : "x", text: `${tool} ${status}${because}` };
  }
  if (type === "runtime.event") return { mark: ".", text: shorten(jsonText(data, 0)) };
  return { mark: endMarks[type] ?? ".", text: `${type.replace(".", " ")}${because}` };
}

function fieldOf(data: JsonValue, name: string): string | undefined {
  const value = typeof data === "object" && data !== null && !Array.isArray(data) ? data[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

const longest = 100;

function shorten(text: string): string {
  if (text.length <= longest) return text;
  const start = truncateText(text, longest);
  return `${start}... (${text.length - start.length} more characters: --json shows all)`;
}

/** A span as people say it: `1.49s`, `3m12s`, `2h05m`. */
export function sinceText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 60) return `${seconds.toFixed(2)}s`;
  const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)];
  if (minutes < 60) return `${minutes}m${String(rest).padStart(2, "0")}s`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}m`;
}
