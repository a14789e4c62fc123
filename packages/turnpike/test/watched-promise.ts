/** A promise of the value, and how often it was waited for. */
export function watched<T>(value: T): { promise: Promise<T>; waits: () => number } {
  let waits = 0;
  class Watched extends Promise<T> {
    // Awaiting a plain promise does not call its `then`; what comes out of this one is plain.
    static override get [Symbol.species](): PromiseConstructor {
      return Promise;
    }

    // oxlint-disable-next-line no-thenable -- to see who waits
    override then<A = T, B = never>(
      onValue?: ((value: T) => A | PromiseLike<A>) | null,
      onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
    ): Promise<A | B> {
      waits += 1;
      return super.then(onValue, onError);
    }
  }
  return { promise: Watched.resolve(value) as Promise<T>, waits: () => waits };
}
