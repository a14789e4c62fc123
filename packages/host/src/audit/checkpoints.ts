import { existsSync } from "node:fs";
import { sql } from "kysely";
import { columnText, yieldToEventLoop } from "../shared/index.ts";
import { advisoryLocks, type Database, findLostChains, type Gap, type LostChain } from "../storage/index.ts";
import { errorFacts, type Log } from "../telemetry/index.ts";
import type { AuditStore } from "./audit-store.ts";
import type { TenantHead } from "../ledger/index.ts";
import {
  beginning,
  type Checkpoint,
  CheckpointError,
  headsOfTenant,
  headsPerLine,
  type LostRows,
  placeBehind,
  signLine,
} from "./checkpoint.ts";
import { appendLines, copyLines, readCheckpoints } from "./checkpoint-file.ts";
import { createNewestHeads, createRestores, nameOf, type Restores, signGap } from "./restores.ts";
import type { SigningKey, VerifyingKey } from "./signing-key.ts";
import type { SignedHead } from "./audit-verify.ts";

/** Signed heads of every audit log, in a file outside the database: they reveal what was removed or rewritten in there. */
export interface Checkpoints {
  readonly key: SigningKey;
  /** How many heads wait to be signed. */
  readonly waiting: number;
  /** The newest checkpoint in the file as far as this host knows; undefined before the first. */
  readonly last: Pick<Checkpoint, "sequence" | "at"> | undefined;
  /** Signs the heads that changed since the last time and appends them to the file. Rejects when that fails. */
  write(): Promise<void>;
  /**
   * Every head of a tenant that was signed or is about to be, some at a time; they count once this resolves. Rejects
   * with a `CheckpointError` when the file is not whole.
   */
  headsOf(namespaceId: string, take: (heads: readonly SignedHead[]) => Promise<void>): Promise<void>;
  /** Whether there is a file. Nothing was signed before there is one. */
  readonly isThere: boolean;
  /** The newest head of every chain that has to be in the database, by the lines of the file. */
  newestHeads(): Promise<readonly TenantHead[]>;
  /** What the lines of the file say of restored backups and of lost rows. */
  restores(): Promise<Pick<Restores, "all" | "gaps">>;
  /** Signs that rows are lost, behind every head that was acknowledged and not signed yet. Unless that was signed before. */
  signLoss(gap: Gap): Promise<void>;
  /** Signs that an operator accepted these losses: from here on the rows need not be there. */
  signAcceptance(ids: readonly string[]): Promise<void>;
  /** Lines of the file from a byte on. Throws `CheckpointError` when the file does not reach that far. */
  copy(from: number): Promise<{ lines: string[]; isEnd: boolean }>;
  /** Writes now and every so many seconds, for as long as the host runs. What fails is logged and tried again. */
  start(seconds: number): void;
  /** Stops that, after a last time. */
  close(): Promise<void>;
}

/** What checkpoints are made of. */
export interface CheckpointOptions {
  file: string;
  key: SigningKey;
  audit: AuditStore;
  database: Pick<Database, "db" | "isShared" | "hostId">;
  log: Log;
  clock(): Date;
}

const headsPerPage = 500;
const copyBytes = 262_144;
const tenantsNamed = 5;

