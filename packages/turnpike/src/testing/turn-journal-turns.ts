import type {
  AccessContext,
  AgentRef,
  Escalation,
  PrincipalRef,
  ToolResult,
  TurnEvent,
  TurnRequest,
  TurnResult,
} from "../contracts/index.ts";
import type { JournalEntry, TurnJournal, TurnKey, RunWriter, TurnProgress, TurnToBegin } from "../runtime/index.ts";

// The turns that turnJournalSuite begins, and what it writes of them.

/** A journal without turns, and what its host does around it. */
export interface TurnJournalUnderTest {
  journal: TurnJournal;
  /** Takes a turn that has not ended for a new run, as another process does. */
  take(key: TurnKey): Promise<RunWriter> | RunWriter;
  /**
   * Answers the escalation of the call `call-n`, which is `escalation-n`, with its result; no result approves the call.
   * The turn waits for it, or is about to.
   */
  answer(key: TurnKey, callId: string, result?: ToolResult): Promise<void> | void;
}

/** Opens a journal without turns. */
export type Open = () => Promise<TurnJournalUnderTest>;

const alice: PrincipalRef = { kind: "human", userId: "alice" };
const assistant: AgentRef = { kind: "agent", agentId: "assistant" };

/** The instant of a minute after twelve. */
export function at(minute: number): string {
  return `2026-01-01T12:${String(minute).padStart(2, "0")}:00.000Z`;
}

/** A turn of the assistant; its request and context can be changed in parts. */
export function turnOf(
  executionId: string,
  changes: { request?: Partial<TurnRequest>; context?: Partial<AccessContext>; isAsync?: boolean } = {},
): TurnToBegin {
  return {
    request: {
      version: 1,
      executionId,
      agent: assistant,
      message: {
        version: 1,
        id: "message-1",
        createdAt: at(0),
        traceId: "trace-1",
        purpose: "support",
        sender: alice,
        receiver: assistant,
        payload: { text: "hello", nested: [1, null, "ä"] },
      },
      ...changes.request,
    },
    context: {
      actor: assistant,
      authority: alice,
      enabledToolNamespaces: ["files"],
      executionId,
      namespaceId: "tenant-1",
      now: at(0),
      owner: alice,
      purpose: "support",
      traceId: "trace-1",
      ...changes.context,
    },
    isAsync: changes.isAsync ?? true,
    runtime: { id: "scripted", version: "1" },
    limits: { maxSteps: 16, maxToolCalls: 16, timeoutMs: 120_000 },
    startedAt: at(0),
  };
}

/** The key of a turn, or of another actor's turn of the same id. */
export function keyOf(executionId: string, changes: Partial<TurnKey> = {}): TurnKey {
  return { namespaceId: "tenant-1", actor: assistant, executionId, ...changes };
}

export function progressOf(minute: number, steps = 0, toolCalls = 0): TurnProgress {
  return { at: at(minute), steps, toolCalls, ranMs: minute * 1000 };
}

export function eventOf(executionId: string, sequence: number): TurnEvent {
  const type = sequence === 0 ? "turn.started" : "runtime.event";
  const ids = { eventId: `${executionId}-${sequence}`, executionId, traceId: "trace-1" };
  return { version: 1, ...ids, sequence, type, data: { sequence, text: "ä" }, occurredAt: at(0) };
}

/** The entries of events of a turn, from one sequence up to another. */
export function eventEntries(executionId: string, from: number, to: number): JournalEntry[] {
  const sequences = Array.from({ length: to - from }, (_, index) => from + index);
  return sequences.map((sequence) => ({ kind: "event", event: eventOf(executionId, sequence) }));
}

export const escalation: Escalation = {
  status: "pending",
  reason: "May I?",
  requestedAt: at(1),
  reviewer: alice,
};

/** The turn asks, and waits for the answer to its call `call-1`. */
export const waiting: JournalEntry = {
  kind: "waiting",
  callId: "call-1",
  escalation,
  question: { id: "escalation-1", expiresAt: at(30) },
};

/** The turn waits for approval of its call `call-n`. */
export function waitingForApproval(n: number): JournalEntry {
  return {
    kind: "waiting",
    callId: `call-${n}`,
    escalation: { ...escalation, reason: `files.write needs a person's approval (${n}).` },
    question: { id: `escalation-${n}`, expiresAt: at(30) },
    approval: { tool: "files.write" },
  };
}

/** A person is asked about the call `call-n`, which is not made. */
export function askedAbout(n: number): JournalEntry[] {
  const callId = `call-${n}`;
  const call = { id: callId, tool: "files.write", arguments: {}, requestedAt: at(0), traceId: "trace-1" };
  return [
    { kind: "call", call, step: 0, repeatable: false },
    { kind: "asked", callId },
  ];
}

/** What a denial makes of the call `call-n`. */
export function refusedCall(n: number): ToolResult {
  const error = { code: "approval_denied", message: "A person denied this act.", retryable: false };
  return { status: "denied", callId: `call-${n}`, tool: "files.write", completedAt: at(2), error };
}

export const answer: ToolResult = {
  status: "succeeded",
  callId: "call-1",
  tool: "service.escalate",
  completedAt: at(2),
  output: { answer: "approved" },
};

/** The entry of an end; with a code it is denied or failed. */
export function endEntry(executionId: string, status: "succeeded" | "denied" | "failed", code = ""): JournalEntry {
  const common = { version: 1, executionId, traceId: "trace-1", startedAt: at(0), completedAt: at(9) } as const;
  const error = { code, message: "It is so.", retryable: false };
  const result: Omit<TurnResult, "events"> =
    status === "succeeded" ? endingOf({ ...common, status, output: "done" }) : endingOf({ ...common, status, error });
  return { kind: "ended", result };
}

/** `JournalEntry` names what all results have in common. */
function endingOf<Result extends Omit<TurnResult, "events">>(result: Result): Omit<TurnResult, "events"> {
  return result;
}

/** Begins a turn whose id is free. */
export async function begin(journal: TurnJournal, turn: TurnToBegin): Promise<RunWriter> {
  const begun = await journal.begin(turn, {});
  if (begun.kind !== "begun") throw new Error(`${turn.request.executionId}: expected a free id, got a known turn.`);
  return begun.writer;
}

/** Begins a turn and ends it. */
export async function beginAndEnd(journal: TurnJournal, turn: TurnToBegin, end: JournalEntry): Promise<void> {
  const writer = await begin(journal, turn);
  await writer.write([end], progressOf(9));
}

/** What a write or a watcher rejects with; undefined when it does not reject. */
export async function rejectionOf(operation: Promise<unknown>): Promise<unknown> {
  try {
    await operation;
  } catch (error) {
    return error;
  }
  return undefined;
}

/** A signal that is never aborted. */
export function noAbort(): AbortSignal {
  return new AbortController().signal;
}

/** The reason of a signal, once it is aborted. */
export async function reasonOf(signal: AbortSignal): Promise<unknown> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  return signal.reason;
}

/** The sequences of a journal's events, read to the end. */
export async function sequencesOf(events: AsyncIterable<TurnEvent>): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of events) sequences.push(sequence);
  return sequences;
}
