import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../../../packages/turnpike/test/random.ts";
import { auditKeyFile } from "../../../packages/host/src/audit/audit-files.ts";
import { openSigningKey } from "../../../packages/host/src/audit/signing-key.ts";
import { loadConfig, type Config } from "../../../packages/host/src/compose/config.ts";
import { openStores } from "../../../packages/host/src/compose/stores.ts";
import { ownEpoch } from "../../../packages/host/src/storage/migrate.ts";
import { createMetrics, type Metrics } from "../../../packages/host/src/telemetry/metrics.ts";
import { noFaults, nothingHappened, openSimulated, WriteLock } from "./database.ts";
import { populate, type Population } from "./population.ts";
import { Scheduler } from "./scheduler.ts";
import { simulateTime } from "./simulated-time.ts";
import { Storage } from "./storage.ts";
import { TurnOwners } from "./turn-owners.ts";

/** What all worlds have in common: a storage and who lives there, keys that no one uses, metrics that no one reads. */
export interface Premises {
  config: Config;
  metrics: Metrics;
  storage: Storage;
  population: Population;
  close(): void;
}

export async function openPremises(): Promise<Premises> {
  const folder = mkdtempSync(join(tmpdir(), "turnpike-simulation-"));
  const flags = {
    database: join(folder, "world.db"),
    "limits.requestsPerSecond": "100000",
    "limits.burst": "100000",
    "turns.timeoutMs": "60000",
  };
  const config = loadConfig({ env: {}, flags });
  // Made here: the first host that has none makes one, and draws from what is the world's.
  openSigningKey(auditKeyFile(config));
  const storage = await Storage.open(join(folder, "world.db"));
  return {
    config,
    metrics: createMetrics(),
    storage,
    population: await settle(storage),
    close() {
      storage.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Lets all principals move in, at a time and with tokens that are the same in every run. */
async function settle(storage: Storage): Promise<Population> {
  const random = createRandom(1);
  const scheduler = new Scheduler(random, () => {});
  const giveBackTime = simulateTime(scheduler, random);
  try {
    const parts = {
      scheduler,
      storage,
      random,
      faults: noFaults,
      counts: { ...nothingHappened },
      isShared: false,
      lock: new WriteLock(),
      owners: new TurnOwners(storage, () => {}),
    };
    storage.reset(() => scheduler.now / 1000);
    const moveIn = async (): Promise<Population> => {
      const { database } = await openSimulated(parts, { owner: {}, epoch: ownEpoch }, () => {});
      return populate(openStores(database));
    };
    let isOver = false;
    const moving = moveIn().finally(() => (isOver = true));
    await scheduler.runUntil(() => isOver, Infinity);
    const population = await moving;
    storage.remember();
    return population;
  } finally {
    giveBackTime();
  }
}
