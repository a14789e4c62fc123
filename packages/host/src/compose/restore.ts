import { copyFileSync, existsSync } from "node:fs";
import {
  appendRestore,
  auditKeyFile,
  beginning,
  type Break,
  checkpointFile,
  createRestores,
  openSigningKey,
  readCheckpoints,
  retiredKeys,
  signAnchorsAnew,
  type SignedHead,
  type SigningKey,
  type VerifyingKey,
} from "../audit/index.ts";
import { ConfigError, isPostgres, locationOf } from "../shared/index.ts";
import { violationText } from "../display/index.ts";
import type { TenantHead } from "../ledger/index.ts";
import { operatorsTenant } from "../admin-contract/index.ts";
import { type Database, openDatabase, openDraft, settleRestored, type Settled } from "../storage/index.ts";
import type { Config } from "./config.ts";
import { hostAsOperator } from "./database-history.ts";
import { openStores, type Stores } from "./stores.ts";

/** How a backup is restored. */
export interface RestoreOptions {
  file: string;
  /** Checkpoints that were stored elsewhere. */
  checkpoint?: string | undefined;
  /** Whether a database that is there is moved aside. */
  isReplaced: boolean;
  /** Whether every token that the host made is revoked. */
  isRevoking: boolean;
  /** Whether a broken audit log is restored all the same. */
  isBrokenTaken: boolean;
}

/** What a restore did. */
export interface RestoreReport extends Settled {
  database: string;
  /** When the newest event of the backup was. */
  backupAt: string | undefined;
  /** Where the database from before is. */
  aside: string | undefined;
  rows: number;
  /** How many rows of the audit logs are known to be lost, by checkpoints that signed them. */
  lostRows: number;
  broken: string | undefined;
}

const headsPerPage = 500;

/**
 * Restores a backup as the database of a host that is stopped: checks it, makes it safe to go on from, and writes down in the
 * checkpoints that the audit logs went back.
 */
export async function restoreBackup(config: Config, options: RestoreOptions): Promise<RestoreReport> {
  const database = locationOf(config.database);
  if (isPostgres(database))
    throw new ConfigError("A PostgreSQL is restored with its own tools, such as pg_restore. See docs/guide/backup.md.");
  const [keyFile, ownFile] = [auditKeyFile(config), checkpointFile(config)];
  const files = [ownFile, ...(options.checkpoint === undefined ? [] : [options.checkpoint])].filter((file) =>
    existsSync(file),
  );
  if (options.checkpoint !== undefined && !existsSync(options.checkpoint))
    throw new ConfigError(`--checkpoint ${options.checkpoint}: there is no such file.`);
  if (files.length > 0 && !existsSync(keyFile))
    throw new ConfigError(
      `${keyFile} is missing, with which ${files.join(" and ")} was signed. Put the audit key back, or name it as audit.keyFile.`,
    );
  const draft = await openDraft(options.file, database, options.isReplaced);
  try {
    const key = openSigningKey(keyFile);
    const prepared = await prepare(draft.path, options, { key, files });
    const aside = draft.putInPlace();
    if (!existsSync(ownFile) && options.checkpoint !== undefined) copyFileSync(options.checkpoint, ownFile);
    const { heads, host, at, ...counts } = prepared;
    await appendRestore(ownFile, { at, host, heads }, key);
    return { database, backupAt: draft.newestAt, aside, ...counts };
  } finally {
    draft.close();
  }
}

/** Opens the copy, which migrates it, verifies its audit logs, and changes what must not continue after a restore. */
async function prepare(path: string, options: RestoreOptions, signed: { key: SigningKey; files: readonly string[] }) {
  const database = await openDatabase(path);
  try {
    const stores = openStores(database);
    const heads = await listHeads(stores);
    // A backup from before the key was rotated has anchors that the key from then signed.
    const retired = (await Promise.all(signed.files.map((file) => readRetired(file, signed.key)))).flat();
    await signAnchorsAnew(database.db, retired, signed.key);
    const { rows, broken: why } = await verifyAuditLogs(stores, heads, signed.key);
    const held = await holdAgainst(stores, heads, signed);
    const broken = why ?? held.broken;
    if (broken !== undefined && !options.isBrokenTaken)
      throw new Error(
        `The audit log of ${options.file} is broken: ${broken}. Take another backup, or add --accept-broken-trail, ` +
          "after which `audit verify` goes on saying so.",
      );
    const at = new Date().toISOString();
    await requireUnbroken(stores, options.file, at);
    const made = await makeSafe(database, stores, options.isRevoking, at);
    return { heads, host: database.hostId, at, rows, lostRows: held.lostRows, broken, ...made };
  } finally {
    await database.close();
  }
}

