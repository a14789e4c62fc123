import { setTimeout as delay } from "node:timers/promises";
import { openCutProxy, type CutProxy } from "../../packages/host/test/cut-proxy.ts";
import { ask } from "../../packages/host/test/host-calls.ts";
import { startOwnPostgres, type OwnPostgres } from "../../packages/host/test/postgres-server.ts";
import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import { isRefusal, LoadedHosts, outcomeOf } from "../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "./suite.ts";

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
  loaded.startLoad();
  await loaded.answers(10 + random.below(20));
  await outage.begin(server, proxy);
  if (random.chance(0.3)) await delay(random.below(1000));
  else await loaded.answers(6, isRefusal);
  // The process itself is there all the time.
  for (let place = 0; place < hosts; place += 1)
    if ((await ask(loaded.hostAt(place).url, "/health")).status !== 200) loaded.record.wrong.push("not healthy");
  await outage.end(server, proxy);
  await loaded.answers(hosts * 6, (outcome) => outcome === "succeeded");
  await loaded.stopLoad();
}

interface World {
  loaded: LoadedHosts;
  server: OwnPostgres;
  proxy: CutProxy;
}

async function runWorld({ seed, isOver }: Trial): Promise<WorldOutcome> {
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
  const refused = outcomes.filter(({ outcome }) => isRefusal(outcome)).length;
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
  run: (trial) => runWorlds("outages", trial, runWorld),
};
