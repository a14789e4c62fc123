import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newLocation } from "../../packages/host/test/databases.ts";
import { eventually } from "../../packages/host/test/host-calls.ts";
import type { ServiceClient } from "../../packages/turnpike/src/client/index.ts";
import type { TurnEvent } from "../../packages/turnpike/src/contracts/index.ts";
import {
  answerAll,
  durableClient,
  followToEnd,
  storedSteps,
  linesIn,
  makeDurableTenant,
  startDurableHost,
  statesOf,
  stepsTurn,
} from "../support/durable-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";

/** More on demand: `TURNPIKE_KILLS=200 npx vitest run --project e2e tests/host/turn-kill.test.ts`. */
const kills = Number(process.env["TURNPIKE_KILLS"] ?? 6);
const turnsAtOnce = 6;
const steps = 5;

/** Turns of one client that follows each of them, through whichever host there is. */
class Load {
  readonly ids: string[] = [];
  readonly #following: Promise<{ id: string; events: TurnEvent[] }>[] = [];
  readonly #client: ServiceClient;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  /** Starts turns, and says which. */
  async startSome(): Promise<string[]> {
    const before = this.ids.length;
    await Promise.all(Array.from({ length: turnsAtOnce }, () => this.start()));
    return this.ids.slice(before);
  }

  /** Starts a turn; some ask a person. One whose answer is lost is asked for again under its id. */
  async start(): Promise<void> {
    const id = `turn-${this.ids.length}`;
    this.ids.push(id);
    const asks = this.ids.length % 4 === 0 ? 2 : undefined;
    await eventually(() => this.#client.startTurn(stepsTurn(id, steps, asks)));
    this.#following.push(followToEnd(this.#client, id).then((events) => ({ id, events })));
  }

  followed(): Promise<{ id: string; events: TurnEvent[] }[]> {
    return Promise.all(this.#following);
  }
}

/** Every turn has ended as it would have without any kill, except for what no one can know. */
async function checkEnds(client: ServiceClient, load: Load): Promise<void> {
  const followed = await load.followed();
  const states = await statesOf(client, load.ids);
  const outputs = states.map(({ result }) => (result?.status === "succeeded" ? result.output : result));
  for (const output of outputs) {
    expect(output).toBeInstanceOf(Array);
    const said = output as string[];
    const expected = new Set(["succeeded", "tool_interrupted", "escalation_denied"]);
    expect(said.filter((one) => !expected.has(one))).toEqual([]);
    expect(said.length).toBeGreaterThanOrEqual(steps * 2);
  }
  for (const { id, events } of followed) {
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, place) => place));
    const state = states.find(({ executionId }) => executionId === id);
    expect(events).toEqual(state?.result?.events);
  }
}

function checkEffects(folder: string, load: Load): void {
  const effects = linesIn(folder, "effects.log");
  expect(effects.length - new Set(effects).size).toBe(0);
  expect(effects.length).toBeGreaterThan(load.ids.length);
}

/** How long nothing happened in a turn after an instant. */
async function pauseAfter(client: ServiceClient, executionId: string, instant: number): Promise<number> {
  const { startedAt, updatedAt, result } = await client.turn(executionId);
  const times = [...(result?.events ?? []).map(({ occurredAt }) => occurredAt), startedAt, updatedAt];
  const later = times.map((time) => Date.parse(time)).filter((time) => time >= instant);
  return Math.min(...later) - instant;
}

/** What was asked after a kill although its decision was stored by then. */
function askedAgain(folder: string, before: number, stored: ReadonlySet<string>): string[] {
  return linesIn(folder, "asked.log")
    .slice(before)
    .filter((line) => stored.has(line));
}

describe("asynchronous turns of a host on SQLite that is killed", () => {
  test(
    `${kills} times end or wait, do nothing twice and ask for no decision twice that is stored`,
    { timeout: 240_000 + kills * 10_000 },
    async () => {
      const folder = makeFolder();
      const location = join(folder, ".turnpike", "turnpike.db");
      // Every escalation of a long run is open at once.
      const start = (): Promise<HostProcess> => startDurableHost(folder, { "limits.openEscalations": "10000" });
      let host = await start();
      const { token } = await makeDurableTenant(host, "acme", kills * turnsAtOnce);
      const client = durableClient(token, () => host.url);
      const load = new Load(client);
      for (let kill = 0; kill < kills; kill += 1) {
        const asked = linesIn(folder, "asked.log").length;
        const ids = await load.startSome();
        // Another instant of the work each time.
        const goal = asked + 1 + ((kill * 7) % (turnsAtOnce * 3));
        await eventually(() => expect(linesIn(folder, "asked.log").length).toBeGreaterThanOrEqual(goal));
        await host.stop("SIGKILL");
        const stored = await storedSteps(location);
        const before = linesIn(folder, "asked.log").length;
        host = await start();
        await eventually(async () => {
          const states = await statesOf(client, ids);
          expect(states.filter(({ status }) => status === "running")).toEqual([]);
        });
        expect(askedAgain(folder, before, stored)).toEqual([]);
      }
      const waiting = (await statesOf(client, load.ids)).filter(({ status }) => status === "waiting");
      expect(waiting).toHaveLength(Math.floor((kills * turnsAtOnce) / 4));
      while ((await answerAll(host, "acme", "deny")) > 0);
      await checkEnds(client, load);
      checkEffects(folder, load);
      await host.stop();
    },
  );
});

describe("asynchronous turns of two hosts on one PostgreSQL of which one is killed", () => {
  const rounds = Math.max(1, Math.round(kills / 4));
  test(`${rounds} times resume at the other one within 10 s`, { timeout: 240_000 + rounds * 60_000 }, async () => {
    const folder = makeFolder();
    const database = await newLocation("postgres");
    const start = (): Promise<HostProcess> => startDurableHost(folder, { database });
    const hosts = await Promise.all([start(), start()]);
    const { token } = await makeDurableTenant(hosts[0]);
    let turnOf = 0;
    let alive = [...hosts];
    const client = durableClient(token, () => (alive[(turnOf += 1) % alive.length] as HostProcess).url);
    const load = new Load(client);
    /** The longest pause of a turn in each round. */
    const pauses: number[] = [];
    for (let kill = 0; kill < rounds; kill += 1) {
      const asked = linesIn(folder, "asked.log").length;
      const ids = await load.startSome();
      await eventually(() => expect(linesIn(folder, "asked.log").length).toBeGreaterThan(asked + (kill % 12)));
      const victim = alive[kill % 2] as HostProcess;
      alive = alive.filter((host) => host !== victim);
      await victim.stop("SIGKILL");
      const killedAt = Date.now();
      const stored = await storedSteps(database);
      const before = linesIn(folder, "asked.log").length;
      const cut = (await statesOf(client, ids)).filter(({ status }) => status === "running");
      await eventually(async () => {
        const states = await statesOf(client, ids);
        expect(states.filter(({ status }) => status === "running")).toEqual([]);
      });
      if (cut.length > 0)
        pauses.push(
          Math.max(...(await Promise.all(cut.map(({ executionId }) => pauseAfter(client, executionId, killedAt))))),
        );
      expect(askedAgain(folder, before, stored)).toEqual([]);
      alive.push(await start());
    }
    // A machine that has other things to do makes some rounds longer.
    expect(pauses.filter((pause) => pause < 10_000).length).toBeGreaterThanOrEqual(Math.min(1, pauses.length));
    while ((await answerAll(alive[0] as HostProcess, "acme", "deny")) > 0);
    await checkEnds(client, load);
    checkEffects(folder, load);
    await Promise.all(alive.map((host) => host.stop()));
  });
});
