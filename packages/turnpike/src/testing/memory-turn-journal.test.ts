import { expect, test } from "vitest";
import { memoryTurnJournal } from "./memory-turn-journal.ts";
import { answer, begin, beginAndEnd, endEntry, keyOf, progressOf, turnOf, waiting } from "./turn-journal-turns.ts";

test("the turns that a run may take are those without an end, unless they wait for an answer", async () => {
  const journal = memoryTurnJournal();
  await begin(journal, turnOf("running"));
  await beginAndEnd(journal, turnOf("ended"), endEntry("ended", "succeeded"));
  for (const id of ["waiting", "answered", "cancelled"]) {
    await (await begin(journal, turnOf(id))).write([waiting], progressOf(1));
  }
  journal.answer(keyOf("answered"), "call-1", answer);
  await journal.cancel(keyOf("cancelled"));
  expect(journal.unfinished()).toEqual([keyOf("running"), keyOf("answered"), keyOf("cancelled")]);
});

test("a turn that does not exist or has ended is not taken", async () => {
  const journal = memoryTurnJournal();
  await beginAndEnd(journal, turnOf("ended"), endEntry("ended", "succeeded"));
  expect(() => journal.take(keyOf("ended"))).toThrow("The turn ended has ended.");
  expect(() => journal.take(keyOf("none"))).toThrow("There is no turn none.");
});

test("only the answer that a turn waits for is stored, and once", async () => {
  const journal = memoryTurnJournal();
  await (await begin(journal, turnOf("turn-1"))).write([waiting], progressOf(1));
  expect(() => journal.answer(keyOf("turn-1"), "call-2", answer)).toThrow("The turn turn-1 does not wait for call-2.");
  journal.answer(keyOf("turn-1"), "call-1", answer);
  expect(() => journal.answer(keyOf("turn-1"), "call-1", answer)).toThrow("The turn turn-1 does not wait for call-1.");
});

test("a cursor that no page has is refused", async () => {
  const owner = keyOf("");
  for (const before of ["0", "x", "-1", "1e3", "9".repeat(16)]) {
    await expect(memoryTurnJournal().list(owner, { limit: 1, before })).rejects.toMatchObject({
      status: 400,
      code: "invalid_request",
    });
  }
});
