import { ownEpoch } from "../../../packages/host/src/storage/migrate.ts";
import { runClient, type Ledger } from "./clients.ts";
import { finish } from "./final-checks.ts";
import type { SimulatedHost } from "./host.ts";
import { runOperator } from "./operators.ts";
import type { Episode } from "./plan.ts";
import type { World } from "./world.ts";

/** So long it takes at most until a host has heard that it has to leave, and has ended what it had under way. */
const leavesMs = 40_000;

/**
 * A host of the version before serves beside one of this version, and has to leave in the middle of its work. It has nothing under way
 * any more when the storage is changed, and nothing that it did is broken off.
 */
export async function runUpgrade(world: World, episode: Episode): Promise<void> {
  const { scheduler, random, model } = world;
  const ledger: Ledger = new Map();
  await world.complete("the version before", async () => {
    await world.allowFrom(ownEpoch - 1);
    await world.replace(0, ownEpoch - 1);
  });
  const [older] = world.hosts;
  if (older === undefined) return model.violated("the version before does not start");
  await world.complete("what clients want", async () => {
    const wanted = Promise.all([
      ...episode.clients.map((client) => runClient(world, client, ledger)),
      ...episode.operators.map((operator) => runOperator(world, operator)),
    ]);
    await scheduler.wait(1 + random.below(100));
    await world.allowFrom(ownEpoch);
    await leave(world, older);
    await wanted;
  });
  for (const { key, isInterrupted } of ledger.values())
    if (isInterrupted) model.violated(`${key} was interrupted by a newer version`);
  if (model.violations.length > 0) return;
  await world.complete("this version", () => world.replace(0, ownEpoch));
  await finish(world, episode, ledger);
}

/** Changes the storage once the host of the version before has said that it has nothing under way. */
async function leave(world: World, older: SimulatedHost): Promise<void> {
  const { scheduler, storage, model } = world;
  for (const end = scheduler.now + leavesMs; !storage.beats.isDrained(older.id);) {
    if (scheduler.now >= end) return model.violated(`host ${older.id} does not leave a storage that it may not serve`);
    await scheduler.wait(250);
  }
  world.exclude(older);
  model.count("upgrades");
}
