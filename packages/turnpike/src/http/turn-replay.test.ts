import { expect, test } from "vitest";
import { answerOf, errorAnswer, jsonHeaders, requestFor } from "../../test/http.ts";
import { journaledWorldOf, resultOf, turnRequest, type JournaledWorld } from "../../test/journaled-turns.ts";
import { untyped } from "../../test/deployment.ts";
import type { TurnState } from "../contracts/index.ts";
import { KnownTurnError } from "../runtime/index.ts";

const post = { method: "POST", path: "/v1/turns", body: turnRequest("turn-1") };
const prefer = "respond-async";
const accept = "text/event-stream";
const location = { location: "/v1/turns/turn-1" };
const applied = { "preference-applied": "respond-async" };
const replayed = { "idempotency-replayed": "true" };
const streamHeaders = { ...jsonHeaders, "content-type": "text/event-stream" };
const running = { executionId: "turn-1", status: "running" };

async function start(world: JournaledWorld, headers: Record<string, string>): Promise<void> {
  void world.handler(requestFor(post, { headers }));
  await expect.poll(() => world.journal.unfinished()).toHaveLength(1);
}

for (const { name, headers, expected } of [
  { name: "in the plain form", headers: {}, expected: location },
  { name: "without its caller", headers: { prefer }, expected: { ...location, ...applied } },
]) {
  test(`a turn that runs by itself and is asked for again ${name} answers 202 and its state`, async () => {
    const world = journaledWorldOf();
    await start(world, { prefer });
    const answer = await answerOf(await world.handler(requestFor(post, { headers: untyped(headers) })));
    expect(answer).toMatchObject({ status: 202, headers: { ...jsonHeaders, ...expected }, body: running });
    await world.played("turn-1").wait();
    const again = await answerOf(await world.handler(requestFor(post, { headers: untyped(headers) })));
    expect(again).toMatchObject({ status: 202, body: { ...running, status: "waiting" } });
  });
}

for (const { name, headers, expected } of [
  { name: "and streamed", headers: { accept }, expected: location },
  { name: "and streamed, without its caller", headers: { accept, prefer }, expected: { ...location, ...applied } },
]) {
  test(`a turn that runs by itself and is asked for again ${name} is followed from its first event`, async () => {
    const world = journaledWorldOf();
    await start(world, { prefer });
    await world.played("turn-1").emit(1);
    const response = await world.handler(requestFor(post, { headers: untyped(headers) }));
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([200, { ...streamHeaders, ...expected }]);
    const text = response.text();
    await world.played("turn-1").end();
    expect((await text).match(/^event: .*$/gm)).toEqual(["event: turn.event", "event: turn.result"]);
  });
}

for (const isAsync of [true, false]) {
  const how = isAsync ? "without its caller" : "with its caller";

  test(`a turn that ended ${how} answers its result again`, async () => {
    const world = journaledWorldOf();
    await start(world, isAsync ? { prefer } : {});
    await world.played("turn-1").emit(2);
    await world.played("turn-1").end();
    const later = {
      ...post,
      body: untyped<object>({ ...post.body, message: { ...post.body.message, createdAt: "2026-01-01T12:05:00Z" } }),
    };
    const answer = await answerOf(await world.handler(requestFor(later)));
    expect(answer).toEqual({ status: 200, headers: { ...jsonHeaders, ...replayed }, body: resultOf("turn-1", 2) });
    const state = await answerOf(await world.handler(requestFor(post, { headers: { prefer } })));
    const body = { executionId: "turn-1", status: "succeeded", result: resultOf("turn-1", 2) };
    expect(state).toMatchObject({ status: 200, headers: { ...jsonHeaders, ...replayed }, body });
    expect(state.headers).not.toHaveProperty("location");
  });

  test(`a turn that ended ${how} streams its events and its result again`, async () => {
    const world = journaledWorldOf();
    await start(world, isAsync ? { prefer } : {});
    await world.played("turn-1").emit(2);
    await world.played("turn-1").end();
    const plain = await (await world.handler(requestFor(post))).text();
    const response = await world.handler(requestFor(post, { headers: { accept } }));
    expect(Object.fromEntries(response.headers)).toEqual({ ...streamHeaders, ...replayed });
    const text = await response.text();
    expect(text.match(/^id: .*$/gm)).toEqual(["id: 0", "id: 1"]);
    expect(text.endsWith(`event: turn.result\ndata: ${plain}\n\n`)).toBe(true);
  });

  test(`another request under the id of a turn that runs ${how} is a conflict, in every form`, async () => {
    const world = journaledWorldOf();
    await start(world, isAsync ? { prefer } : {});
    const other = { ...post, body: turnRequest("turn-1", { metadata: { other: true } }) };
    for (const headers of [{}, { prefer }, { accept }, { accept, prefer }]) {
      const answer = await answerOf(await world.handler(requestFor(other, { headers: untyped(headers) })));
      expect(answer).toEqual(errorAnswer(409, "replay_conflict", "This id was used for another request."));
    }
  });
}

test("a turn that runs with its caller is pending for every other caller, in every form", async () => {
  const world = journaledWorldOf();
  await start(world, {});
  for (const headers of [{}, { prefer }, { accept }, { accept, prefer }]) {
    const answer = await answerOf(await world.handler(requestFor(post, { headers: untyped(headers) })));
    const retry = { "retry-after": "1" };
    expect(answer).toEqual(errorAnswer(409, "replay_pending", "The same request is still running.", retry));
  }
});

test("a turn whose result is no longer stored is shown as far as it is, and not run again", async () => {
  const common = { version: 1, executionId: "turn-1", traceId: "trace-1", steps: 0, toolCalls: 0 } as const;
  const at = "2026-01-01T12:00:00Z";
  const state: TurnState = {
    ...common,
    agent: { kind: "agent", agentId: "helper" },
    status: "succeeded",
    startedAt: at,
    updatedAt: at,
    completedAt: at,
  };
  const known = new KnownTurnError({ state, isAsync: true, isSame: true });
  const { journal } = journaledWorldOf();
  const world = journaledWorldOf({
    api: { executeTurn: () => Promise.reject(known) },
    journal: { ...journal, find: () => Promise.resolve(state) },
  });
  const answerTo = async (headers: object) =>
    answerOf(await world.handler(requestFor(post, { headers: untyped(headers) })));
  const gone = errorAnswer(409, "replay_interrupted", "The result of this request is no longer stored.");
  expect(await answerTo({})).toEqual(gone);
  expect(await answerTo({ accept })).toEqual(gone);
  expect(await answerTo({ accept, prefer })).toEqual(gone);
  expect(await answerTo({ prefer })).toMatchObject({ status: 200, body: state });
  const events = { method: "GET", path: "/v1/turns/turn-1/events" };
  const stream = await answerOf(await world.handler(requestFor(events, { headers: { accept } })));
  expect(stream).toEqual(errorAnswer(404, "not_found", "You have no turn with this id."));
});