/** Writes and reads the checkpoints of one host. It does neither before `start`, `write` or a read is called. */
export function createCheckpoints({ file, key, audit, database, log, clock }: CheckpointOptions): Checkpoints {
  let place = beginning;
  let last: Checkpoints["last"];
  let isOpened = false;
  const restores = createRestores();
  /** How far the file was read for them. */
  let restoresPlace = beginning;
  let readingRestores: Promise<unknown> = Promise.resolve();
  let unsigned: TenantHead[] = [];
  let turn: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const gather = (): void => void (unsigned = unsigned.concat(audit.takeHeads()));

  const remember = ({ sequence, at }: Pick<Checkpoint, "sequence" | "at">): void => void (last = { sequence, at });

  /** Reads the file for the first time, and holds the database against it. */
  const open = async (): Promise<void> => {
    const newest = createNewestHeads();
    const reading = await readCheckpoints(file, beginning, key, (checkpoints) => {
      newest.take(checkpoints);
      for (const checkpoint of checkpoints.slice(-1)) remember(checkpoint);
    });
    const { ahead, behind } = await compareHeads(audit, newest.heads);
    // Also when the key is new: an attacker who removes the checkpoints can remove the key as well.
    if (reading.place.sequence === 0 && database.hostId > 1 && ahead.length > 0)
      log.warn(
        { file },
        "no earlier audit checkpoints were found; rows removed from the audit log before now will not be noticed",
      );
    if (behind.length > 0)
      log.error(
        { tenants: behind.length, first: behind.slice(0, tenantsNamed), checkpoint: reading.place.sequence },
        "the audit log is behind its checkpoints: it was cut, or an older database was restored; see `audit verify`",
      );
    gather();
    // The heads that this process wrote are newer than those that were read from the database.
    const own = new Set(unsigned.map(nameOf));
    unsigned = [...ahead.filter((head) => !own.has(nameOf(head))), ...unsigned];
    place = reading.place;
    isOpened = true;
  };

  /** Reads what came behind the place since, from another host or from a write that failed. */
  const catchUp = async (): Promise<void> => {
    if (!isOpened) await open();
    const { place: end, isTorn } = await readCheckpoints(file, place, key, (checkpoints) => {
      for (const checkpoint of checkpoints.slice(-1)) remember(checkpoint);
    });
    if (isTorn) log.warn({ file, checkpoint: end.sequence }, "cut a torn checkpoint off, which was never finished");
    place = end;
  };

  const signHeads = async (): Promise<void> => {
    await catchUp();
    gather();
    while (unsigned.length > 0) {
      const heads = unsigned.slice(0, headsPerLine);
      const at = clock().toISOString();
      const line = await signLine(place, { at, host: database.hostId, heads }, key);
      await appendLines(file, place, [line]);
      place = placeBehind(line, place);
      remember({ sequence: place.sequence, at });
      unsigned = unsigned.slice(heads.length);
    }
  };
  const writeNow = async (): Promise<void> => {
    if (isOpened && unsigned.length + audit.untaken === 0) return;
    await takingTurns(database, signHeads);
  };

  /** Reads what came since the last time. No other backup is restored while the host runs, but other hosts may sign here. */
  const findRestores = (): Promise<Restores> => {
    const read = async (): Promise<Restores> => {
      const reading = await readCheckpoints(file, restoresPlace, key, (checkpoints) => restores.take(checkpoints));
      restoresPlace = reading.place;
      return restores;
    };
    const mine = readingRestores.then(read, read);
    readingRestores = mine.catch(() => {});
    return mine;
  };

  const inTurn = (work: () => Promise<void>): Promise<void> => (turn = turn.then(work, work));
  const write = (): Promise<void> => inTurn(writeNow);
  const tryToWrite = (): Promise<void> =>
    write().catch((error: unknown) => log.error(errorFacts(error), "could not write audit checkpoint, will retry"));

  return {
    key,
    get waiting() {
      return unsigned.length + audit.untaken;
    },
    get last() {
      return last;
    },
    write,
    async headsOf(namespaceId, take) {
      gather();
      // Copied before the file is read: a head that is signed meanwhile is found twice, and none is missed.
      const [known, own] = [place, unsigned];
      // A file that is another one by now is refused below, where it is read as a whole.
      const { isUndone } = await findRestores().catch(() => restores);
      const tenant = columnText(namespaceId);
      let hash: string | undefined;
      const { place: end } = await readCheckpoints(file, beginning, key, async (checkpoints) => {
        hash ??= checkpoints.find(({ sequence }) => sequence === known.sequence + 1)?.previous;
        const heads = checkpoints.flatMap((checkpoint) =>
          headsOfTenant(checkpoint, tenant).filter(
            (head) => !isUndone(checkpoint.sequence, { ...head, namespaceId: tenant }),
          ),
        );
        if (heads.length > 0) await take(heads);
      });
      if (end.sequence < known.sequence)
        throw new CheckpointError(`${file}: lines at its end were removed; this host has seen line ${known.sequence}.`);
      if ((end.sequence === known.sequence ? end.hash : hash) !== known.hash)
        throw new CheckpointError(
          `${file}: this is another file: its line ${known.sequence} is not the one this host has seen.`,
        );
      await take(headsOfTenant({ heads: own }, tenant));
    },
    get isThere() {
      return existsSync(file);
    },
    async newestHeads() {
      const newest = createNewestHeads();
      await readCheckpoints(file, beginning, key, newest.take);
      return [...newest.heads.values()];
    },
    restores: findRestores,
    signLoss: ({ id, at, chains }) =>
      inTurn(() =>
        takingTurns(database, async () => {
          await signHeads();
          if ((await findRestores()).gaps.some((gap) => gap.id === id)) return;
          const lost = await measureLoss(file, key, database, chains);
          await appendLines(file, place, await signGap(place, { id, at, host: database.hostId, chains: lost }, key));
        }),
      ),
    signAcceptance: (ids) =>
      inTurn(() =>
        takingTurns(database, async () => {
          await catchUp();
          const { gaps } = await findRestores();
          const unaccepted = gaps.filter(({ acceptedAt }) => acceptedAt === undefined).map(({ id }) => id);
          const accepted = unaccepted.filter((id) => ids.includes(id));
          if (accepted.length === 0) return;
          const at = clock().toISOString();
          const line = await signLine(place, { at, host: database.hostId, heads: [], accepted }, key);
          await appendLines(file, place, [line]);
        }),
      ),
    copy: (from) => copyLines(file, from, copyBytes),
    start(seconds) {
      if (key.isExposed)
        log.warn(
          { file: key.file },
          "others can read the key of audit checkpoints, and sign with it: own it and chmod 600 it",
        );
      void tryToWrite();
      timer = setInterval(() => void tryToWrite(), seconds * 1000);
    },
    async close() {
      clearInterval(timer);
      await tryToWrite();
    },
  };
}

