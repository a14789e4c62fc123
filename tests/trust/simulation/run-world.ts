import { runClient, type Ledger } from "./clients.ts";
import { runFailover } from "./failover.ts";
import { finish } from "./final-checks.ts";
import type { Premises } from "./premises.ts";
import { runOperator } from "./operators.ts";
import type { Episode, Plan } from "./plan.ts";
import { runUpgrade } from "./upgrade.ts";
import { World } from "./world.ts";

/** What became of a world. */
export interface WorldOutcome {
  violations: readonly string[];
  counts: Readonly<Record<string, number>>;
  /** What happened, step by step. */
  trace: readonly string[];
}

/** Runs the episodes of a plan one after the other, each to a calm end. */
export async function runWorld(plan: Plan, premises: Premises): Promise<WorldOutcome> {
  const world = new World(plan, premises);
  const { model, scheduler } = world;
  try {
    await world.begin();
    for (const episode of plan.episodes) {
      if (model.violations.length > 0) break;
      world.note(`episode ${episode.number}`);
      await runEpisode(world, episode);
      model.count("worlds");
    }
  } finally {
    world.end();
  }
  const { refused, lost, crashes, pauses, partitions, overtaken } = world.faults;
  const counts = {
    ...model.counts,
    steps: scheduler.steps,
    "statements refused": refused,
    "answers lost": lost,
    crashes,
    "hosts paused": pauses,
    "hosts cut off": partitions,
    "hosts overtaken": overtaken,
  };
  return { violations: model.violations, counts, trace: world.trace };
}

async function runEpisode(world: World, episode: Episode): Promise<void> {
  if (episode.failsOver && world.isShared) return runFailover(world, episode);
  if (episode.isUpgraded && world.isShared) return runUpgrade(world, episode);
  const ledger: Ledger = new Map();
  world.suffer(episode.faults);
  await world.complete("what clients want", () =>
    Promise.all([
      ...episode.clients.map((client) => runClient(world, client, ledger)),
      ...episode.operators.map((operator) => runOperator(world, operator)),
    ]),
  );
  world.calm();
  if (world.model.violations.length === 0) await finish(world, episode, ledger);
}
