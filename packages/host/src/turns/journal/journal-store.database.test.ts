import { describe, expect, test } from "vitest";
import { turnJournalSuite } from "turnpike/testing";
import { databaseKinds, openFresh } from "../../../test/databases.ts";
import { answerCall, openJournal, takeElsewhere } from "../../../test/turn-journals.ts";

describe.each(databaseKinds)("the journal of turns on %s", (kind) => {
  const cases = turnJournalSuite(async () => {
    const database = await openFresh(kind);
    return {
      journal: openJournal(database),
      take: (key) => takeElsewhere(database, key),
      answer: (key, callId, result) => answerCall(database, key, callId, result),
    };
  });
  for (const { name, run } of cases) {
    test(name, async () => {
      await expect(run()).resolves.toBeUndefined();
    });
  }
});
