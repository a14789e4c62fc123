import { ReturnOverride } from "./return-override.ts";

/** A mark on the promise itself: a `WeakMap` that gets the promise of every call costs more than waiting for them. */
class Answer extends ReturnOverride {
  #reader: object;
  #value: unknown;

  constructor(promise: object, reader: object, value: unknown) {
    super(promise);
    this.#reader = reader;
    this.#value = value;
  }

  static isOn(promise: object): boolean {
    return #reader in promise;
  }

  static read(promise: object, reader: object): unknown {
    return #reader in promise && promise.#reader === reader ? promise.#value : undefined;
  }
}

/** What promises came to, as one reader reads it. One that is given again need not be waited for again. */
export class KnownAnswers<T> {
  /** What is known of a promise; undefined of anything else, whatever foreign code gave in its place. */
  of(promise: unknown): T | undefined {
    if (typeof promise !== "object" || promise === null) return undefined;
    return Answer.read(promise, this) as T | undefined;
  }

  /** Only for what cannot change any more. */
  keep(promise: object, value: T): void {
    if (Object.isExtensible(promise) && !Answer.isOn(promise)) void new Answer(promise, this, value);
  }
}
