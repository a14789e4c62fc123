import { principalKey, type PrincipalRef, type TurnEvent, type TurnStatus } from "turnpike/contracts";
import type { TurnKey } from "turnpike/runtime";
import { columnText } from "../../shared/index.ts";
import type { Database, Schema } from "../../storage/index.ts";
import { eventsOfRow, turnIdAt, type TurnId, type TurnRow } from "./turn-rows.ts";

/** Which turns to list: of one tenant or of some, of one actor or of all. */
export interface TurnSelection {
  /** Of every tenant when absent. */
  namespaces?: readonly string[] | undefined;
  /** Only together with one tenant. */
  actor?: string | undefined;
  /** In any state when absent. */
  statuses?: readonly TurnStatus[] | undefined;
  /** Only those that started at this instant or later. */
  from?: string | undefined;
  /** Only those that started before this instant. */
  until?: string | undefined;
  limit: number;
  /** The `next` of the page before. */
  before?: string | undefined;
}

/** A page of turns with the events of those that have ended. */
export interface TurnPage {
  turns: { row: TurnRow; events: readonly TurnEvent[] }[];
  next?: string;
}

/** An event, and its position in the turn. */
export interface PlacedEvent {
  position: number;
  event: TurnEvent;
}

type EventRow = Pick<Schema["turn_entries"], "position" | "kind" | "content">;

/** How many events are read for one page. */
const maxPageEvents = 20_000;

/** How far the id of a turn may be from its start. */
const idSlackMs = 60_000;

const keySql = "select * from turns where namespace_id = $1 and execution_id = $2 and actor = $3";
const takenSql = "select * from turns where namespace_id = $1 and execution_id = $2 and actor in ($3, '')";
const idSql = "select * from turns where id = $1";
/** A row has the sequence of its last event, so no rows before `after` are read. */
const eventsSql = `select position, kind, content from turn_entries where turn = $1 and position > $2 and sequence > $3
  order by position limit $4`;

/** The largest value of a column. A caller's cursor may be greater. */
const lastPlace = 2 ** 31 - 1;