/** Which heads are newer than those that were signed, and the tenants whose audit logs do not reach that far. */
async function compareHeads(
  audit: AuditStore,
  signed: ReadonlyMap<string, TenantHead>,
): Promise<{ ahead: TenantHead[]; behind: string[] }> {
  const unseen = new Map(signed);
  const ahead: TenantHead[] = [];
  const behind: string[] = [];
  let last: TenantHead | undefined;
  for (;;) {
    const page = await audit.listHeads(last, headsPerPage);
    for (const head of page) {
      const before = signed.get(nameOf(head));
      unseen.delete(nameOf(head));
      if (before === undefined || before.sequence < head.sequence) ahead.push(head);
      else if (before.hash !== head.hash) behind.push(head.namespaceId);
    }
    last = page.at(-1);
    if (page.length < headsPerPage)
      return { ahead, behind: [...behind, ...Array.from(unseen.values(), ({ namespaceId }) => namespaceId)] };
    await yieldToEventLoop();
  }
}

/** Of each chain, which of its signed rows is the last that is still there. */
async function measureLoss(
  file: string,
  key: VerifyingKey,
  { db }: Pick<Database, "db">,
  chains: readonly LostChain[],
): Promise<LostRows[]> {
  const signed = new Map<string, TenantHead[]>(chains.map((chain) => [nameOf(chain), []]));
  await readCheckpoints(file, beginning, key, (checkpoints) => {
    for (const { heads } of checkpoints) for (const head of heads) signed.get(nameOf(head))?.push(head);
  });
  const lost: LostRows[] = [];
  for (const { namespaceId, strand, sequence: until, now } of chains) {
    let from = 0;
    for (const head of signed.get(nameOf({ namespaceId, strand }))?.toReversed() ?? []) {
      if ((await findLostChains(db, [head])).length > 0) continue;
      from = head.sequence;
      break;
    }
    lost.push({ namespaceId, strand, from, now, until });
  }
  return lost;
}

/** An SQLite file belongs to one process already; hosts of a PostgreSQL may run in the same folder. */
async function takingTurns({ db, isShared }: CheckpointOptions["database"], work: () => Promise<void>): Promise<void> {
  if (!isShared) return work();
  await db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${advisoryLocks.checkpointFile}, 0)`.execute(transaction);
    await work();
  });
}
