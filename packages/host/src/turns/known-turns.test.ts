import { expect, test } from "vitest";
import type { TurnState } from "turnpike/contracts";
import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import { KnownTurnError, type KnownTurn } from "turnpike/runtime";
import { countingApi, turn } from "../../test/counting-api.ts";
import { context, now } from "../../test/records.ts";
import type { Telling } from "./journal/journal-store.ts";
import { answerKnownTurns } from "./known-turns.ts";

const state: TurnState = {
  version: 1,
  executionId: turn.executionId,
  traceId: "trace-1",
  agent: turn.agent,
  status: "running",
  startedAt: now,
  updatedAt: now,
  steps: 0,
  toolCalls: 0,
};
const running: KnownTurn = { state, isAsync: true, isSame: true };

/** An api whose turns begin when they are told to, and a journal that knows those that have begun. */
function controlled(mayTell: Telling = "result") {
  const begun = new Set<string>();
  const waiting: { begin(): void; refuse(error: Error): void; end(): void }[] = [];
  const { api, effects } = countingApi();
  const run: ServiceApi["executeTurn"] = async (of, request, call) => {
    const result = await api.executeTurn(of, request);
    await new Promise<void>((resolve, reject) =>
      waiting.push({
        begin() {
          begun.add(request.executionId);
          call?.onBegun?.(state);
        },
        refuse: reject,
        end: resolve,
      }),
    );
    return result;
  };
  const journal = {
    known: (_context: unknown, { executionId }: { executionId: string }) =>
      Promise.resolve(begun.has(executionId) ? running : undefined),
    mayTell: () => Promise.resolve(mayTell),
  };
  const answering = answerKnownTurns({ ...api, executeTurn: run }, journal);
  return {
    begun,
    effects,
    waiting,
    start: (executionId = turn.executionId, call = {}) =>
      answering.executeTurn(context(), { ...turn, executionId }, call),
  };
}

const known = { name: "KnownTurnError", known: running };

test("of equal starts at once one begins, and the others learn of it before it ends", async () => {
  const { start, waiting, effects } = controlled();
  const first = start();
  const others = Array.from({ length: 19 }, () => start());
  await expect.poll(() => waiting.length).toBe(1);
  waiting[0]?.begin();
  for (const other of others) await expect(other).rejects.toMatchObject(known);
  expect(effects).toEqual(["turn id-1"]);
  waiting[0]?.end();
  expect(await first).toMatchObject({ status: "succeeded" });
});

test("a start that is refused leaves its id to the next one", async () => {
  const { start, waiting, effects } = controlled();
  const [first, second] = [start(), start()];
  await expect.poll(() => waiting.length).toBe(1);
  waiting[0]?.refuse(new Error("no"));
  await expect(first).rejects.toThrow("no");
  await expect.poll(() => waiting.length).toBe(2);
  waiting[1]?.begin();
  waiting[1]?.end();
  expect(await second).toMatchObject({ status: "succeeded" });
  expect(effects).toHaveLength(2);
});

test("starts of other ids do not wait", async () => {
  const { start, waiting } = controlled();
  const starts = [start("id-1"), start("id-2")];
  await expect.poll(() => waiting.length).toBe(2);
  for (const { end } of waiting) end();
  await Promise.all(starts);
});

test("a caller who leaves while waiting starts nothing", async () => {
  const { start, waiting, effects } = controlled();
  const first = start();
  const leaving = new AbortController();
  const second = start(turn.executionId, { signal: leaving.signal });
  await expect.poll(() => waiting.length).toBe(1);
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  waiting[0]?.end();
  await first;
  expect(effects).toHaveLength(1);
});

test("a start that finds no slot, because another host has begun the turn, is told of it", async () => {
  const { start, waiting, begun } = controlled();
  const first = start();
  await expect.poll(() => waiting.length).toBe(1);
  begun.add(turn.executionId);
  waiting[0]?.refuse(new ServiceHttpError(503, "overloaded", "The host runs as many turns as it can."));
  await expect(first).rejects.toBeInstanceOf(KnownTurnError);
  const second = start("id-2");
  await expect.poll(() => waiting.length).toBe(2);
  waiting[1]?.refuse(new ServiceHttpError(503, "overloaded", "The host runs as many turns as it can."));
  await expect(second).rejects.toMatchObject({ status: 503 });
});

test.each([
  {
    name: "whose end another host has stored is told that it is interrupted",
    mayTell: "interrupted",
    code: "replay_interrupted",
    message: /^The host could not be seen by others while it worked/,
  },
  {
    name: "whose journal does not answer is told to ask again with the same id, because the turn may go on",
    mayTell: "pending",
    code: "replay_pending",
    message: /it is not known how the turn ends\. Ask again with the same id\.$/,
  },
] as const)("the caller of a turn $name", async ({ mayTell, code, message }) => {
  const { start, waiting } = controlled(mayTell);
  const first = start();
  await expect.poll(() => waiting.length).toBe(1);
  waiting[0]?.begin();
  waiting[0]?.end();
  await expect(first).rejects.toMatchObject({ status: 409, code, message: expect.stringMatching(message) as string });
  const going = start("id-2", { isAsync: true });
  await expect.poll(() => waiting.length).toBe(2);
  waiting[1]?.end();
  expect(await going).toMatchObject({ status: "succeeded" });
});