/** Reads turns of all tenants. */
export function createTurnReader({ read, reporting }: Pick<Database, "read" | "reporting">) {
  const keyOf = ({ namespaceId, actor, executionId }: TurnKey): string[] => [
    columnText(namespaceId),
    columnText(executionId),
    columnText(principalKey(actor)),
  ];
  /** The events of so many rows. */
  const eventsAfter = async (
    turn: TurnId,
    { position, sequence }: { position: number; sequence: number },
    most: number,
  ): Promise<PlacedEvent[]> => {
    const behind = [position, sequence].map((place) => Math.min(place, lastPlace));
    const rows = await read<EventRow>(eventsSql, [turn, ...behind, most]);
    return rows.flatMap((row) =>
      eventsOfRow(row)
        .filter((event) => event.sequence > sequence)
        .map((event) => ({ position: row.position, event })),
    );
  };
  const eventsOf = async (row: Pick<TurnRow, "id">, after = -1): Promise<TurnEvent[]> => {
    const placed = await eventsAfter(row.id, { position: after, sequence: after }, 1_000_000);
    return placed.map(({ event }) => event);
  };

  /** The newest rows of one tenant and state, or of all. */
  const rowsOf = async (
    { actor, from, until, limit, before }: TurnSelection,
    namespaceId: string | undefined,
    status: TurnStatus | undefined,
  ): Promise<TurnRow[]> => {
    let rows = reporting.selectFrom("turns").selectAll().orderBy("id", "desc").limit(limit);
    if (namespaceId !== undefined) rows = rows.where("namespace_id", "=", columnText(namespaceId));
    if (actor !== undefined) rows = rows.where("actor", "=", columnText(actor));
    if (status !== undefined) rows = rows.where("status", "=", status);
    if (before !== undefined) rows = rows.where("id", "<", columnText(before));
    // Ids sort by age, so every index finds them by time. A turn gets its id an instant after it started.
    if (from !== undefined)
      rows = rows.where("id", ">=", turnIdAt(Date.parse(from) - idSlackMs)).where("started_at", ">=", from);
    if (until !== undefined)
      rows = rows.where("id", "<", turnIdAt(Date.parse(until) + idSlackMs)).where("started_at", "<", until);
    return rows.execute();
  };
  const eventsOfAll = async (rows: readonly TurnRow[]): Promise<Map<TurnId, TurnEvent[]>> => {
    const found = new Map<TurnId, TurnEvent[]>();
    const ids = rows.filter(({ events }) => events > 0).map(({ id }) => id);
    if (ids.length === 0) return found;
    const entries = reporting.selectFrom("turn_entries").select(["turn", "kind", "content"]).where("turn", "in", ids);
    for (const row of await entries.where("sequence", "is not", null).orderBy("turn").orderBy("position").execute()) {
      const events = found.get(row.turn) ?? [];
      found.set(row.turn, events);
      events.push(...eventsOfRow(row));
    }
    return found;
  };

  return {
    byId: async (id: TurnId): Promise<TurnRow | undefined> => (await read<TurnRow>(idSql, [id]))[0],
    byKey: async (key: TurnKey): Promise<TurnRow | undefined> => (await read<TurnRow>(keySql, keyOf(key)))[0],
    /** The turn that has a key, including one from before actors were stored, which has it for every actor. */
    byTakenKey: async (key: TurnKey): Promise<TurnRow | undefined> => (await read<TurnRow>(takenSql, keyOf(key)))[0],
    /** For operators: the newest turn under an execution id, of one actor or of any, with its events so far. */
    async newest(
      namespaceId: string,
      executionId: string,
      actor?: PrincipalRef,
    ): Promise<{ row: TurnRow; events: readonly TurnEvent[] } | undefined> {
      let rows = reporting
        .selectFrom("turns")
        .selectAll()
        .where("namespace_id", "=", columnText(namespaceId))
        .where("execution_id", "=", columnText(executionId));
      if (actor !== undefined) rows = rows.where("actor", "=", columnText(principalKey(actor)));
      const [row] = (await rows.execute()).toSorted(newestFirst);
      return row && { row, events: (await eventsOfAll([row])).get(row.id) ?? [] };
    },
    /** A value that changes whenever there is something new to read of a turn. Missing turns are left out. */
    async progressOf(ids: readonly TurnId[]): Promise<ReadonlyMap<TurnId, string>> {
      const rows = await reporting
        .selectFrom("turns")
        .select(["id", "events", "completed_at"])
        .where("id", "in", ids)
        .execute();
      return new Map(rows.map(({ id, events, completed_at }) => [id, `${events} ${completed_at}`]));
    },
    eventsAfter,
    eventsOf,
    /** The events of a turn's result, if it has one. */
    eventsOfResult: async (row: TurnRow): Promise<TurnEvent[]> => (row.result === null ? [] : eventsOf(row)),
    /** One page. Each tenant and each state is read by a query of its own, because each has its own range in an index. */
    async page(selection: TurnSelection): Promise<TurnPage> {
      const { namespaces = [undefined], statuses = [undefined], limit } = selection;
      const wanted = { ...selection, limit: limit + 1 };
      // A state that is named twice is read once. Otherwise its turns would be listed twice.
      const states = [...new Set(statuses)];
      const asked = [...new Set(namespaces)].flatMap((namespaceId) =>
        states.map((status) => rowsOf(wanted, namespaceId, status)),
      );
      const found = (await Promise.all(asked)).flat().toSorted(newestFirst);
      const rows = found.slice(0, pageLength(found, limit));
      const events = await eventsOfAll(rows.filter(({ result }) => result !== null));
      const last = rows.at(-1);
      return {
        turns: rows.map((row) => ({ row, events: events.get(row.id) ?? [] })),
        ...(found.length > rows.length && last !== undefined && { next: last.id }),
      };
    },
  };
}

export type TurnReader = ReturnType<typeof createTurnReader>;

function newestFirst(one: TurnRow, other: TurnRow): number {
  return one.id < other.id ? 1 : -1;
}

/** A page ends early when its turns have very many events, but never before the first turn. */
function pageLength(rows: readonly TurnRow[], limit: number): number {
  let events = 0;
  for (const [place, row] of rows.slice(0, limit).entries()) {
    events += row.result === null ? 0 : row.events;
    if (events > maxPageEvents && place > 0) return place;
  }
  return Math.min(rows.length, limit);
}
