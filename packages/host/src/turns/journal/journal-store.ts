import type { Transaction } from "kysely";
import {
  principalKey,
  samePrincipal,
  type AccessContext,
  type JsonObject,
  type PrincipalRef,
  type TurnEvent,
  type TurnRequest,
  type TurnResult,
  type TurnStatus,
} from "turnpike/contracts";
import { OutdatedReadsError, type CallOptions } from "turnpike/kernel";
import { TurnPause, type KnownTurn, type TurnJournal, type RunWriter } from "turnpike/runtime";
import { limitSettings } from "../../shared/index.ts";
import { createRetryQueue, entryOf, turnFingerprint, type Ledger, type OpenTurnLimits } from "../../ledger/index.ts";
import { currentBasis, lockRevision, type Database, type Schema } from "../../storage/index.ts";
import { followTurn } from "./follow.ts";
import { findLiveTurns, listLiveTurns, type LiveTurnRow } from "./live-turns.ts";
import { LedgerRunWriter, turnTaken, type RunWriterListener, type RunStart } from "./run-writer.ts";
import { createTurnCounts, type TurnCounts } from "./count-turns.ts";
import { requireRoom } from "./open-turns.ts";
import { createTurnReader } from "./read-turns.ts";
import { createTurnTaking, isRunning } from "./take-turns.ts";
import { createTurnNews } from "./turn-news.ts";
import { newTurnRow, operatedTurn, stateOf, type OperatedTurn, type TurnId, type TurnRow } from "./turn-rows.ts";
import type { EscalationAnswer } from "./escalation-answer.ts";
import { listOpenTurns, type OpenTurnsPage, type StartingCredential } from "./turns-of-credential.ts";
import { createTurnWaking } from "./wake-turns.ts";

/**
 * What the caller of a synchronous turn may be told: its result; that it is not known what came of it, because another host has ended the
 * turn, or may have, when it held this one for dead; or that it has not ended, as far as can be read, and ends as its journal says.
 */
export type Telling = "result" | "interrupted" | "pending";

/** Which turns operators list. */
interface OperatorTurnFilter {
  /** Of one tenant. */
  namespaceId?: string | undefined;
  /** Of these tenants; of all of them when neither is given. */
  namespaces?: readonly string[] | undefined;
  /** Of one actor; only together with tenants. */
  actor?: PrincipalRef | undefined;
  /** Started at this instant or later. */
  from?: string | undefined;
  /** Started before this instant. */
  until?: string | undefined;
  statuses?: readonly TurnStatus[] | undefined;
  limit: number;
  before?: string | undefined;
}

/** The journal of turns of a host, for their callers, for operators, and for the engine that resumes turns. */
export interface TurnJournalStore extends TurnJournal, TurnCounts {
  /** What is known under the id of a turn that is about to begin; undefined when the id is free. */
  known(context: AccessContext, request: TurnRequest): Promise<KnownTurn | undefined>;
  /**
   * Waits until it is known whether the result of a synchronous turn may be told. Where a host has the database for itself, it may be told
   * at once.
   */
  mayTell(context: AccessContext, request: TurnRequest, result: TurnResult): Promise<Telling>;
  /** The writer of the next run of a turn, unless a living host runs it, it waits, or it has ended. */
  take(id: TurnId): Promise<LedgerRunWriter | undefined>;
  /** Up to `limit` turns that should run and that no host runs. It has to be called often, because it detects dead hosts. */
  unattended(limit: number): Promise<TurnId[]>;
  /** Leaves a turn without an end, so that any host can take it again. */
  leave(writer: RunWriter): Promise<void>;
  wakeAnswered(transaction: Transaction<Schema>, answer: EscalationAnswer): Promise<TurnId[]>;
  wakeExpired(now: string, limit: number): Promise<TurnId[]>;
  wakeMissed(limit: number, now?: string): Promise<TurnId[]>;
  /** Turns that this process runs and that were cancelled. Their writers are halted by this. */
  cancelled(): Promise<TurnId[]>;
  /** Makes the runs of this process stop before their next call or step, and ends every `follow`, because the host stops soon. */
  pauseAll(): void;
  /** Makes asynchronous runs stop in the same way, and leaves those that have stopped to other hosts. It has to be called often, until `resume`. */
  letGo(): Promise<void>;
  /** Lets turns that this host takes from now on run again. */
  resume(): void;
  /** Stops all runs of this process. With a `TurnPause` the turns are resumed later. */
  stopAll(reason: Error): void;
  /** Retries all failed writes a last time. */
  close(): Promise<void>;
  /** The newest first; a page ends early when it has read very many events. */
  listAll(filter: OperatorTurnFilter): Promise<{ turns: OperatedTurn[]; next?: string }>;
  /** A page of the turns that were started or tried with a credential and have neither ended nor been cancelled, by age. */
  listOpenOf(credential: StartingCredential, page: OpenTurnsPage): Promise<{ turns: OperatedTurn[]; next?: string }>;
  /** The turns of a tenant that run, that wait, or that ended after an instant; the newest of each. */
  listLive(namespaceId: string, endedAfter: string): Promise<LiveTurnRow[]>;
  /** These turns, as far as they still exist. */
  findLive(ids: readonly TurnId[]): Promise<LiveTurnRow[]>;
  /** The turn with an execution id, with its events so far. Without an actor, the newest of any actor. */
  findBy(
    namespaceId: string,
    executionId: string,
    actor?: OperatedTurn["actor"],
  ): Promise<(OperatedTurn & { events: readonly TurnEvent[] }) | undefined>;
}

