import type { AuditEvent, JsonValue, TurnEvent, TurnStatus } from "turnpike/contracts";
import { requestText } from "../../shared/words.ts";
import type { WhyQuestion } from "../why-address.ts";

/** One thing that a turn did: from an event that begins it to one that ends it. Times are in milliseconds. */
export interface Step {
  key: string;
  kind: "start" | "model" | "tool" | "escalation" | "event" | "end";
  title: string;
  /** Its state, as the API names it. */
  state?: string;
  /** Why it was denied or failed. */
  code?: string;
  startedAt: number;
  /** Undefined while it has not ended. */
  endedAt?: number;
  /** What a model wrote, or another event holds. */
  text?: string;
  notes: string[];
  callId?: string;
  tokens?: { input: number; output: number };
  cost?: Readonly<Record<string, number>>;
}

/** The tool with which a turn asks a person. */
const escalationTool = "service.escalate";

const openStates: Partial<Record<TurnStatus, string>> = { running: "running", waiting: "waiting" };

/** Groups the events of a turn into steps, in their order. What has not ended has the state that the turn gives it. */
export function stepsOf(events: readonly TurnEvent[], status: TurnStatus): Step[] {
  const steps: Step[] = [];
  let previous = Date.parse(events[0]?.occurredAt ?? "") || 0;
  for (const event of events) {
    const at = Date.parse(event.occurredAt);
    add(steps, event, at, previous);
    previous = at;
  }
  for (const step of steps) if (step.endedAt === undefined) step.state = openStates[status] ?? "cancelled";
  return steps;
}

function add(steps: Step[], { type, data, sequence }: TurnEvent, at: number, previous: number): void {
  const key = String(sequence);
  const [tool, callId, code] = [textIn(data, "tool") ?? "a tool", textIn(data, "callId"), textIn(data, "code")];
  switch (type) {
    case "turn.started":
      steps.push({ key, kind: "start", title: "The turn began", startedAt: at, endedAt: at, notes: startNotes(data) });
      return;
    case "tool.requested": {
      const isEscalation = tool === escalationTool;
      const title = isEscalation ? "Asked a person" : tool;
      steps.push({
        key,
        kind: isEscalation ? "escalation" : "tool",
        title,
        startedAt: at,
        notes: [],
        ...(callId && { callId }),
      });
      return;
    }
    case "tool.completed": {
      const open = steps.findLast((step) => step.callId === callId && step.endedAt === undefined);
      const step: Step = open ?? {
        key,
        kind: "tool",
        title: tool,
        startedAt: at,
        notes: [],
        ...(callId && { callId }),
      };
      if (open === undefined) steps.push(step);
      Object.assign(step, {
        endedAt: at,
        state: stateOf(step.kind, textIn(data, "status") ?? "succeeded"),
        ...(code && { code }),
      });
      return;
    }
    case "runtime.event":
      addRuntimeEvent(steps, key, data, { at, previous });
      return;
    default: {
      const state = type === "turn.completed" ? "succeeded" : type.slice("turn.".length);
      steps.push({
        key,
        kind: "end",
        title: endTitles[state] ?? "The turn ended",
        state,
        startedAt: at,
        endedAt: at,
        notes: [],
        ...(code && { code }),
      });
    }
  }
}

/** An escalation whose call succeeded was approved. */
function stateOf(kind: Step["kind"], status: string): string {
  return kind === "escalation" && status === "succeeded" ? "approved" : status;
}

const endTitles: Readonly<Record<string, string>> = {
  succeeded: "The turn ended well",
  failed: "The turn failed",
  denied: "The turn was denied",
  cancelled: "The turn was cancelled",
  escalated: "The turn ended with a question",
};

/** Adds what the host's runtimes tell of a model. Events of any other runtime are added unchanged. */
function addRuntimeEvent(
  steps: Step[],
  key: string,
  event: JsonValue,
  { at, previous }: { at: number; previous: number },
) {
  const type = textIn(event, "type") ?? "";
  const data = valueIn(event, "data");
  if (!type.startsWith("model.")) {
    steps.push({
      key,
      kind: "event",
      title: type || "Event",
      startedAt: at,
      endedAt: at,
      text: JSON.stringify(data ?? event),
      notes: [],
    });
    return;
  }
  const number = valueIn(data, "step");
  const model = textIn(data, "model");
  let step = steps.findLast(({ kind, endedAt }) => kind === "model" && endedAt === undefined);
  if (step === undefined) {
    step = { key, kind: "model", title: `Model, step ${String(number ?? "")}`.trim(), startedAt: previous, notes: [] };
    steps.push(step);
  }
  if (model !== undefined) step.title = `${model}, step ${String(number ?? "")}`;
  const code = textIn(data, "code") ?? "";
  if (type === "model.text") step.text = (step.text ?? "") + (textIn(data, "text") ?? "");
  if (type === "model.call") step.notes.push(`wants ${textIn(data, "tool") ?? "a tool"}`);
  if (type === "model.retry") step.notes.push(`tried again after ${code}`);
  if (type === "model.fallback") step.notes.push(`asked in place of one that failed with ${code}`);
  if (type === "model.finished") finish(step, data, at);
}