/** Refuses a backup whose grants break its own rules: something else than this host has written it. */
async function requireUnbroken({ invariants }: Stores, file: string, at: string): Promise<void> {
  const { violations } = await invariants.check(undefined, at, { isRefusing: true });
  if (violations.length === 0) return;
  const said = violations.map((violation) => `\n  ${violationText(violation)}`);
  throw new Error(`The grants of ${file} break rules about them. Nothing was restored.${said.join("")}`);
}

async function readRetired(file: string, key: SigningKey): Promise<VerifyingKey[]> {
  const keys: VerifyingKey[] = [];
  await readCheckpoints(file, beginning, key, (checkpoints) => void keys.push(...retiredKeys(checkpoints)));
  return keys;
}

async function listHeads({ audit }: Stores): Promise<TenantHead[]> {
  const heads: TenantHead[] = [];
  for (;;) {
    const page = await audit.listHeads(heads.at(-1), headsPerPage);
    heads.push(...page.filter(({ sequence }) => sequence > 0));
    if (page.length < headsPerPage) return heads;
  }
}

async function verifyAuditLogs(
  { audit }: Stores,
  heads: readonly TenantHead[],
  key: SigningKey,
): Promise<{ rows: number; broken?: string }> {
  let rows = 0;
  for (const tenant of new Set(heads.map(({ namespaceId }) => namespaceId))) {
    const { anchors, broken: forged } = await audit.readAnchors(tenant, key);
    const verdict = await audit.verify(tenant, { anchors });
    rows += verdict.rows;
    const broken = forged ?? verdict.broken;
    if (broken !== undefined) return { rows, broken: whyOf(tenant, broken) };
  }
  return { rows };
}

/** Every row that was signed is in the backup, or came after it. */
async function holdAgainst(
  { audit }: Stores,
  heads: readonly TenantHead[],
  { key, files }: { key: SigningKey; files: readonly string[] },
): Promise<{ lostRows: number; broken: string | undefined }> {
  const ends = new Map(heads.map((head) => [nameOf(head), head.sequence]));
  const lost = new Map<string, number>();
  let broken: string | undefined;
  for (const file of files) {
    const restores = createRestores();
    await readCheckpoints(file, beginning, key, (checkpoints) => restores.take(checkpoints));
    await readCheckpoints(file, beginning, key, async (checkpoints) => {
      const headsByTenant = new Map<string, SignedHead[]>();
      for (const { sequence: line, at, heads: all } of checkpoints) {
        for (const head of all.filter((one) => !restores.isUndone(line, one))) {
          const behind = head.sequence - (ends.get(nameOf(head)) ?? 0);
          if (behind > 0) lost.set(nameOf(head), Math.max(behind, lost.get(nameOf(head)) ?? 0));
          else
            headsByTenant.set(head.namespaceId, [
              ...(headsByTenant.get(head.namespaceId) ?? []),
              { ...head, checkpoint: { sequence: line, at } },
            ]);
        }
      }
      for (const [tenant, signed] of headsByTenant) {
        const { anchors } = await audit.readAnchors(tenant, key);
        const found = await audit.findBreak(tenant, signed, anchors);
        if (found !== undefined) broken ??= whyOf(tenant, found);
      }
    });
  }
  return { lostRows: [...lost.values()].reduce((sum, count) => sum + count, 0), broken };
}

/** Ends what would otherwise happen twice, and records in the operators' audit log that a backup was restored. */
function makeSafe({ db }: Database, { audit }: Stores, isRevoking: boolean, at: string): Promise<Settled> {
  const change = { namespaceId: operatorsTenant, action: "backup.restore" };
  return hostAsOperator(audit, () => {}).change(change, () => settleRestored(db, at, isRevoking));
}

function whyOf(tenant: string, { why }: Break): string {
  return `of the tenant ${tenant}, ${why.replace(/\.$/, "")}`;
}

function nameOf({ strand, namespaceId }: Pick<TenantHead, "namespaceId" | "strand">): string {
  return `${strand} ${namespaceId}`;
}
