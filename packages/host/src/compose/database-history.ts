import { createOperator, type Operator } from "../access/index.ts";
import { CheckpointError, type Checkpoints } from "../audit/index.ts";
import { operatorsTenant } from "../admin-contract/index.ts";
import type { TenantHead } from "../ledger/index.ts";
import { countLost, type Database, type Gap, readGapStates, storeGap } from "../storage/index.ts";
import { errorFacts, type Log } from "../telemetry/index.ts";
import type { Stores } from "./stores.ts";

/** What watching a database uses. */
interface HistoryParts {
  database: Database;
  stores: Pick<Stores, "audit" | "losses">;
  checkpoints: Pick<Checkpoints, "isThere" | "newestHeads" | "restores" | "signLoss" | "signAcceptance">;
  log: Log;
  onAuditError(error: unknown): void;
}

/** Follows what the database of a host has lost, and signs it. */
export interface HistoryFollower {
  /** Signs what was noticed, and what operators have accepted since. What fails is logged and tried again. */
  settle(): Promise<void>;
  /** Does so now and every so many seconds. */
  start(seconds: number): void;
  close(): Promise<void>;
}

const tenantsNamed = 5;

/** The host itself as an operator, for what it does without being asked. */
export function hostAsOperator(audit: Stores["audit"], onAuditError: (error: unknown) => void): Operator {
  const actor = { kind: "service", serviceId: "host" } as const;
  return createOperator({ id: "host", actor, role: "admin", requestId: crypto.randomUUID() }, audit, onAuditError);
}

/**
 * Holds the database against the host's signed checkpoints, and follows what is lost from then on. Resolves when the database is known
 * to be whole, or its loss is stored.
 */
export async function followHistory(parts: HistoryParts): Promise<HistoryFollower> {
  const { database, checkpoints, log, onAuditError } = parts;
  const { audit, losses } = parts.stores;
  const { history } = database;
  const unsigned = new Map<string, Gap>();
  let timer: NodeJS.Timeout | undefined;
  let settling: Promise<void> = Promise.resolve();

  const settleNow = async (): Promise<void> => {
    for (const [id, gap] of unsigned) {
      await checkpoints.signLoss(gap);
      unsigned.delete(id);
    }
    if (!checkpoints.isThere) return;
    const { gaps } = await checkpoints.restores();
    const open = gaps.filter(({ acceptedAt }) => acceptedAt === undefined).map(({ id }) => id);
    const accepted = await losses.listAccepted(open);
    if (accepted.length > 0) await checkpoints.signAcceptance(accepted);
  };
  const settle = (): Promise<void> =>
    (settling = settling
      .then(settleNow)
      .catch((error: unknown) => log.error(errorFacts(error), "could not sign a loss of the database, will retry")));

  history.onLost((gap) => {
    unsigned.set(gap.id, gap);
    const rows = countLost(gap.chains);
    const tenants = [...new Set(gap.chains.map(({ namespaceId }) => namespaceId))];
    log.error(
      { gap: gap.id, rows, tenants: tenants.length, first: tenants.slice(0, tenantsNamed) },
      "the database went back: it lost rows that were acknowledged; calls and turns are refused until an operator accepts that, " +
        "see `turnpike database accept-loss`",
    );
    const change = { namespaceId: operatorsTenant, action: "database.went_back", metadata: { gap: gap.id, rows } };
    void hostAsOperator(audit, onAuditError).recordMade([change]);
    void settle();
  });
  history.onServer(({ timeline }) =>
    log.info(
      { timeline },
      "connected to another server, or to one that started again: looked for all that was acknowledged",
    ),
  );

  const signed = await readSigned(parts);
  history.told((await losses.listOpen()).length > 0, history.stored);
  await history.remember(signed.heads, history.era)?.catch(() => {});
  await history.compare();
  // The database may have lost even that rows were missing.
  const states = await readGapStates(
    database.db,
    signed.gaps.map(({ id }) => id),
  );
  for (const gap of signed.gaps) {
    if (states.has(gap.id)) continue;
    await storeGap(database.db, gap, database.hostId);
    history.told(true, history.stored);
  }
  return {
    settle,
    start(seconds) {
      void settle();
      timer = setInterval(() => void settle(), seconds * 1000);
    },
    async close() {
      clearInterval(timer);
      await settle();
    },
  };
}

/** The heads that have to be in the database, and the losses that no operator accepted; nothing when the file is not whole. */
async function readSigned({ checkpoints, log }: HistoryParts): Promise<{ heads: readonly TenantHead[]; gaps: Gap[] }> {
  if (!checkpoints.isThere) return { heads: [], gaps: [] };
  try {
    const heads = await checkpoints.newestHeads();
    const { gaps } = await checkpoints.restores();
    const open = gaps.filter(({ acceptedAt }) => acceptedAt === undefined);
    return {
      heads,
      gaps: open.map(({ id, at, chains }) => ({
        id,
        at,
        chains: chains.map(({ until, ...chain }) => ({ ...chain, sequence: until, hash: "" })),
      })),
    };
  } catch (error) {
    if (!(error instanceof CheckpointError)) throw error;
    log.error(
      errorFacts(error),
      "could not read audit checkpoints; what the database lost before now will not be noticed",
    );
    return { heads: [], gaps: [] };
  }
}
