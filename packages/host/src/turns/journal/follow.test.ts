import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TurnEvent } from "turnpike/contracts";
import { neverAborted } from "../../../test/records.ts";
import { followTurn } from "./follow.ts";
import type { TurnReader } from "./read-turns.ts";
import { createTurnNews, type TurnNews } from "./turn-news.ts";
import type { TurnRow } from "./turn-rows.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Turns that other hosts write, and what is told of them here. */
function newsOf(turns: Map<string, string>, here: readonly string[] = []) {
  const progressOf = vi.fn<TurnReader["progressOf"]>((ids) =>
    Promise.resolve(new Map([...turns].filter(([id]) => ids.includes(id)))),
  );
  const news = createTurnNews({ progressOf }, (id) => here.includes(id));
  const told: string[] = [];
  const follow = (id: string): (() => void) => news.listen(id, () => void told.push(id));
  return { progressOf, follow, told };
}

test("turns that are followed are polled together, and the followers of those that changed are told", async () => {
  const turns = new Map([
    ["a", "1"],
    ["b", "1"],
  ]);
  const { progressOf, follow, told } = newsOf(turns);
  for (const id of turns.keys()) follow(id);
  await vi.advanceTimersByTimeAsync(300);
  expect(progressOf.mock.calls).toEqual([[["a", "b"]]]);
  // What happened between the start of following and the first poll is not known.
  expect(told).toEqual(["a", "b"]);
  await vi.advanceTimersByTimeAsync(300);
  turns.set("b", "2");
  await vi.advanceTimersByTimeAsync(300);
  turns.delete("a");
  await vi.advanceTimersByTimeAsync(300);
  expect(told).toEqual(["a", "b", "b", "a"]);
});

test("one statement asks for so many turns at most", async () => {
  const turns = new Map(Array.from({ length: 1200 }, (_, place) => [`turn-${place}`, "1"]));
  const { progressOf, follow } = newsOf(turns);
  for (const id of turns.keys()) follow(id);
  await vi.advanceTimersByTimeAsync(300);
  expect(progressOf.mock.calls.map(([ids]) => ids.length)).toEqual([500, 500, 200]);
});

test("a turn that runs here is polled every three seconds", async () => {
  const { progressOf, follow } = newsOf(new Map([["a", "1"]]), ["a"]);
  follow("a");
  await vi.advanceTimersByTimeAsync(2900);
  expect(progressOf).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(3100);
  expect(progressOf).toHaveBeenCalledTimes(2);
});

test("nothing is polled while no one follows", async () => {
  const { progressOf, follow } = newsOf(new Map([["a", "1"]]));
  follow("a")();
  await vi.advanceTimersByTimeAsync(3000);
  expect(progressOf).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
  const [stop, stopAnother] = [follow("a"), follow("a")];
  stop();
  await vi.advanceTimersByTimeAsync(300);
  expect(progressOf).toHaveBeenCalledTimes(1);
  stopAnother();
});

test("a follower who leaves during a poll does not make others poll", async () => {
  const { progressOf, follow, told } = newsOf(
    new Map([
      ["a", "1"],
      ["b", "1"],
    ]),
  );
  const stop = follow("a");
  follow("b");
  await vi.advanceTimersByTimeAsync(300);
  expect(told).toEqual(["a", "b"]);
  progressOf.mockImplementationOnce(() => {
    stop();
    return Promise.resolve(
      new Map([
        ["a", "2"],
        ["b", "1"],
      ]),
    );
  });
  await vi.advanceTimersByTimeAsync(300);
  expect(progressOf).toHaveBeenCalledTimes(2);
  expect(told).toEqual(["a", "b"]);
});

test("when a poll fails every follower is told, to read by itself, and the poll is made again", async () => {
  const { progressOf, follow, told } = newsOf(new Map([["a", "1"]]));
  progressOf.mockRejectedValueOnce(new Error("away"));
  follow("a");
  await vi.advanceTimersByTimeAsync(300);
  expect(told).toEqual(["a"]);
  await vi.advanceTimersByTimeAsync(300);
  expect(progressOf).toHaveBeenCalledTimes(2);
});

const turn = { id: "a", completed_at: null } as TurnRow;
const silent: TurnNews = { tell: () => {}, listen: () => () => {} };

async function readAll(events: AsyncIterable<TurnEvent>): Promise<void> {
  for await (const event of events) expect(event).toBe("no event is expected");
}

test("who goes away while the turn is read does not wait for news of it", async () => {
  const caller = new AbortController();
  const reader = {
    byId: () => Promise.resolve(turn),
    eventsAfter() {
      caller.abort(new Error("gone"));
      return Promise.resolve([]);
    },
  } as unknown as TurnReader;
  const followed = followTurn({ reader, news: silent, closes: neverAborted }, turn, -1, caller.signal);
  await expect(readAll(followed)).rejects.toThrow("gone");
});

test("who goes away while the turn waits does not wait for news of it", async () => {
  const caller = new AbortController();
  const reader = {
    byId: () => Promise.resolve(turn),
    eventsAfter: () => Promise.resolve([]),
  } as unknown as TurnReader;
  const followed = readAll(followTurn({ reader, news: silent, closes: neverAborted }, turn, -1, caller.signal));
  followed.catch(() => {});
  await vi.advanceTimersByTimeAsync(10);
  caller.abort(new Error("gone"));
  await expect(followed).rejects.toThrow("gone");
});
