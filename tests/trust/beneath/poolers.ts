import { newLocation } from "../../../packages/host/test/databases.ts";
import { startPgBouncer } from "../../../packages/host/test/pgbouncer.ts";
import { createRandom } from "../../../packages/turnpike/test/random.ts";
import { startEffectHost } from "../../support/effect-host.ts";
import { makeFolder } from "../../support/host-process.ts";
import { LoadedHosts } from "../../support/loaded-hosts.ts";
import { killUnderLoad } from "../kills.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "../suite.ts";

/** Few, so that every connection is lent to many. */
const connections = 8;

async function runWorld({ seed, isOver, bug }: Trial): Promise<WorldOutcome> {
  const directUrl = await newLocation("postgres");
  const url = await startPgBouncer(directUrl, { pool_mode: "transaction", default_pool_size: connections });
  const untold = await startEffectHost(makeFolder(), { database: url }, bug).catch(String);
  if (typeof untold !== "string") {
    await untold.stop("SIGKILL");
    return { counts: {}, problems: ["a host that was not told of its pooler started"] };
  }
  if (!untold.includes("is in transaction mode")) return { counts: {}, problems: [untold] };
  const settings = { "database.url": url, "database.pooler": "transaction", "database.directUrl": directUrl };
  return killUnderLoad(await LoadedHosts.start(2, settings, 30, bug), createRandom(seed), isOver);
}

/** Hosts behind a pooler that lends a connection for each transaction. */
export const poolers: Suite = {
  name: "poolers",
  says:
    "Two hosts share few connections of a PgBouncer in transaction mode, and are killed in the middle of their work. One that is not told " +
    "of the pooler does not start; what holds after a kill holds here too.",
  share: 1,
  run: (trial) => runWorlds("poolers", trial, runWorld),
};
