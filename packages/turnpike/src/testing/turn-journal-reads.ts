import type { TurnStatus } from "../contracts/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";
import {
  begin,
  beginAndEnd,
  endEntry,
  eventEntries,
  eventOf,
  keyOf,
  noAbort,
  progressOf,
  rejectionOf,
  sequencesOf,
  turnOf,
  waiting,
  type Open,
} from "./turn-journal-turns.ts";

/** Whether events and lists come out of a journal as they went in. */
export function readCases(open: Open): PortCase[] {
  return [...eventCases(open), ...listCases(open)];
}

function eventCases(open: Open): PortCase[] {
  return [
    {
      name: "events come out as they were stored, in their order and without a gap, from any cursor",
      async run() {
        const { journal } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        // Two digits, so that an order of texts shows.
        for (let from = 0; from < 12; from += 3)
          await writer.write(eventEntries("turn-1", from, from + 3), progressOf(1));
        const all = Array.from({ length: 12 }, (_, sequence) => eventOf("turn-1", sequence));
        for (const after of [-1, 0, 8, 11, 99]) {
          expectSame(await journal.events(keyOf("turn-1"), after), all.slice(after + 1), `the events after ${after}`);
        }
      },
    },
    {
      name: "a follower of a turn gets each event once, as it is stored, across runs, and the end",
      async run() {
        const { journal, take } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        await writer.write(eventEntries("turn-1", 0, 2), progressOf(1));
        const events = journal.follow(keyOf("turn-1"), -1, noAbort())[Symbol.asyncIterator]();
        const fromCursor = sequencesOf(journal.follow(keyOf("turn-1"), 1, noAbort()));
        const seen: unknown[] = [(await events.next()).value, (await events.next()).value];
        // The journal stores one event while a follower waits for it, and one while none does.
        const [third] = await Promise.all([events.next(), writer.write(eventEntries("turn-1", 2, 3), progressOf(2))]);
        seen.push(third.value);
        await writer.write([waiting], progressOf(3));
        const next = await take(keyOf("turn-1"));
        await next.write([...eventEntries("turn-1", 3, 5), endEntry("turn-1", "succeeded")], progressOf(9));
        for (let one = await events.next(); one.done !== true; one = await events.next()) seen.push(one.value);
        const all = Array.from({ length: 5 }, (_, sequence) => eventOf("turn-1", sequence));
        expectSame(seen, all, "the events that were followed");
        expectSame(await fromCursor, [2, 3, 4], "the events that were followed from a cursor");
        expectSame(await sequencesOf(journal.follow(keyOf("turn-1"), -1, noAbort())), [0, 1, 2, 3, 4], "after the end");
      },
    },
    {
      name: "following ends with the reason of its signal",
      async run() {
        const { journal } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        await writer.write(eventEntries("turn-1", 0, 1), progressOf(1));
        const leaving = new AbortController();
        const events = journal.follow(keyOf("turn-1"), -1, leaving.signal)[Symbol.asyncIterator]();
        await events.next();
        const pending = rejectionOf(events.next());
        leaving.abort(new Error("The reader left."));
        expectSame(String(await pending), "Error: The reader left.", "what the reader is told");
      },
    },
  ];
}

function listCases(open: Open): PortCase[] {
  const owner = keyOf("");
  return [
    {
      name: "lists the newest turns first, page by page, each once",
      async run() {
        const { journal } = await open();
        for (let turn = 1; turn <= 12; turn += 1) await begin(journal, turnOf(`turn-${turn}`));
        const pages: string[][] = [];
        let before: string | undefined;
        do {
          const { turns, next } = await journal.list(owner, { limit: 5, before });
          pages.push(turns.map(({ executionId }) => executionId));
          before = next;
          // What begins meanwhile is newer than every page that is left.
          await begin(journal, turnOf(`late-${pages.length}`));
        } while (before !== undefined);
        const names = Array.from({ length: 12 }, (_, index) => `turn-${12 - index}`);
        expectSame(pages, [names.slice(0, 5), names.slice(5, 10), names.slice(10)], "the pages");
      },
    },
    {
      name: "lists the turns of the statuses that were asked for",
      async run() {
        const { journal } = await open();
        await begin(journal, turnOf("running"));
        await (await begin(journal, turnOf("waiting"))).write([waiting], progressOf(1));
        await beginAndEnd(journal, turnOf("succeeded"), endEntry("succeeded", "succeeded"));
        await beginAndEnd(journal, turnOf("failed"), endEntry("failed", "failed", "runtime_failed"));
        const listed = async (statuses?: TurnStatus[]): Promise<string[]> =>
          (await journal.list(owner, { limit: 10, statuses })).turns.map(({ executionId }) => executionId);
        expectSame(await listed(), ["failed", "succeeded", "waiting", "running"], "all turns");
        expectSame(await listed(["running", "waiting"]), ["waiting", "running"], "those that go on");
        expectSame(await listed(["succeeded"]), ["succeeded"], "those that succeeded");
        expectSame(await listed(["cancelled"]), [], "those that were cancelled");
        const first = await journal.list(owner, { limit: 1, statuses: ["running", "waiting"] });
        const second = await journal.list(owner, { limit: 1, statuses: ["running", "waiting"], before: first.next });
        expectSame(second.turns[0]?.executionId, "running", "the second page of those that go on");
      },
    },
  ];
}
