import { columnText, ConfigError } from "../shared/index.ts";
import type { AdminOutput } from "../admin-contract/index.ts";
import {
  appendLines,
  beginning,
  createRestores,
  createTrust,
  CheckpointError,
  headsOfTenant,
  isThere,
  parseLine,
  parseVerifyingKey,
  placeBehind,
  readCheckpoints,
  readUnproved,
  readVerifyingKey,
  type SignedHead,
  type Trust,
  type VerifyingKey,
} from "../audit/index.ts";
import { requestAdmin } from "./admin-request.ts";
import type { OperatorFlags } from "./connection.ts";

/** The flags of a command that trusts a key. */
export type KeyFlags = OperatorFlags & { key?: string };

/** The result of comparing an audit log with a file of checkpoints. */
export interface FileVerdict {
  file: string;
  /** The id of the key that was trusted. */
  key: string;
  /** How many heads of the tenant the file has. */
  heads: number;
  broken?: NonNullable<AdminOutput<"verifyAuditHeads">["broken"]>;
}

const headsPerRequest = 500;

/** Compares a tenant's audit log with a file: every head of the tenant in the file has to be in the audit log of the host. */
export async function verifyAgainstFile(flags: KeyFlags & { tenant: string }, file: string): Promise<FileVerdict> {
  if (!(await isThere(file))) throw new ConfigError(`--checkpoint ${file}: there is no such file.`);
  const key = await trustedKey(flags);
  const tenant = columnText(flags.tenant);
  const signed: SignedHead[] = [];
  const restores = createRestores();
  const { place: end } = await readCheckpoints(file, beginning, key, (checkpoints) => {
    restores.take(checkpoints);
    for (const checkpoint of checkpoints) signed.push(...headsOfTenant(checkpoint, tenant));
  });
  const heads = signed.filter(
    (head) => !restores.isUndone(head.checkpoint?.sequence ?? 0, { ...head, namespaceId: tenant }),
  );
  if (end.sequence === 0) throw new Error(`${file} has no checkpoint in it.`);
  const held = { file, key: key.id, heads: heads.length };
  for (let place = 0; place < heads.length; place += headsPerRequest) {
    const page = heads.slice(place, place + headsPerRequest);
    const { broken } = await requestAdmin(flags, "verifyAuditHeads", { namespaceId: flags.tenant, heads: page });
    if (broken !== undefined) return { ...held, broken };
  }
  return held;
}

/** Appends to a file the checkpoints that the host has signed since. The file stays an exact copy of the host's. */
export async function copyCheckpoints(
  flags: KeyFlags,
  file: string,
): Promise<{ file: string; added: number; sequence: number; key: string }> {
  const key = await trustedKey(flags);
  const trust = createTrust(key);
  // The key that signed the end of the file may have been replaced. The host's lines have to continue from that end, and be signed.
  const { place: known } = await readUnproved(file, beginning, (checkpoints) => trust.take(checkpoints));
  let place = known;
  let unsigned: string[] = [];
  let from = known;
  for (;;) {
    const { lines, isEnd } = await requestAdmin(flags, "readCheckpoints", { from: place.offset });
    place = follow(lines, place, trust, isEnd);
    unsigned.push(...lines);
    if (trust.isSigned()) {
      if (unsigned.length > 0) await appendLines(file, from, unsigned);
      unsigned = [];
      from = place;
    }
    if (isEnd) return { file, added: place.sequence - known.sequence, sequence: place.sequence, key: key.id };
  }
}

/** The place after these lines, which have to continue from another place; the last of all has to be signed. */
function follow(lines: readonly string[], from: typeof beginning, trust: Trust, isEnd: boolean): typeof beginning {
  let place = from;
  try {
    for (const line of lines) {
      trust.take([parseLine(line, place)]);
      place = placeBehind(line, place);
    }
    if (isEnd) trust.requireSigned();
    return place;
  } catch (cause) {
    const what = cause instanceof CheckpointError ? cause.message : String(cause);
    throw new Error(`The host's checkpoints do not go on from those in the file; nothing was added. ${what}`, {
      cause,
    });
  }
}

/** The key that the operator named; otherwise the host's own key. */
export async function trustedKey(flags: KeyFlags): Promise<VerifyingKey> {
  if (flags.key === undefined) return parseVerifyingKey((await requestAdmin(flags, "readAuditKey", {})).publicKey);
  try {
    return readVerifyingKey(flags.key);
  } catch (cause) {
    throw new ConfigError(`--key: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
