import { expect } from "vitest";
import { eventually } from "../../packages/host/test/host-calls.ts";
import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import { placeFor } from "../support/effect-host.ts";
import { LoadedHosts, outcomeOf } from "../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "./suite.ts";

/** So many kills have one database; then everything that was acknowledged is held against it. */
const killsOfWorld = 5;

/**
 * Kills a host under load until it is over, on SQLite; or, for an odd seed, one of two on one PostgreSQL, while the other goes
 * on.
 */
async function killHosts({ seed, isOver }: Trial): Promise<WorldOutcome> {
  const kind = seed % 2 === 0 ? "sqlite" : "postgres";
  const loaded = await LoadedHosts.start(kind === "sqlite" ? 1 : 2, await placeFor(kind), killsOfWorld * 3);
  const { counts, problems } = await killUnderLoad(loaded, createRandom(seed), isOver);
  return { counts, problems: problems.map((what) => `on ${kind}: ${what}`) };
}

/** Kills one of these hosts after the other, until it is over, and starts another one for each. */
export async function killUnderLoad(loaded: LoadedHosts, random: Random, isOver: () => boolean): Promise<WorldOutcome> {
  const { sent, issued, revoked } = loaded.record;
  const areMany = loaded.hostAt(1) !== loaded.host;
  let kills = 0;
  do {
    kills += 1;
    loaded.startLoad();
    // Another instant of the work each time.
    await loaded.answers(10 + random.below(40));
    // Sometimes right behind a revocation that was acknowledged.
    const before = revoked.length;
    if (random.chance(0.3)) await eventually(() => expect(revoked.length).toBeGreaterThan(before));
    await loaded.kill(random.below(2));
    if (areMany) await loaded.answers(1 + random.below(10));
    await loaded.stopLoad();
    await loaded.startHost();
  } while (kills < killsOfWorld && !isOver());
  const problems = await loaded.check();
  await loaded.stop();
  const outcomes = sent.map(outcomeOf);
  const counts = {
    kills,
    calls: sent.length,
    succeeded: outcomes.filter((outcome) => outcome === "succeeded").length,
    exhausted: outcomes.filter((outcome) => outcome === "grant_exhausted").length,
    "cut off": outcomes.filter((outcome) => outcome === "lost").length,
    "grants issued": issued.length,
    revocations: revoked.length,
  };
  return { counts, problems };
}

/** Hosts that are killed again and again. */
export const kills: Suite = {
  name: "kills",
  says:
    "A host is killed in the middle of its work. Nothing that it acknowledged is lost, no grant is used too often, nothing " +
    "revoked works, no effect happens twice under one id, and the audit log is whole.",
  share: 4,
  run: (trial) => runWorlds("kills", trial, killHosts),
};
