import { ReturnOverride } from "./return-override.ts";

/** Marks the promise itself, because a `WeakMap` that gets the promise of every call would cost more than to await them. */
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

/** Remembers what one reader read from settled promises, so that it need not await a promise that it gets again. */
export class KnownAnswers<T> {
  /** The value of a promise that was remembered; undefined for any other value, also one that is no promise. */
  of(promise: unknown): T | undefined {
    if (typeof promise !== "object" || promise === null) return undefined;
    return Answer.read(promise, this) as T | undefined;
  }

  /** Remembers a value, which must never change. */
  remember(promise: object, value: T): void {
    if (Object.isExtensible(promise) && !Answer.isOn(promise)) void new Answer(promise, this, value);
  }
}
