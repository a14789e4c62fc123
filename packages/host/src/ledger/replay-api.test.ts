import { describe, expect, test } from "vitest";
import { turn } from "../../test/counting-api.ts";
import { context } from "../../test/records.ts";
import { turnFingerprint } from "./replay-api.ts";

describe("the fingerprint of a turn", () => {
  const first = turnFingerprint(context(), turn);
  const { message } = turn;

  test("is the same whenever its message was made", () => {
    const later = { ...turn, message: { ...message, createdAt: "2026-02-02T00:00:00Z" } };
    expect(turnFingerprint(context({ now: later.message.createdAt }), later)).toBe(first);
  });

  for (const { name, changed } of [
    { name: "id", changed: { ...turn, executionId: "another" } },
    { name: "message", changed: { ...turn, message: { ...message, id: "another" } } },
    { name: "text", changed: { ...turn, message: { ...message, payload: "another" } } },
  ])
    test(`is another with another ${name}`, () => {
      expect(turnFingerprint(context(), changed)).not.toBe(first);
    });

  test("is another for another actor", () => {
    expect(turnFingerprint(context({ owner: { kind: "human", userId: "olivia" } }), turn)).not.toBe(first);
  });
});
