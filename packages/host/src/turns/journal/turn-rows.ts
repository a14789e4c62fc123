import { randomUUID } from "node:crypto";
import type { Selectable } from "kysely";
import {
  parsePrincipal,
  principalKey,
  type AgentRef,
  type Escalation,
  type JsonObject,
  type PrincipalRef,
  type RequestParty,
  type TurnEvent,
  type TurnResult,
  type TurnState,
  type TurnStatus,
} from "turnpike/contracts";
import type { JournalEntry, TurnToBegin } from "turnpike/runtime";
import { columnText } from "../../shared/index.ts";
import { turnFingerprint, type NewTurn, type OpenTurnLimits, type TurnAsker } from "../../ledger/index.ts";
import type { Schema } from "../../storage/index.ts";

export type TurnRow = Selectable<Schema["turns"]>;

/** The id of a turn within the host; it sorts by age. */
export type TurnId = string;

/** The fields that a turn has in every state. */
interface Heading {
  executionId: string;
  traceId: string;
  agent: AgentRef;
  /** As `principalKey` writes it. */
  actor: string;
  /** The operator who tries it as the actor. */
  triedBy?: RequestParty | undefined;
}

/** What a run of a turn needs. */
interface TurnContent extends Pick<TurnToBegin, "request" | "context" | "runtime" | "limits"> {
  /** The credential of the caller. */
  credential?: JsonObject | undefined;
}

/** The additional fields of a waiting turn. */
interface Waiting {
  escalation: Escalation;
}

/** What is stored with an escalation that a turn waits for: the call that waits. */
export interface WaitContent {
  callId: string;
  /** The call itself waits for an approval. */
  approval?: { tool: string } | undefined;
}

type WaitingEntry = Extract<JournalEntry, { kind: "waiting" }>;

/** The rows of the escalations that a turn begins to wait for. */
export function waitRows(turn: TurnId, namespaceId: string, asked: readonly WaitingEntry[]) {
  return asked.flatMap(({ callId, approval, question }, place): Schema["turn_questions"][] => {
    if (question === undefined) return [];
    const ids = { turn, place, namespace_id: columnText(namespaceId), question_id: columnText(question.id) };
    const content: WaitContent = { callId, approval };
    return [{ ...ids, expires_at: question.expiresAt, content: JSON.stringify(content) }];
  });
}

/** What operators see of a turn besides its state. */
export interface OperatedTurn {
  state: TurnState;
  namespaceId: string;
  actor: PrincipalRef;
  isAsync: boolean;
  /** The host that runs it. */
  hostId?: number;
  /** The operator who tries it as the actor. */
  triedBy?: RequestParty;
}

let lastStamp = 0;
/** Turns that begin together get consecutive microseconds. A larger difference means that the clock was set back. */
const stampSlack = 1_000_000;

/**
 * Microseconds in base 36 have ten digits until the year 2085. They follow the clock, also when it is set back: turns are found
 * by the time in their ids.
 */
function freshTurnId(): TurnId {
  const stamp = Date.now() * 1000;
  lastStamp = lastStamp >= stamp && lastStamp < stamp + stampSlack ? lastStamp + 1 : stamp;
  return `t${lastStamp.toString(36).padStart(10, "0")}${randomUUID().slice(0, 6)}`;
}

/** The least id that a turn of this instant can have. */
export function turnIdAt(ms: number): TurnId {
  const stamp = Math.max(0, Math.min(ms * 1000, 36 ** 10 - 1));
  return `t${stamp.toString(36).padStart(10, "0")}`;
}

/** The row of a turn that is to begin. */
export function newTurnRow(turn: TurnToBegin, credential: JsonObject | undefined, most: OpenTurnLimits): NewTurn {
  const { request, context, isAsync, runtime, limits, startedAt } = turn;
  const { executionId, agent } = request;
  const actor = principalKey(context.actor);
  const about: Heading = { executionId, traceId: context.traceId, agent, actor, triedBy: context.triedBy };
  const needed: TurnContent = { request, context, runtime, limits, credential };
  const [heading, content] = [JSON.stringify(about), JSON.stringify(needed)];
  return {
    id: freshTurnId(),
    namespace_id: columnText(context.namespaceId),
    actor: columnText(actor),
    execution_id: columnText(executionId),
    fingerprint: turnFingerprint(context, request),
    is_async: isAsync ? 1 : 0,
    heading,
    content,
    started_at: startedAt,
    updated_at: startedAt,
    bytes: bytesOf([heading, content]),
    most,
  };
}

/** The key by which the open escalations of an ending turn are found. */
export function askerOf({ request, context }: Pick<TurnToBegin, "request" | "context">, ended_at: string): TurnAsker {
  return {
    namespace_id: columnText(context.namespaceId),
    execution_id: columnText(request.executionId),
    actor: columnText(principalKey(context.actor)),
    ended_at,
  };
}

/** How many bytes some texts of a turn take. */
export function bytesOf(texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ""), 0);
}

