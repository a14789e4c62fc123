import { existsSync } from "node:fs";
import { auditKeyFile, checkpointFile, createCheckpoints, openSigningKey } from "../audit/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import { acceptLoss } from "../protocols/admin/index.ts";
import { ConfigError } from "../shared/index.ts";
import { openDatabase } from "../storage/index.ts";
import type { Config } from "./config.ts";
import { followHistory, hostAsOperator } from "./database-history.ts";
import { openStores } from "./stores.ts";

const silent = { info() {}, warn() {}, error() {} };

/**
 * Accepts that the SQLite file of a stopped host is older than its signed checkpoints: signs which rows are lost, ends what would
 * otherwise happen twice, and writes both into the audit log.
 */
export async function acceptLossOfFile(config: Config, isRevoking: boolean): Promise<AdminOutput<"acceptLoss">> {
  const { database: location } = config;
  const [keyFile, file] = [auditKeyFile(config), checkpointFile(config)];
  if (!existsSync(file))
    throw new ConfigError(`${file} is not there: nothing says which rows the database ${location} had.`);
  if (!existsSync(keyFile))
    throw new ConfigError(
      `${keyFile} is missing, with which ${file} was signed. Put the audit key back, or name it as audit.keyFile.`,
    );
  const database = await openDatabase(location);
  try {
    const stores = openStores(database);
    const clock = (): Date => new Date();
    const errors: unknown[] = [];
    // What was noticed is reported by the command itself.
    const log = { ...silent, error: (facts: object) => void ("error" in facts && errors.push(facts.error)) };
    const key = openSigningKey(keyFile);
    const checkpoints = createCheckpoints({ file, key, audit: stores.audit, database, log: silent, clock });
    const history = await followHistory({
      database,
      stores,
      checkpoints,
      log,
      onAuditError: (error) => errors.push(error),
    });
    const operator = hostAsOperator(stores.audit, (error) => errors.push(error));
    const accepted = await acceptLoss({ losses: stores.losses, clock }, operator, isRevoking);
    await history.close();
    await stores.audit.flush();
    await checkpoints.write();
    if (errors.length > 0) throw new Error(`The loss could not be signed or recorded: ${String(errors[0])}.`);
    return accepted;
  } finally {
    await database.close();
  }
}
