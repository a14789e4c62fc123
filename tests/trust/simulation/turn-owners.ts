import type { SqlValue, Step } from "../../../packages/host/src/storage/steps.ts";
import type { Storage } from "./storage.ts";

const journals = /^insert into turn_entries/;
/** What a host asks that begins or ends something for a caller. */
const callsAndTurns = /^insert into (replay|turns|turn_entries) |^update replay set/;
/** What a host asks that takes a turn, or ends a claim, of another. */
const takes = /^update ("turns" set "host_id"|"replay" set "finished_at")/;

/**
 * Watches who writes the journals of turns, and who writes at all. INVARIANT: the host that had the turn when its transaction began, and no one else.
 * That two hosts write one journal need not be seen in its entries: where both write the same place, one of them fails.
 */
export class TurnOwners {
  readonly #storage: Storage;
  readonly #violated: (what: string) => void;
  readonly #onTaken: ((by: number) => void)[] = [];
  /** Hosts of a version for which the storage is not any more. */
  readonly #excluded = new Set<number>();
  /** What the open transaction has written to journals of others. */
  #strange: string[] = [];

  constructor(storage: Storage, violated: (what: string) => void) {
    [this.#storage, this.#violated] = [storage, violated];
  }

  /** Reports when a host takes a turn, or ends a claim, of another. */
  onTaken(listener: (by: number) => void): void {
    this.#onTaken.push(listener);
  }

  /** From here on a host may begin and end nothing: a newer version has changed the storage. */
  exclude(hostId: number): void {
    this.#excluded.add(hostId);
  }

  /** Checks what a host is about to run. */
  before(hostId: number, steps: readonly Step[]): void {
    if (steps[0]?.sql === "begin immediate") this.#strange = [];
    const written =
      this.#excluded.has(hostId) && steps.find(({ sql, rows }) => rows.length > 0 && callsAndTurns.test(sql));
    if (written)
      this.#strange.push(`host ${hostId} wrote to a storage that a newer version has changed: ${written.sql}`);
    for (const { sql, rows } of steps)
      if (journals.test(sql)) for (const turn of new Set(rows.map(([id]) => id))) this.#check(hostId, turn);
  }

  /** Checks what a host has run. */
  after(hostId: number, steps: readonly Step[]): void {
    if (steps.at(-1)?.sql === "commit") for (const what of this.#strange.splice(0)) this.#violated(what);
    if (steps.some(({ sql }) => takes.test(sql))) for (const listener of this.#onTaken) listener(hostId);
  }

  #check(hostId: number, turn: unknown): void {
    // What is committed: how it was when the transaction began. One that is begun in it is not there yet.
    const [row] = this.#storage.rows<{ host_id: number | null }>(
      "select host_id from turns where id = ?",
      turn as SqlValue,
    );
    if (row !== undefined && row.host_id !== hostId)
      this.#strange.push(`host ${hostId} wrote the journal of ${String(turn)}, which host ${row.host_id} has`);
  }
}