/** The turn that a row began, and its caller's credential; undefined when it cannot be resumed any more. */
export function beginningOf(row: TurnRow): { turn: TurnToBegin; credential: JsonObject | undefined } | undefined {
  if (row.content === null) return undefined;
  const { credential, ...rest } = JSON.parse(row.content) as TurnContent;
  return { turn: { ...rest, isAsync: row.is_async === 1, startedAt: row.started_at }, credential };
}

/** Whether a turn was started with a credential of this host, or is tried by the operator of one. */
export function isStartedWith(
  { heading, content }: Pick<TurnRow, "heading" | "content">,
  credentialId: string,
): boolean {
  const { triedBy } = JSON.parse(heading) as Heading;
  const { credential: stored } = JSON.parse(content ?? "{}") as TurnContent;
  const { credential, foreign } = (stored ?? {}) as { credential?: { id?: string }; foreign?: unknown };
  return triedBy?.credential === credentialId || (foreign === undefined && credential?.id === credentialId);
}

/** The state of a turn. The events belong to its result, so they are only needed when it has ended. */
export function stateOf(row: TurnRow, events: readonly TurnEvent[]): TurnState {
  const { executionId, traceId, agent } = JSON.parse(row.heading) as Heading;
  const { escalation } = row.waiting === null ? {} : (JSON.parse(row.waiting) as Waiting);
  const result = row.result === null ? undefined : (JSON.parse(row.result) as Omit<TurnResult, "events">);
  return {
    version: 1,
    executionId,
    traceId,
    agent,
    status: row.status as TurnStatus,
    startedAt: row.started_at,
    updatedAt: row.updated_at,
    ...(row.completed_at !== null && { completedAt: row.completed_at }),
    steps: row.steps,
    toolCalls: row.tool_calls,
    ...(escalation !== undefined && { escalation }),
    ...(result !== undefined && { result: withEvents(result, events) }),
  };
}

/** The result with its events, with its keys in the original order. */
function withEvents(result: Omit<TurnResult, "events">, events: readonly TurnEvent[]): TurnResult {
  const { version, executionId, traceId, startedAt, completedAt, ...ending } = result;
  return { version, executionId, traceId, startedAt, completedAt, events, ...ending } as TurnResult;
}

/** The actor of a turn, and its execution id. */
export function actorOf({ heading }: Pick<TurnRow, "heading">): { actor: PrincipalRef; executionId: string } {
  const { actor, executionId } = JSON.parse(heading) as Heading;
  return { actor: parsePrincipal(actor) ?? { kind: "agent", agentId: "unknown" }, executionId };
}

/** A turn as operators see it. */
export function operatedTurn(row: TurnRow, events: readonly TurnEvent[]): OperatedTurn {
  const { triedBy } = JSON.parse(row.heading) as Heading;
  return {
    state: stateOf(row, events),
    namespaceId: row.namespace_id,
    actor: actorOf(row).actor,
    isAsync: row.is_async === 1,
    ...(row.host_id !== null && { hostId: row.host_id }),
    ...(triedBy && { triedBy }),
  };
}

/** How many entries of one write share a row. Most of the cost of an entry is its row. */
const maxInRow = 16;
/** Readers of events read whole rows, so a longer entry that is no event has a row of its own. */
const maxShared = 1_000;

/**
 * The rows of entries that are written together, the first of them at a position. A row has the position of its last entry, and
 * the sequence of its last event.
 */
export function entryRows(turn: TurnId, first: number, entries: readonly JournalEntry[]): Schema["turn_entries"][] {
  const rows: Schema["turn_entries"][] = [];
  let texts: string[] = [];
  let sequence: number | null = null;
  const endRow = (position: number): void => {
    if (texts.length > 0) rows.push({ turn, position, kind: "several", sequence, content: `[${texts.join(",")}]` });
    texts = [];
    sequence = null;
  };
  for (const [place, entry] of entries.entries()) {
    const text = JSON.stringify(entry);
    const isAlone = entry.kind !== "event" && text.length > maxShared;
    if (isAlone || texts.length === maxInRow) endRow(first + place - 1);
    texts.push(text);
    if (entry.kind === "event") ({ sequence } = entry.event);
    if (isAlone) endRow(first + place);
  }
  endRow(first + entries.length - 1);
  return rows;
}

/** The entries of a row. A row from before rows were shared has one entry, with an event in its public form. */
export function entriesOfRow({ kind, content }: Pick<Schema["turn_entries"], "kind" | "content">): JournalEntry[] {
  const parsed = JSON.parse(content) as unknown;
  if (kind === "several") return parsed as JournalEntry[];
  return [kind === "event" ? { kind, event: parsed as TurnEvent } : (parsed as JournalEntry)];
}

/** The events of a row. */
export function eventsOfRow(row: Pick<Schema["turn_entries"], "kind" | "content">): TurnEvent[] {
  return entriesOfRow(row).flatMap((entry) => (entry.kind === "event" ? [entry.event] : []));
}