function finish(step: Step, data: JsonValue | undefined, at: number): void {
  const usage = valueIn(data, "usage");
  const [input, output] = [valueIn(usage, "inputTokens"), valueIn(usage, "outputTokens")];
  const cost = valueIn(data, "cost");
  step.endedAt = at;
  step.state = "succeeded";
  if (typeof input === "number" || typeof output === "number")
    step.tokens = { input: Number(input ?? 0), output: Number(output ?? 0) };
  if (typeof cost === "object" && cost !== null) step.cost = cost as Record<string, number>;
  const reason = textIn(data, "finishReason");
  if (reason !== undefined && !["stop", "tool-calls"].includes(reason)) step.notes.push(`ended because of ${reason}`);
}

function startNotes(data: JsonValue): string[] {
  const runtime = textIn(valueIn(data, "runtime"), "id");
  return runtime === undefined ? [] : [`runs with ${runtime}`];
}

/**
 * The acts of a turn's agent whose effects it carried out elsewhere while the turn ran, as the audit log has them: they are calls of the
 * turn, and not in its journal.
 */
export function actSteps(audited: readonly AuditEvent[], events: readonly TurnEvent[], status: TurnStatus): Step[] {
  const [{ executionId } = { executionId: undefined }] = events;
  const called = new Set(events.map(({ data }) => textIn(data, "callId")));
  const steps = new Map<string, Step>();
  for (const event of audited.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))) {
    const { type, operationId, tool, outcome, reason } = event;
    const isOfAct = type === "authorization.checked" || type === "act.finished";
    if (!isOfAct || operationId === undefined || tool === undefined || called.has(operationId)) continue;
    if (event.executionId !== executionId) continue;
    const at = Date.parse(event.at);
    const known = steps.get(operationId);
    const step: Step = known ?? {
      key: event.id,
      kind: "tool",
      title: tool,
      startedAt: at,
      notes: [],
      callId: operationId,
    };
    steps.set(operationId, step);
    if (outcome === "allowed") continue;
    Object.assign(step, { endedAt: at, state: outcome, ...(reason !== undefined && { code: reason }) });
  }
  const all = [...steps.values()];
  for (const step of all) if (step.endedAt === undefined) step.state = openStates[status] ?? "cancelled";
  return all;
}

/** What all of the steps used. */
export function totalsOf(steps: readonly Step[]) {
  const cost: Record<string, number> = {};
  let [input, output] = [0, 0];
  for (const step of steps) {
    input += step.tokens?.input ?? 0;
    output += step.tokens?.output ?? 0;
    for (const [currency, amount] of Object.entries(step.cost ?? {})) cost[currency] = (cost[currency] ?? 0) + amount;
  }
  return {
    input,
    output,
    cost,
    denied: steps.filter(({ kind, state }) => kind === "tool" && state === "denied").length,
  };
}

/** A cost as `0.0123 USD`. */
export function costText(cost: Readonly<Record<string, number>>): string {
  return Object.entries(cost)
    .map(([currency, amount]) => `${Number(amount.toPrecision(3))} ${currency}`)
    .join(" + ");
}

/** What the audit log says of a call: what it needed, and what the decision was. */
export interface Decision {
  outcome: string;
  needs: string;
  grantId: string | undefined;
  /** What the screen Why is asked with. */
  why: WhyQuestion;
}

/** The decisions of a trace by the call that they are about. The last one counts: a call that waited is decided twice. */
export function decisionsOf(events: readonly AuditEvent[]): Map<string, Decision> {
  const decisions = new Map<string, Decision>();
  const decided = events.filter(({ type }) => type === "authorization.checked");
  for (const { operationId, outcome, action, resource, grantId, actor, authority, owner, purpose } of decided.toSorted(
    (one, other) => Date.parse(one.at) - Date.parse(other.at),
  )) {
    if (operationId === undefined || action === undefined || resource === undefined) continue;
    const why = { actor, action, resource, purpose, authority, owner };
    decisions.set(operationId, { outcome, needs: requestText({ action, resource }), grantId, why });
  }
  return decisions;
}

function valueIn(data: JsonValue | undefined, name: string): JsonValue | undefined {
  return typeof data === "object" && data !== null && !Array.isArray(data) ? data[name] : undefined;
}

function textIn(data: JsonValue | undefined, name: string): string | undefined {
  const value = valueIn(data, name);
  return typeof value === "string" ? value : undefined;
}