export interface TurnJournalOptions {
  /** What is stored of the caller's credential, to check it again when the turn is resumed. */
  credentialOf?(call: CallOptions): JsonObject | undefined;
  /** The limit of an actor's open turns; 1,000 turns and 64 MiB unless given. */
  most?: OpenTurnLimits;
  /** Called for an asynchronous turn that is cancelled, in its transaction, with the escalations that it waited for. */
  onCancelled?(
    transaction: Transaction<Schema>,
    turn: Pick<TurnRow, "namespace_id" | "execution_id" | "actor"> & { escalations: readonly string[] },
    at: string,
  ): Promise<unknown>;
}

const defaultMost: OpenTurnLimits = {
  turns: limitSettings.openTurns.default,
  bytes: limitSettings.openTurnBytes.default,
};

/** How many turns one statement reads. */
const atOnce = 1_000;

/** Opens the journal. Runs write through the ledger. */
export function createTurnJournal(
  database: Database,
  ledger: Ledger,
  { credentialOf = () => undefined, most = defaultMost, onCancelled }: TurnJournalOptions = {},
): TurnJournalStore {
  const { db, hostId } = database;
  const pauseRuns = (why: string): void => runPauses.abort(new TurnPause(why));
  const reader = createTurnReader(database);
  /** The runs of this process; undefined for one that is about to begin. */
  const writers = new Map<TurnId, LedgerRunWriter | undefined>();
  const news = createTurnNews(reader, (id) => writers.has(id));
  /** Ends of turns that could not be written, although their callers have the result. */
  const retryQueue = createRetryQueue();
  /** The writers of ends that were stored by no retry: another run has the turn. */
  const fenced = new WeakSet<LedgerRunWriter>();
  const listener: RunWriterListener = {
    onWritten: news.tell,
    onOver(writer) {
      if (writers.get(writer.id) === writer) writers.delete(writer.id);
      news.tell(writer.id);
    },
    onWriteFailed(writer, write) {
      const end = async (): Promise<void> => {
        const isWritten = (await write()).kind === "written";
        if (!isWritten && !(await hasEndedBy(database, writer))) fenced.add(writer);
        listener.onOver(writer);
      };
      retryQueue.add(writer.id, { write: end });
    },
  };
  const pausing = new AbortController();
  /** Fires with `pausing`, and while this host lets its turns go. */
  let runPauses = new AbortController();
  const openWriter = (start: Omit<RunStart, "pauses">): LedgerRunWriter => {
    // Halts an earlier run of the turn in this process, which has lost the turn and not noticed it yet.
    writers.get(start.id)?.halt(turnTaken());
    const writer = new LedgerRunWriter(ledger, { ...start, pauses: runPauses.signal }, listener);
    writers.set(writer.id, writer);
    return writer;
  };
  /** Halts the runs whose turns other hosts have taken. A run notices that by itself only when it writes. */
  const haltTaken = async (): Promise<void> => {
    const running = [...writers.values()].flatMap((writer) => writer ?? []);
    for (let from = 0; from < running.length; from += atOnce) {
      const ids = running.slice(from, from + atOnce).map(({ id }) => id);
      const rows = await db.selectFrom("turns").select(["id", "run"]).where("id", "in", ids).execute();
      for (const { id, run } of rows) {
        const writer = writers.get(id);
        if (writer !== undefined && writer.run < run) writer.halt(turnTaken());
      }
    }
  };
  // One that fails leaves the runs to their next write.
  database.onReturn(() => void haltTaken().catch(() => {}));
  const taking = createTurnTaking(database, reader, { writers, openWriter });
  const stateWithEvents = async (row: TurnRow) => stateOf(row, await reader.eventsOfResult(row));
  const knownTurn = async (row: TurnRow, fingerprint: string): Promise<KnownTurn> => ({
    state: await stateWithEvents(row),
    isAsync: row.is_async === 1,
    isSame: row.fingerprint === fingerprint,
  });

  return {
    ...createTurnCounts(database),
    ...createTurnWaking(database, news.tell),
    unattended: taking.unattended,
    take: taking.take,
    async begin(turn, call) {
      const credential = credentialOf(call);
      const row = newTurnRow(turn, credential, most);
      const { namespaceId, actor } = turn.context;
      const key = { namespaceId, actor, executionId: turn.request.executionId };
      const alternatives = [{ entries: (call.writes?.pendingEvents ?? []).map(entryOf) }];
      for (;;) {
        // Set before the ledger answers, so that a poll for turns without a run does not find this one.
        writers.set(row.id, undefined);
        const { kind } = await ledger
          .submit({ begins: row, alternatives, basis: currentBasis() })
          .catch((error: unknown) => {
            writers.delete(row.id);
            throw error;
          });
        if (kind === "written") {
          const progress = { at: turn.startedAt, steps: 0, toolCalls: 0, ranMs: 0 };
          const start = { id: row.id, run: 1, turn, credential, stored: [], progress };
          return { kind: "begun", writer: openWriter({ ...start, entries: 0, events: 0, bytes: row.bytes }) };
        }
        writers.delete(row.id);
        if (kind === "outdated") throw new OutdatedReadsError();
        const known = await reader.byTakenKey(key);
        if (known === undefined) {
          await requireRoom(database, row);
          continue;
        }
        if (known.is_refused === 1) {
          await removeRefused(database, known.id);
          continue;
        }
        return { kind: "known", ...(await knownTurn(known, row.fingerprint)) };
      }
    },
    async known(context, request) {
      const { namespaceId, actor } = context;
      const row = await reader.byTakenKey({ namespaceId, actor, executionId: request.executionId });
      if (row === undefined || row.is_refused === 1) return undefined;
      return knownTurn(row, turnFingerprint(context, request));
    },
    async mayTell({ namespaceId, actor }, { executionId }, result) {
      if (!database.isShared) return "result";
      const unstored = [...writers.values()].find(
        (writer) =>
          writer !== undefined &&
          retryQueue.get(writer.id) !== undefined &&
          writer.turn.request.executionId === executionId &&
          writer.turn.context.namespaceId === namespaceId &&
          samePrincipal(writer.turn.context.actor, actor),
      );
      if (unstored !== undefined)
        return (await retryQueue.written(unstored.id, database.isPresent)) && !fenced.has(unstored)
          ? "result"
          : "interrupted";
      if (!isUnwritten(result)) return "result";
      // The run could not write any more, so the turn ends in another way, unless this result was stored after all or the turn was refused.
      const row = await reader.byTakenKey({ namespaceId, actor, executionId }).catch(() => null);
      if (row === null) return "pending";
      if (row === undefined || row.is_refused === 1) return "result";
      if (row.result === null) return "pending";
      return isUnwritten(JSON.parse(row.result) as TurnResult) ? "result" : "interrupted";
    },
    async find(key) {
      const row = await reader.byKey(key);
      return row && stateWithEvents(row);
    },
    async list({ namespaceId, actor }, filter) {
      const page = await reader.page({ ...filter, namespaces: [namespaceId], actor: principalKey(actor) });
      return { ...page, turns: page.turns.map(({ row, events }) => stateOf(row, events)) };
    },
    async events(key, after) {
      const row = await reader.byKey(key);
      return row === undefined ? [] : reader.eventsOf(row, after);
    },
    async *follow(key, after, signal): AsyncGenerator<TurnEvent> {
      const row = await reader.byKey(key);
      if (row !== undefined) yield* followTurn({ reader, news, closes: pausing.signal }, row, after, signal);
    },
    async cancel(key) {
      const row = await reader.byKey(key);
      if (row === undefined || row.completed_at !== null) return row && stateWithEvents(row);
      // A waiting turn becomes a running one, so that the next host that takes it ends it.
      await db.transaction().execute(async (transaction) => {
        // An answer locks an escalation and then its turns. This locks a turn and then its escalations, so both take this lock first.
        await lockRevision(transaction, database.kind);
        const at = new Date().toISOString();
        const { numUpdatedRows } = await transaction
          .updateTable("turns")
          .set(({ ref, eb }) => ({
            is_cancelled: 1,
            updated_at: at,
            host_id: eb.case().when("status", "=", "waiting").then(null).else(ref("host_id")).end(),
            status: "running",
            waiting: null,
          }))
          .where("id", "=", row.id)
          .where("completed_at", "is", null)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return;
        const own = transaction.deleteFrom("turn_questions").where("turn", "=", row.id).returning("question_id");
        const escalations = (await own.execute()).map(({ question_id }) => question_id);
        if (row.is_async === 1) await onCancelled?.(transaction, { ...row, escalations }, at);
      });
      writers.get(row.id)?.halt(cancellation());
      news.tell(row.id);
      const changed = await reader.byId(row.id);
      return changed && stateWithEvents(changed);
    },
    async leave(writer) {
      const { id, run } = writer as LedgerRunWriter;
      (writer as LedgerRunWriter).close(new TurnPause("This run has left the turn."));
      const own = db.updateTable("turns").set({ host_id: null }).where("id", "=", id).where("run", "=", run);
      await own.where("host_id", "=", hostId).execute();
      news.tell(id);
    },
    async cancelled() {
      const own = db.selectFrom("turns").select("id").where(isRunning).where("host_id", "=", hostId);
      const ids = (await own.where("is_cancelled", "=", 1).execute()).map(({ id }) => id);
      for (const id of ids) writers.get(id)?.halt(cancellation());
      return ids.filter((id) => writers.has(id));
    },
    close: () => retryQueue.close(),
    pauseAll() {
      pausing.abort(new TurnPause("The host stops."));
      pauseRuns("The host stops.");
    },
    async letGo() {
      pauseRuns("Another host goes on with the turn.");
      await taking.giveUp();
    },
    resume() {
      if (!pausing.signal.aborted) runPauses = new AbortController();
    },
    stopAll(reason) {
      for (const writer of writers.values()) writer?.halt(reason);
    },
    async listAll({ namespaceId, namespaces, actor, ...filter }) {
      const tenants = namespaceId === undefined ? namespaces : [namespaceId];
      const page = await reader.page({ ...filter, namespaces: tenants, actor: actor && principalKey(actor) });
      return { ...page, turns: page.turns.map(({ row, events }) => operatedTurn(row, events)) };
    },
    listOpenOf: (credential, page) => listOpenTurns(database, credential, page),
    listLive: (namespaceId, endedAfter) => listLiveTurns(database, namespaceId, endedAfter),
    findLive: (ids) => findLiveTurns(database, ids),
    async findBy(namespaceId, executionId, actor) {
      const found = await reader.newest(namespaceId, executionId, actor);
      return found && { ...operatedTurn(found.row, found.events), events: found.events };
    },
  };
}

/** Whether a turn has ended by a run: then only the answer to the write of its end was lost. */
async function hasEndedBy({ db }: Database, { id, run }: LedgerRunWriter): Promise<boolean> {
  const row = await db.selectFrom("turns").select(["run", "completed_at"]).where("id", "=", id).executeTakeFirst();
  return row?.run === run && row.completed_at !== null;
}

/** Whether a result says that the journal could not be written. */
function isUnwritten(result: TurnResult): boolean {
  return "error" in result && result.error?.code === "audit_unavailable";
}

function cancellation(): Error {
  return new Error("The turn was cancelled.");
}

/** Frees the key of a turn that was refused at its admission, so that it can begin again. */
async function removeRefused({ db }: Database, id: TurnId): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom("turns").where("id", "=", id).execute();
    await transaction.deleteFrom("turn_entries").where("turn", "=", id).execute();
  });
}
