import type { SqlValue, Step } from "../../../packages/host/src/storage/steps.ts";
import type { Storage } from "./storage.ts";

const journals = /^insert into turn_entries/;
/** What a host asks that takes a turn, or ends a claim, of another. */
const takes = /^update ("turns" set "host_id"|"replay" set "finished_at")/;

/**
 * Watches who writes the journals of turns. INVARIANT: the host that had the turn when its transaction began, and no one else.
 * That two hosts write one journal need not be seen in its entries: where both write the same place, one of them fails.
 */
export class TurnOwners {
  readonly #storage: Storage;
  readonly #violated: (what: string) => void;
  readonly #onTaken: ((by: number) => void)[] = [];
  /** What the open transaction has written to journals of others. */
  #strange: string[] = [];

  constructor(storage: Storage, violated: (what: string) => void) {
    [this.#storage, this.#violated] = [storage, violated];
  }

  /** Reports when a host takes a turn, or ends a claim, of another. */
  onTaken(listener: (by: number) => void): void {
    this.#onTaken.push(listener);
  }

  /** Checks what a host is about to run. */
  before(hostId: number, steps: readonly Step[]): void {
    if (steps[0]?.sql === "begin immediate") this.#strange = [];
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
