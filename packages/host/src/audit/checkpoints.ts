import { sql } from "kysely";
import { columnText, yieldToEventLoop } from "../base/index.ts";
import type { Database } from "../storage/index.ts";
import { errorFacts, type Log } from "../observe/index.ts";
import type { AuditStore } from "./audit-store.ts";
import type { TenantHead } from "../ledger/index.ts";
import {
  beginning,
  type Checkpoint,
  CheckpointError,
  headsOfTenant,
  headsPerLine,
  placeBehind,
  signLine,
} from "./checkpoint.ts";
import { appendLines, copyLines, readCheckpoints } from "./checkpoint-file.ts";
import { createRestores, readRestores, type Restores } from "./restores.ts";
import type { SigningKey } from "./signing-key.ts";
import type { SignedHead } from "./audit-verify.ts";

/** Signed heads of every trail, in a file outside the database: what was cut or rewritten in there is found with them. */
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
  /** When backups were restored, by the lines of the file. */
  restores(): Promise<Restores["all"]>;
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

/** Hosts that share a folder take turns at its file. */
const fileLock = 7444;
const headsPerPage = 500;
const copyBytes = 262_144;
const tenantsNamed = 5;

/** Keeps the checkpoints of one host. Nothing is read or written before it is told to. */
export function createCheckpoints({ file, key, audit, database, log, clock }: CheckpointOptions): Checkpoints {
  let place = beginning;
  let last: Checkpoints["last"];
  let isOpened = false;
  let restores = createRestores();
  let unsigned: TenantHead[] = [];
  let turn: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const gather = (): void => void (unsigned = unsigned.concat(audit.takeHeads()));

  const remember = ({ sequence, at }: Pick<Checkpoint, "sequence" | "at">): void => void (last = { sequence, at });

  /** Reads the file for the first time, and holds the database against it. */
  const open = async (): Promise<void> => {
    const newest = new Map<string, TenantHead>();
    restores = createRestores();
    const reading = await readCheckpoints(file, beginning, key, (checkpoints) => {
      restores.take(checkpoints);
      for (const { heads, restored } of checkpoints) {
        // What was signed before a backup was restored need not be there any more.
        if (restored?.part === 1) newest.clear();
        for (const head of heads) newest.set(nameOf(head), head);
      }
      for (const checkpoint of checkpoints.slice(-1)) remember(checkpoint);
    });
    const { ahead, behind } = await compareHeads(audit, newest);
    // Also when the key is new: whoever takes the checkpoints away can take the key as well.
    if (reading.place.sequence === 0 && database.hostId > 1 && ahead.length > 0)
      log.warn({ file }, "there are no audit checkpoints of earlier; a cut of the trail from before now is not found");
    if (behind.length > 0)
      log.error(
        { tenants: behind.length, first: behind.slice(0, tenantsNamed), checkpoint: reading.place.sequence },
        "the audit trail is behind its checkpoints: it was cut, or an older database was restored; see `audit verify`",
      );
    gather();
    // Of what this process wrote itself it knows better than the database.
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

  const writeNow = async (): Promise<void> => {
    if (isOpened && unsigned.length + audit.untaken === 0) return;
    await takingTurns(database, async () => {
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
    });
  };

  /** While the host runs nobody restores anything. */
  const findRestores = async (): Promise<Restores> => (isOpened ? restores : readRestores(file, key));

  const write = (): Promise<void> => (turn = turn.then(writeNow, writeNow));
  const tryToWrite = (): Promise<void> =>
    write().catch((error: unknown) => log.error(errorFacts(error), "audit checkpoint not written"));

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
      // Taken before the file is read: what is signed meanwhile is in both, and nothing is in neither.
      const [known, own] = [place, unsigned];
      const { isUndone } = await findRestores();
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
    restores: async () => (await findRestores()).all,
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

/** Which heads are newer than those that were signed, and the tenants whose trails do not reach that far. */
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

function nameOf({ strand, namespaceId }: TenantHead): string {
  return `${strand} ${namespaceId}`;
}

/** An SQLite file belongs to one process already; hosts of a PostgreSQL may stand in the same folder. */
async function takingTurns({ db, isShared }: CheckpointOptions["database"], work: () => Promise<void>): Promise<void> {
  if (!isShared) return work();
  await db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${fileLock}, 0)`.execute(transaction);
    await work();
  });
}
