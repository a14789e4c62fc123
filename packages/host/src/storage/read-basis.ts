import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The revision that the reads of one call rest on, while it is not known whether it still is the newest one. INVARIANT: nothing
 * happens because of such reads before the basis is confirmed: by a question that is asked after the call has begun, or by the
 * write that makes the call happen.
 */
export class ReadBasis {
  readonly revision: number;
  #state: "open" | "confirmed" | "outdated" = "open";

  constructor(revision: number) {
    this.revision = revision;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  get isOutdated(): boolean {
    return this.#state === "outdated";
  }

  /** Lets the reads count, because they were confirmed, or because nothing comes of the call that rests on them. */
  confirm(): void {
    if (this.#state === "open") this.#state = "confirmed";
  }

  /** Settles the basis by the revision that was the newest one at an instant after the call had begun. */
  settle(newest: number): void {
    if (this.#state === "open") this.#state = newest === this.revision ? "confirmed" : "outdated";
  }

  /** The call is to be tried again, whatever the newest revision is. */
  abandon(): void {
    if (this.#state === "open") this.#state = "outdated";
  }
}

const bases = new AsyncLocalStorage<ReadBasis | undefined>();

/** The basis of the running call, until it is confirmed; undefined for a call that asks before it reads. */
export function currentBasis(): ReadBasis | undefined {
  const basis = bases.getStore();
  return basis?.isOpen === true || basis?.isOutdated === true ? basis : undefined;
}

/** Runs a call that rests on a basis, or, without one, that asks before each read. */
export function onBasis<T>(basis: ReadBasis | undefined, act: () => Promise<T>): Promise<T> {
  return bases.run(basis, act);
}
