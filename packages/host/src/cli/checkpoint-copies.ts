import { columnText, ConfigError } from "../base/index.ts";
import type { AdminOutput } from "../management/index.ts";
import {
  appendLines,
  beginning,
  CheckpointError,
  headsOfTenant,
  isThere,
  parseLine,
  parseVerifyingKey,
  placeBehind,
  readCheckpoints,
  readVerifyingKey,
  requireSignature,
  type SignedHead,
  type VerifyingKey,
} from "../audit/index.ts";
import { askHost } from "./admin-request.ts";
import type { OperatorFlags } from "./connection.ts";

/** How an operator's command is told which key to trust. */
type KeyFlags = OperatorFlags & { key?: string };

/** What holding a trail against a file of checkpoints came to. */
export interface HeldAgainst {
  file: string;
  /** The id of the key that was trusted. */
  key: string;
  /** How many heads of the tenant the file has. */
  heads: number;
  broken?: NonNullable<AdminOutput<"verifyAuditHeads">["broken"]>;
}

const headsPerRequest = 500;

/** Asks the host whether every head that a file has of a tenant is on its trail. */
export async function holdAgainstFile(flags: KeyFlags & { tenant: string }, file: string): Promise<HeldAgainst> {
  if (!(await isThere(file))) throw new ConfigError(`--checkpoint ${file}: there is no such file.`);
  const key = await trustedKey(flags);
  const heads: SignedHead[] = [];
  const { place: end } = await readCheckpoints(file, beginning, key, (checkpoints) => {
    for (const checkpoint of checkpoints) heads.push(...headsOfTenant(checkpoint, columnText(flags.tenant)));
  });
  if (end.sequence === 0) throw new Error(`${file} has no checkpoint in it.`);
  const held = { file, key: key.id, heads: heads.length };
  for (let place = 0; place < heads.length; place += headsPerRequest) {
    const page = heads.slice(place, place + headsPerRequest);
    const { broken } = await askHost(flags, "verifyAuditHeads", { namespaceId: flags.tenant, heads: page });
    if (broken !== undefined) return { ...held, broken };
  }
  return held;
}

/** Appends to a file what the host has signed since; the file stays a copy of the host's from its first line on. */
export async function copyCheckpoints(
  flags: KeyFlags,
  file: string,
): Promise<{ file: string; added: number; sequence: number; key: string }> {
  const key = await trustedKey(flags);
  const { place: known } = await readCheckpoints(file, beginning, key, () => {});
  let place = known;
  for (;;) {
    const { lines, isEnd } = await askHost(flags, "readCheckpoints", { from: place.offset });
    const end = follow(lines, place, key);
    if (lines.length > 0) await appendLines(file, place, lines);
    place = end;
    if (isEnd) return { file, added: place.sequence - known.sequence, sequence: place.sequence, key: key.id };
  }
}

/** The place behind lines that go on from another place and are signed. */
function follow(lines: readonly string[], from: typeof beginning, key: VerifyingKey): typeof beginning {
  let place = from;
  try {
    for (const [number, line] of lines.entries()) {
      const checkpoint = parseLine(line, place);
      if (number === lines.length - 1) requireSignature(checkpoint, key);
      place = placeBehind(line, place);
    }
    return place;
  } catch (cause) {
    const what = cause instanceof CheckpointError ? cause.message : String(cause);
    throw new Error(`The host's checkpoints do not go on from those in the file; nothing was added. ${what}`, {
      cause,
    });
  }
}

/** A key from the operator's own hands; else the one that the host has now. */
async function trustedKey(flags: KeyFlags): Promise<VerifyingKey> {
  if (flags.key === undefined) return parseVerifyingKey((await askHost(flags, "readAuditKey", {})).publicKey);
  try {
    return readVerifyingKey(flags.key);
  } catch (cause) {
    throw new ConfigError(`--key: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
