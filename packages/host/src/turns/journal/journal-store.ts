import type { Transaction } from "kysely";
import {
  principalKey,
  type AccessContext,
  type JsonObject,
  type PrincipalRef,
  type TurnEvent,
  type TurnRequest,
  type TurnStatus,
} from "turnpike/contracts";
import type { CallOptions } from "turnpike/kernel";
import { TurnPause, type KnownTurn, type TurnJournal, type TurnPen } from "turnpike/runtime";
import { limitSettings } from "../../base/index.ts";
import { createUnkeptWrites, turnFingerprint, type Ledger, type OpenTurnLimits } from "../../ledger/index.ts";
import type { Database, Schema } from "../../storage/index.ts";
import { followTurn } from "./follow.ts";
import { findLiveTurns, listLiveTurns, type LiveTurnRow } from "./live-turns.ts";
import { JournalPen, turnTaken, type PenListener, type RunStart } from "./pen.ts";
import { createTurnCounts, type TurnCounts } from "./count-turns.ts";
import { requireRoom } from "./open-turns.ts";
import { preludeOf } from "./prelude.ts";
import { createTurnReader } from "./read-turns.ts";
import { createTurnTaking, isRunning } from "./take-turns.ts";
import { createTurnNews } from "./turn-news.ts";
import { newTurnRow, operatedTurn, stateOf, type OperatedTurn, type TurnId, type TurnRow } from "./turn-rows.ts";
import type { QuestionAnswer } from "./question-answer.ts";
import { createTurnWaking } from "./wake-turns.ts";

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

/** The journal of turns of a host, for their callers, for operators, and for whoever goes on with turns. */
export interface TurnJournalStore extends TurnJournal, TurnCounts {
  /** What is known under the id of a turn that is about to begin; undefined when the id is free. */
  known(context: AccessContext, request: TurnRequest): Promise<KnownTurn | undefined>;
  /** The pen of the next run of a turn, unless somebody who lives runs it, it waits, or it has ended. */
  take(id: TurnId): Promise<JournalPen | undefined>;
  /** Turns that should run and that nobody runs, at most so many. Has to be asked often: a dead host is noticed by it. */
  unattended(limit: number): Promise<TurnId[]>;
  /** Leaves a turn without an end, so that it is taken again, by anybody. */
  leave(pen: TurnPen): Promise<void>;
  wakeAnswered(transaction: Transaction<Schema>, answer: QuestionAnswer): Promise<TurnId[]>;
  wakeExpired(now: string, limit: number): Promise<TurnId[]>;
  wakeMissed(limit: number, now?: string): Promise<TurnId[]>;
  /** Turns that this process runs and that were cancelled; their pens are told by this. */
  cancelled(): Promise<TurnId[]>;
  /** Lets the runs of this process stop before their next call or step, and ends every `follow`: the host stops soon. */
  pauseAll(): void;
  /** Stops all runs of this process: a `TurnPause` says that the turns go on later. */
  stopAll(reason: Error): void;
  /** Tries a last time to write what could not be written. */
  close(): Promise<void>;
  /** The newest first; a page ends early when it has read very many events. */
  listAll(filter: OperatorTurnFilter): Promise<{ turns: OperatedTurn[]; next?: string }>;
  /** The turns of a tenant that run, that wait, or that ended after an instant; the newest of each. */
  listLive(namespaceId: string, endedAfter: string): Promise<LiveTurnRow[]>;
  /** These turns, as far as they are still there. */
  findLive(ids: readonly TurnId[]): Promise<LiveTurnRow[]>;
  /** The turn under an execution id with its events so far; of any actor's, the newest, unless the actor is given. */
  findBy(
    namespaceId: string,
    executionId: string,
    actor?: OperatedTurn["actor"],
  ): Promise<(OperatedTurn & { events: readonly TurnEvent[] }) | undefined>;
}

export interface TurnJournalOptions {
  /** What is kept of the caller's credential, to know it again when the turn goes on. */
  credentialOf?(call: CallOptions): JsonObject | undefined;
  /** A monotonic clock in milliseconds. */
  now?(): number;
  /** What an actor's turns that have not ended may come to; 1,000 turns and 64 MiB unless given. */
  most?: OpenTurnLimits;
}

const defaultMost: OpenTurnLimits = {
  turns: limitSettings.openTurns.default,
  bytes: limitSettings.openTurnBytes.default,
};

