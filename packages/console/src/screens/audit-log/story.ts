import type { AuditEvent } from "turnpike/contracts";
import { principalText } from "../../shared/words.ts";
import type { LogRow } from "./log-filter.ts";

/** One thing that was done, or refused: the decision about it, then what became of it. */
export interface StoryStep {
  rows: LogRow[];
  /** From the first row to the last. */
  ms: number;
  /** How long after the beginning of the trace it began. */
  afterMs: number;
}

/** What happened in one turn, or outside of any. */
export interface StoryPart {
  executionId: string | undefined;
  steps: StoryStep[];
  ms: number;
}

/** All of a trace in its order. */
export interface Story {
  parts: StoryPart[];
  startedAt: string;
  ms: number;
  actors: string[];
}

/** Tells a trace: its rows, the oldest first, by turns, and each decision with its outcome. */
export function tellStory(rows: readonly LogRow[]): Story {
  const startedAt = rows[0]?.event.at ?? "";
  const parts: StoryPart[] = [];
  for (const row of rows) {
    const part = partFor(parts, row.event.executionId);
    const step = stepFor(part.steps, row.event);
    if (step === undefined) part.steps.push({ rows: [row], ms: 0, afterMs: between(startedAt, row.event.at) });
    else step.rows.push(row);
  }
  for (const part of parts) {
    for (const step of part.steps) step.ms = spanOf(step.rows);
    part.ms = spanOf(part.steps.flatMap((step) => step.rows));
  }
  return {
    parts,
    startedAt,
    ms: spanOf(rows),
    actors: [...new Set(rows.map(({ event }) => principalText(event.actor)))],
  };
}

/** A turn is one part however it is interleaved with another; what is outside of turns stays where it happened. */
function partFor(parts: StoryPart[], executionId: string | undefined): StoryPart {
  const known =
    executionId === undefined
      ? parts.at(-1)?.executionId === undefined && parts.at(-1)
      : parts.find((part) => part.executionId === executionId);
  if (known) return known;
  const part: StoryPart = { executionId, steps: [], ms: 0 };
  parts.push(part);
  return part;
}

/** The step that an event belongs to: the one of the same operation or message, or the decision right before it. */
function stepFor(steps: readonly StoryStep[], event: AuditEvent): StoryStep | undefined {
  const id = idOf(event);
  if (id !== undefined) {
    return steps.findLast(({ rows: [first] }) => first && idOf(first.event) === id && isBySame(first.event, event));
  }
  const last = steps.at(-1);
  const before = last?.rows.at(-1)?.event;
  if (before === undefined || idOf(before) !== undefined || !isBySame(before, event)) return undefined;
  const isDecision = before.outcome === "allowed" || before.outcome === "denied";
  const isItsOutcome =
    event.type !== "authorization.checked" &&
    (before.type === "authorization.checked" || (before.type === event.type && before.action === event.action));
  return isDecision && isItsOutcome && event.type !== "turn.ended" ? last : undefined;
}

function idOf({ operationId, messageId }: AuditEvent): string | undefined {
  return operationId ?? messageId;
}

function isBySame(one: AuditEvent, other: AuditEvent): boolean {
  return principalText(one.actor) === principalText(other.actor);
}

function between(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}

function spanOf(rows: readonly LogRow[]): number {
  const instants = rows.map(({ event }) => Date.parse(event.at));
  // Rows come in order, but outcomes of one part end between those of another.
  return instants.reduce((most, at) => Math.max(most, at - (instants[0] ?? at)), 0);
}
