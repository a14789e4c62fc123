import { describe, expect, test } from "vitest";
import { createRunningCalls } from "./running-calls.ts";

const origin = { tenant: "acme", credentialId: "c1", session: "s1" };

describe("a cancellation ends a call that runs", () => {
  for (const row of [
    { name: "of the same origin and id", by: origin, id: 1, ends: true },
    { name: "and none of another tenant", by: { ...origin, tenant: "other" }, id: 1, ends: false },
    { name: "and none of another credential", by: { ...origin, credentialId: "c2" }, id: 1, ends: false },
    { name: "and none of another session", by: { ...origin, session: "s2" }, id: 1, ends: false },
    { name: "and none of a session, when it names none", by: { ...origin, session: null }, id: 1, ends: false },
    { name: "and none with another id", by: origin, id: 2, ends: false },
    { name: "and none whose id is a text of the same digits", by: origin, id: "1", ends: false },
  ]) {
    test(row.name, () => {
      const calls = createRunningCalls();
      let isEnded = false;
      calls.begin(origin, 1, () => (isEnded = true));
      calls.cancel(row.by, row.id);
      expect(isEnded).toBe(row.ends);
    });
  }

  test("and neither of two that share an id, as it is unknown which was meant", () => {
    const calls = createRunningCalls();
    const ended: string[] = [];
    const endFirst = calls.begin(origin, 1, () => ended.push("first"));
    calls.begin(origin, 1, () => ended.push("second"));
    calls.cancel(origin, 1);
    expect(ended).toEqual([]);
    endFirst();
    calls.cancel(origin, 1);
    expect(ended).toEqual(["second"]);
  });

  test("and none that has ended", () => {
    const calls = createRunningCalls();
    const ended: string[] = [];
    calls.begin(origin, 1, () => ended.push("first"))();
    calls.cancel(origin, 1);
    expect(ended).toEqual([]);
    calls.begin(origin, 1, () => ended.push("next"));
    calls.cancel(origin, 1);
    expect(ended).toEqual(["next"]);
  });
});
