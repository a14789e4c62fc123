import { expect, test } from "vitest";
import { KnownAnswers } from "./known-answers.ts";

test("what a promise came to is known to the reader that remembered it, and to no other", () => {
  const [one, other] = [new KnownAnswers<string>(), new KnownAnswers<string>()];
  const promise = Promise.resolve();
  expect(one.of(promise)).toBeUndefined();
  one.remember(promise, "as one reads it");
  expect(one.of(promise)).toBe("as one reads it");
  expect(other.of(promise)).toBeUndefined();
});

test("what was remembered first stays, whichever reader remembers something of the same promise after that", () => {
  const [one, other] = [new KnownAnswers<string>(), new KnownAnswers<string>()];
  const promise = Promise.resolve();
  one.remember(promise, "first");
  one.remember(promise, "second");
  other.remember(promise, "of another");
  expect([one.of(promise), other.of(promise)]).toEqual(["first", undefined]);
});

test("the mark is not to be seen, and a promise that takes none has none", () => {
  const answers = new KnownAnswers<string>();
  const [marked, frozen] = [Promise.resolve(), Object.freeze(Promise.resolve())];
  // Some promises have keys already: those that a tracer of the process puts there.
  const keys = Reflect.ownKeys(marked);
  for (const promise of [marked, frozen]) answers.remember(promise, "known");
  expect(Reflect.ownKeys(marked)).toEqual(keys);
  expect([answers.of(marked), answers.of(frozen)]).toEqual(["known", undefined]);
});

test.each([undefined, null, 7, "promise", {}, []])("of %j nothing is known", (given) => {
  expect(new KnownAnswers<string>().of(given)).toBeUndefined();
});