/** Opens the journal. Whatever runs write goes through the ledger. */
export function createTurnJournal(
  database: Database,
  ledger: Ledger,
  { credentialOf = () => undefined, now = () => performance.now(), most = defaultMost }: TurnJournalOptions = {},
): TurnJournalStore {
  const { db, hostId } = database;
  const reader = createTurnReader(database);
  /** The runs of this process; undefined for one that is about to begin. */
  const pens = new Map<TurnId, JournalPen | undefined>();
  const news = createTurnNews(reader, (id) => pens.has(id));
  /** Ends of turns that their callers were told of. */
  const unkept = createUnkeptWrites();
  const listener: PenListener = {
    onKept: news.tell,
    onOver(pen) {
      if (pens.get(pen.id) === pen) pens.delete(pen.id);
      news.tell(pen.id);
    },
    onUnkept(pen, write) {
      unkept.add(pen.id, { write: () => write().then(() => listener.onOver(pen)) });
    },
  };
  const pausing = new AbortController();
  const openPen = (start: Omit<RunStart, "pauses">): JournalPen => {
    // A run that lost its turn to another host and has not noticed it yet.
    pens.get(start.id)?.halt(turnTaken());
    const pen = new JournalPen(ledger, { ...start, pauses: pausing.signal }, listener);
    pens.set(pen.id, pen);
    return pen;
  };
  const stateWithEvents = async (row: TurnRow) => stateOf(row, await reader.eventsOfResult(row));
  const knownTurn = async (row: TurnRow, fingerprint: string): Promise<KnownTurn> => ({
    state: await stateWithEvents(row),
    isAsync: row.is_async === 1,
    isSame: row.fingerprint === fingerprint,
  });

  return {
    ...createTurnCounts(database),
    ...createTurnWaking(database, news.tell),
    ...createTurnTaking(database, reader, { pens, openPen, now }),
    async begin(turn, call) {
      const credential = credentialOf(call);
      const row = newTurnRow(turn, credential, most);
      const { namespaceId, actor } = turn.context;
      const key = { namespaceId, actor, executionId: turn.request.executionId };
      const submission = { begins: row, alternatives: [{ entries: preludeOf(call) }] };
      for (;;) {
        // Before the answer comes: whoever looks for turns that nobody runs must not find this one.
        pens.set(row.id, undefined);
        const isBegun = await ledger.submit(submission).then(
          ({ kind }) => kind === "kept",
          (error: unknown) => {
            pens.delete(row.id);
            throw error;
          },
        );
        if (isBegun) {
          const progress = { at: turn.startedAt, steps: 0, toolCalls: 0, ranMs: 0 };
          const start = { id: row.id, run: 1, turn, credential, kept: [], progress };
          return { kind: "begun", pen: openPen({ ...start, entries: 0, events: 0, bytes: row.bytes }) };
        }
        pens.delete(row.id);
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
      // One that waits runs again, for whoever takes it to end it.
      await db.transaction().execute(async (transaction) => {
        const { numUpdatedRows } = await transaction
          .updateTable("turns")
          .set(({ ref, eb }) => ({
            is_cancelled: 1,
            updated_at: new Date().toISOString(),
            host_id: eb.case().when("status", "=", "waiting").then(null).else(ref("host_id")).end(),
            status: "running",
            waiting: null,
          }))
          .where("id", "=", row.id)
          .where("completed_at", "is", null)
          .executeTakeFirst();
        if (numUpdatedRows > 0n) await transaction.deleteFrom("turn_questions").where("turn", "=", row.id).execute();
      });
      pens.get(row.id)?.halt(cancellation());
      news.tell(row.id);
      const changed = await reader.byId(row.id);
      return changed && stateWithEvents(changed);
    },
    async leave(pen) {
      const { id, run } = pen as JournalPen;
      (pen as JournalPen).close(new TurnPause("This run has left the turn."));
      const own = db.updateTable("turns").set({ host_id: null }).where("id", "=", id).where("run", "=", run);
      await own.where("host_id", "=", hostId).execute();
      news.tell(id);
    },
    async cancelled() {
      const own = db.selectFrom("turns").select("id").where(isRunning).where("host_id", "=", hostId);
      const ids = (await own.where("is_cancelled", "=", 1).execute()).map(({ id }) => id);
      for (const id of ids) pens.get(id)?.halt(cancellation());
      return ids.filter((id) => pens.has(id));
    },
    close: () => unkept.close(),
    pauseAll: () => pausing.abort(new TurnPause("The host stops.")),
    stopAll(reason) {
      for (const pen of pens.values()) pen?.halt(reason);
    },
    async listAll({ namespaceId, namespaces, actor, ...filter }) {
      const tenants = namespaceId === undefined ? namespaces : [namespaceId];
      const page = await reader.page({ ...filter, namespaces: tenants, actor: actor && principalKey(actor) });
      return { ...page, turns: page.turns.map(({ row, events }) => operatedTurn(row, events)) };
    },
    listLive: (namespaceId, endedAfter) => listLiveTurns(database, namespaceId, endedAfter),
    findLive: (ids) => findLiveTurns(database, ids),
    async findBy(namespaceId, executionId, actor) {
      const found = await reader.newest(namespaceId, executionId, actor);
      return found && { ...operatedTurn(found.row, found.events), events: found.events };
    },
  };
}

function cancellation(): Error {
  return new Error("The turn was cancelled.");
}

/** Frees the key of a turn that was refused at its admission, so that it can be begun again. */
async function removeRefused({ db }: Database, id: TurnId): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom("turns").where("id", "=", id).execute();
    await transaction.deleteFrom("turn_entries").where("turn", "=", id).execute();
  });
}
