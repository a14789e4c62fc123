import { createHash } from "node:crypto";
import { canonicalJson, describeIssues } from "turnpike/contracts";
import { z } from "zod";
import { origin, type TenantHead } from "../ledger/index.ts";
import type { SigningKey, VerifyingKey } from "./signing-key.ts";
import type { SignedHead } from "./audit-verify.ts";
import { HashSchema, StrandHeadSchema } from "../admin-contract/index.ts";

/** A checkpoint, or a file of them, that is not valid; the message is for the operator. */
export class CheckpointError extends Error {
  override readonly name = "CheckpointError";
}

/** The number of heads in one line; more go into several, so that no call waits long while one is made. */
export const headsPerLine = 500;

const LostRowsSchema = z.strictObject({
  namespaceId: z.string(),
  strand: z.int().min(0),
  /** The last row that was signed and is still there; 0 for none. */
  from: z.int().min(0),
  /** The last row that there was when the loss was noticed. */
  now: z.int().min(0),
  /** The last row that was acknowledged. */
  until: z.int().min(1),
});

/** A chain that lost rows, as a checkpoint says it. */
export type LostRows = z.infer<typeof LostRowsSchema>;

const CheckpointSchema = z.strictObject({
  version: z.literal(1),
  /** Counts the lines of a file, from 1. */
  sequence: z.int().min(1),
  /** The hash of the line before this one. */
  previous: HashSchema,
  at: z.iso.datetime(),
  /** The process that signed, by its id in the database. */
  host: z.int(),
  /** The heads that changed since the line before. */
  heads: z.array(StrandHeadSchema.extend({ namespaceId: z.string() })),
  /** The line is one of those that say that a backup was restored; together they have every head of the backup. */
  restored: z.strictObject({ part: z.int().min(1), of: z.int().min(1) }).optional(),
  /** The line is one of those that say which rows the database lost. */
  gap: z
    .strictObject({
      id: z.string().max(100),
      part: z.int().min(1),
      of: z.int().min(1),
      chains: z.array(LostRowsSchema).max(headsPerLine),
    })
    .optional(),
  /** An operator accepted the losses with these ids: from here on their rows need not be there. */
  accepted: z.array(z.string().max(100)).max(headsPerLine).optional(),
  /** The key that signs this line hands over to another, which signs the lines behind it: their public keys, in PEM. */
  handover: z.strictObject({ from: z.string().max(1000), to: z.string().max(1000) }).optional(),
  /** The id of the key. */
  key: z.string(),
  /** Of the canonical JSON of everything else. */
  signature: z.string(),
});

/** Heads of audit logs at one instant, signed: one line of a checkpoint file. */
export type Checkpoint = z.infer<typeof CheckpointSchema>;

/** A place between two lines of a checkpoint file. */
export interface Place {
  /** In bytes. */
  offset: number;
  /** The number and the hash of the line before. */
  sequence: number;
  hash: string;
}

/** The beginning of a file. */
export const beginning: Place = { offset: 0, sequence: 0, hash: origin };

/** The place behind a line. */
export function placeBehind(line: string | Buffer, before: Place): Place {
  return {
    offset: before.offset + Buffer.byteLength(line) + 1,
    sequence: before.sequence + 1,
    hash: createHash("sha256").update(line).digest("hex"),
  };
}

/** The line that puts heads behind a place. */
export async function signLine(
  { sequence, hash }: Place,
  content: Pick<Checkpoint, "at" | "host" | "restored" | "gap" | "accepted" | "handover"> & {
    heads: readonly TenantHead[];
  },
  key: SigningKey,
): Promise<string> {
  const unsigned = { version: 1, sequence: sequence + 1, previous: hash, ...content, key: key.id };
  return canonicalJson({ ...unsigned, signature: await key.sign(canonicalJson(unsigned)) });
}

/** Reads the line behind a place. Its signature is not checked. */
export function parseLine(line: string, { sequence, hash }: Place): Checkpoint {
  const number = sequence + 1;
  const read = CheckpointSchema.safeParse(jsonOf(line));
  if (!read.success) throw new CheckpointError(`line ${number} is no checkpoint: ${describeIssues(read.error.issues)}`);
  if (read.data.sequence !== number || read.data.previous !== hash)
    throw new CheckpointError(`line ${number} does not go on from the line before: lines were changed or removed.`);
  return read.data;
}

/** Requires that a checkpoint was signed with the key that is trusted, whichever key it names itself. */
export function requireSignature({ signature, ...unsigned }: Checkpoint, key: VerifyingKey): void {
  if (key.isSigned(canonicalJson(unsigned), signature)) return;
  const { sequence } = unsigned;
  throw new CheckpointError(
    unsigned.key === key.id
      ? `line ${sequence} was changed: its signature is not the key's.`
      : `line ${sequence} is signed by the key ${unsigned.key}, and the key that is trusted is ${key.id}.`,
  );
}

/** The heads of one tenant, with the checkpoint that holds them; without it when they are yet to be signed. */
export function headsOfTenant(
  { sequence, at, heads }: Pick<Checkpoint, "heads"> & Partial<Checkpoint>,
  tenant: string,
): SignedHead[] {
  const checkpoint = sequence === undefined || at === undefined ? {} : { checkpoint: { sequence, at } };
  return heads
    .filter(({ namespaceId }) => namespaceId === tenant)
    .map(({ strand, sequence: row, hash }) => ({ strand, sequence: row, hash, ...checkpoint }));
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}
