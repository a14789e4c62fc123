import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { databaseKinds, openFresh } from "../../test/databases.ts";
import { describeFaults, isRefused } from "../../test/store-faults.ts";
import {
  backgroundOperations,
  openAllStores,
  seed,
  storeOperations,
  type Run,
} from "../../test/store-operations/index.ts";
import { openOutbox } from "../webhooks/index.ts";

/** Methods that ask the database nothing but what was asked in vain before, and what is no store. */
const withoutDatabase = new Set([
  "acts.close",
  "acts.recall",
  "audit.flush",
  "audit.takeHeads",
  "files.limits",
  "files.scans",
  "losses.requireWhole",
  // It comes with the revision, which is asked for in front of other operations.
  "losses.checkWhole",
  "replay.close",
  // What waits for a write asks the database nothing by itself.
  "replay.mayTell",
  "turns.mayTell",
  "turns.close",
  "turns.pauseAll",
  "turns.resume",
  "turns.stopAll",
]);

const operations = {
  ...Object.assign({}, ...Object.values(storeOperations)),
  ...backgroundOperations,
} as typeof backgroundOperations;

/** The methods of stores, those of a store within a store included. */
function methodsOf(stores: object, prefix = ""): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(stores)).flatMap(([name, { value }]) => {
    const path = `${prefix}${name}`;
    if (withoutDatabase.has(path)) return [];
    if (typeof value === "function") return [path];
    return typeof value === "object" && value !== null ? methodsOf(value as object, `${path}.`) : [];
  });
}

test("every method of every store is tried with statements that fail", async () => {
  const database = await openFresh("sqlite");
  const methods = methodsOf({ ...openAllStores(database), outbox: openOutbox(database) });
  const tried = new Set(Object.keys(operations).map((name) => name.split(",", 1)[0]));
  expect(methods.filter((name) => !tried.has(name))).toEqual([]);
});

describe.each(databaseKinds)("when %s is gone", (kind) => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test("every operation rejects", async () => {
    const database = await openFresh(kind);
    const runs: [string, Run][] = [];
    for (const [name, operation] of Object.entries(operations))
      runs.push([name, await operation(openAllStores(database), await seed(database), database)]);
    await database.close();
    const refused = await Promise.all(runs.map(([, run]) => isRefused(run())));
    expect(runs.filter((_, place) => !refused[place]).map(([name]) => name)).toEqual([]);
  });
});

describeFaults(backgroundOperations);
