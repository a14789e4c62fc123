import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { openCutProxy, type CutProxy } from "../../packages/host/test/cut-proxy.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { startOwnPostgres, type OwnPostgres } from "../../packages/host/test/postgres-server.ts";
import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import { LoadedHosts, outcomeOf } from "../support/loaded-hosts.ts";
import type { Finding, Suite, Trial } from "./suite.ts";

interface Outage {
  name: string;
  begin(server: OwnPostgres, proxy: CutProxy): unknown;
  end(server: OwnPostgres, proxy: CutProxy): unknown;
}

const outages: readonly [Outage, ...Outage[]] = [
  { name: "killed", begin: (server) => server.order("kill"), end: (server) => server.order("start") },
  { name: "frozen", begin: (server) => server.order("freeze"), end: (server) => server.order("thaw") },
  { name: "cut off", begin: (_server, proxy) => proxy.cut(), end: (_server, proxy) => proxy.mend() },
  { name: "silent", begin: (_server, proxy) => proxy.freeze(), end: (_server, proxy) => proxy.thaw() },
];

/** After so many outages everything that was acknowledged is held against the database. */
const outagesOfWorld = 4;
const hosts = 2;

async function takeAway(outage: Outage, parts: World, random: Random): Promise<void> {
  const { loaded, server, proxy } = parts;
  const { sent } = loaded.record;
  const answers = (count: number, fits: (outcome: string) => boolean): Promise<void> => {
    const from = sent.length;
    return eventually(
      () => expect(sent.slice(from).filter((each) => fits(outcomeOf(each))).length).toBeGreaterThanOrEqual(count),
      180_000,
    );
  };
  loaded.startLoad();
  await answers(10 + random.below(20), () => true);
  await outage.begin(server, proxy);
  if (random.chance(0.3)) await delay(random.below(1000));
  else await answers(6, (outcome) => outcome !== "succeeded" && outcome !== "grant_exhausted");
  // The process itself is there all the time.
  for (let place = 0; place < hosts; place += 1)
    if ((await ask(loaded.hostAt(place).url, "/health")).status !== 200) loaded.record.wrong.push("not healthy");
  await outage.end(server, proxy);
  await answers(hosts * 6, (outcome) => outcome === "succeeded");
  await loaded.stopLoad();
}

interface World {
  loaded: LoadedHosts;
  server: OwnPostgres;
  proxy: CutProxy;
}

async function runWorld({ seed, isOver }: Trial): Promise<{ counts: Record<string, number>; problems: string[] }> {
  const random = createRandom(seed);
  const server = await startOwnPostgres();
  const proxy = await openCutProxy(server.location);
  const loaded = await LoadedHosts.start(hosts, { database: proxy.location }, 30);
  const counts: Record<string, number> = {};
  const problems: string[] = [];
  let count = 0;
  do {
    const outage = outages[(seed + count) % outages.length] ?? outages[0];
    count += 1;
    counts[outage.name] = (counts[outage.name] ?? 0) + 1;
    await takeAway(outage, { loaded, server, proxy }, random).catch(async (error: unknown) => {
      problems.push(`when PostgreSQL was ${outage.name}: ${String(error)}`);
      await loaded.stopLoad();
    });
  } while (count < outagesOfWorld && !isOver());
  const outcomes = loaded.record.sent.map((each) => ({ id: each.id, outcome: outcomeOf(each) }));
  const unanswered = outcomes.filter(({ outcome }) => outcome === "lost" || outcome === "late");
  problems.push(
    ...unanswered.map(({ id, outcome }) => `the answer to ${id} was ${outcome}`),
    ...(await loaded.check()),
  );
  await loaded.stop();
  await server.stop();
  const refused = outcomes.filter(({ outcome }) => outcome !== "succeeded" && outcome !== "grant_exhausted").length;
  return {
    counts: { ...counts, calls: outcomes.length, refused, revocations: loaded.record.revoked.length },
    problems,
  };
}

/** A PostgreSQL that goes away and comes back. */
export const outagesSuite: Suite = {
  name: "outages",
  says:
    "PostgreSQL is killed, frozen, cut off or silent while two hosts work. Meanwhile every call is answered in time with a " +
    "documented error, afterwards everything works, and what holds after a kill holds here too.",
  share: 3,
  async run(trial) {
    const counts: Record<string, number> = {};
    const findings: Finding[] = [];
    for (let world = 0; !trial.isOver(); world += 1) {
      const seed = trial.seed + world;
      const outcome = await runWorld({ ...trial, seed });
      for (const [name, count] of Object.entries(outcome.counts)) counts[name] = (counts[name] ?? 0) + count;
      const repeat = `npm run trust -- --only outages --seed ${seed}`;
      findings.push(...outcome.problems.map((what) => ({ what, repeat })));
    }
    return { counts, findings };
  },
};
