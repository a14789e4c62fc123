import { afterAll, beforeAll, expect, test } from "vitest";
import { seed } from "../../../tests/support/seed.ts";
import { timesOf } from "../../../tests/support/size.ts";
import { RequestErrorSchema, routes, type Route } from "../src/contracts/index.ts";
import { exchanges, httpWorldOf, requestFor } from "./http.ts";
import { randomBody, type BodyKind } from "./random-body.ts";
import { createRandom, type Random } from "./random.ts";

const total = timesOf(10_000, 100_000);
const perWorld = 1000;
const hangAfterMs = 5000;
// A turn costs as much as ten of the others, so it gets a smaller share.
const cheap = ["authorize", "updateToolNamespaces", "invokeTool", "invokeResource", "sendMessage"] as const;
const turnShare = 0.08;

// Every refusal is an error with a stack that is not read here, and stacks would cost more than all the rest.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

/** What the prototypes that JSON could reach hold. */
function prototypes(): string {
  return [Object.prototype, Array.prototype, Function.prototype]
    .map((each) => Reflect.ownKeys(each).map(String))
    .join();
}

/** Why an answer is not well formed; undefined when it is. */
async function problemOf(route: Route, response: Response): Promise<string | undefined> {
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get("content-type") === "application/json" && headers.get("cache-control") === "no-store";
  if (!isJson || headers.get("x-request-id") !== "request-1") return `headers ${JSON.stringify([...headers])}`;
  const body: unknown = JSON.parse(text);
  if (status === 200) return route.response.safeParse(body).success ? undefined : `a result that does not fit: ${text}`;
  const error = RequestErrorSchema.safeParse(body);
  if (status !== 400 || !error.success) return `${status} ${text}`;
  const { code, message, requestId } = error.data.error;
  const isKnown = (code === "invalid_json" || code === "invalid_request") && requestId === "request-1";
  return isKnown && message.length > 0 && message.length < 4096 ? undefined : `400 ${text}`;
}

interface Tally {
  readonly answers: Record<BodyKind, { ok: number; refused: number }>;
  sent: number;
  last: { method: string; path: string; body: Uint8Array } | undefined;
}

/** The last body that was sent, ready to be printed. */
function lastOf({ sent, last }: Tally): string {
  return `body ${sent}, ${last?.method} ${last?.path}, ${Buffer.from(last?.body ?? []).toString("latin1")}`;
}

async function fuzz(random: Random, tally: Tally): Promise<string | undefined> {
  while (tally.sent < total) {
    const { handler } = httpWorldOf(random.chance(0.2) ? {} : { kernel: { audit: "none" } });
    for (let count = 0; count < perWorld; count += 1) {
      const name = random.chance(turnShare) ? "executeTurn" : random.pick(cheap);
      const { method, path, body: valid } = exchanges[name];
      const { kind, bytes } = randomBody(random, valid);
      tally.sent += 1;
      tally.last = { method, path, body: bytes };
      const response = await handler(requestFor(tally.last));
      tally.answers[kind][response.ok ? "ok" : "refused"] += 1;
      const problem = await problemOf(routes[name], response);
      if (problem !== undefined) return `${lastOf(tally)}\nanswers ${problem}`;
    }
  }
  return undefined;
}

/** Speaks up when nothing was answered for a while. */
function watch(tally: Tally): { hung: Promise<string>; stop(): void } {
  let seen = -1;
  let timer: ReturnType<typeof setInterval> | undefined;
  const hung = new Promise<string>((resolve) => {
    timer = setInterval(() => {
      if (tally.sent === seen) resolve(`${lastOf(tally)}\nis never answered`);
      seen = tally.sent;
    }, hangAfterMs);
  });
  return { hung, stop: () => clearInterval(timer) };
}

test("no body gets a 500, an answer that is not well formed, or none", async () => {
  const before = prototypes();
  const none = { ok: 0, refused: 0 };
  const tally: Tally = {
    answers: { mutated: { ...none }, damaged: { ...none }, noise: { ...none } },
    sent: 0,
    last: undefined,
  };
  const { hung, stop } = watch(tally);
  const problem = await Promise.race([fuzz(createRandom(seed), tally), hung]).finally(stop);

  expect(problem, `seed ${seed}`).toBeUndefined();
  expect(prototypes(), `seed ${seed}`).toBe(before);
  expect(tally.sent).toBe(total);
  // Bodies that are all refused, or all accepted, would show little.
  const { mutated, damaged, noise } = tally.answers;
  expect(mutated.ok / (mutated.ok + mutated.refused)).toBeGreaterThan(0.1);
  expect(mutated.refused / (mutated.ok + mutated.refused)).toBeGreaterThan(0.3);
  expect(Math.min(damaged.ok, damaged.refused)).toBeGreaterThan(total / 1000);
  expect(noise.ok).toBeLessThan(10);
});
