import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError, putInPlace, programName } from "../shared/index.ts";
import type { Database } from "../storage/index.ts";
import { signAnchorsAnew } from "./anchors.ts";
import { beginning, type Checkpoint, placeBehind, signLine } from "./checkpoint.ts";
import { appendLines, readCheckpoints } from "./checkpoint-file.ts";
import { openSigningKey, type SigningKey } from "./signing-key.ts";

/** What a rotation did. */
export interface KeyRotation {
  /** The ids of the keys. */
  from: string;
  to: string;
  /** How many anchors were signed anew. */
  anchors: number;
  /** The file with the public key from before. */
  publicKeyFile: string;
}

/** Where the next key is until it is the key. */
function nextFile(keyFile: string): string {
  return `${keyFile}.next`;
}

/** Refuses to sign with a key that may have handed over already. */
export function refuseHalfRotated(keyFile: string): void {
  if (existsSync(nextFile(keyFile)))
    throw new ConfigError(`The rotation of ${keyFile} was interrupted. Run: ${programName()} audit key rotate`);
}

/**
 * Replaces the key that checkpoints and anchors are signed with. The old key signs that it hands over to the new one, so a reader who
 * trusts the old one still trusts the file. A rotation that was killed is completed by running it again; until then no host starts.
 */
export async function rotateKey(
  { db, hostId }: Pick<Database, "db" | "hostId">,
  { keyFile, file, given, at }: { keyFile: string; file: string; given?: SigningKey | undefined; at: string },
): Promise<KeyRotation> {
  if (!existsSync(keyFile)) throw new ConfigError(`${keyFile} does not exist: the next start of the host makes a key.`);
  const old = openSigningKey(keyFile);
  if (given?.id === old.id) throw new ConfigError(`${given.file} is the key that the host signs with already.`);
  const next = openNext(keyFile, given);
  await handOver(file, { old, next, host: hostId, at });
  const anchors = await signAnchorsAnew(db, [old], next);
  const publicKeyFile = join(dirname(keyFile), `audit-key.${old.id}.pub.pem`);
  writeFileSync(publicKeyFile, old.pem, { mode: 0o600 });
  putInPlace(nextFile(keyFile), keyFile, { isReplaced: true });
  return { from: old.id, to: next.id, anchors, publicKeyFile };
}

function openNext(keyFile: string, given: SigningKey | undefined): SigningKey {
  const file = nextFile(keyFile);
  if (given !== undefined && !existsSync(file)) given.copyTo(file);
  const next = openSigningKey(file);
  if (given === undefined || given.id === next.id) return next;
  throw new ConfigError(
    `${file} is another key, of a rotation that was interrupted. Run it again without --with first.`,
  );
}

/** Two lines: the old key hands over, and the new one signs that, so that either of them proves the file. */
async function handOver(
  file: string,
  { old, next, host, at }: { old: SigningKey; next: SigningKey; host: number; at: string },
): Promise<void> {
  let last: Checkpoint | undefined;
  const { place: end } = await readCheckpoints(file, beginning, old, (checkpoints) => {
    last = checkpoints.at(-1) ?? last;
  });
  if (last?.key === next.id) return;
  const lines: string[] = [];
  let place = end;
  if (last?.handover?.to !== next.pem) {
    const handover = { from: old.pem, to: next.pem };
    lines.push(await signLine(place, { at, host, heads: [], handover }, old));
    place = placeBehind(lines[0] ?? "", place);
  }
  lines.push(await signLine(place, { at, host, heads: [] }, next));
  await appendLines(file, end, lines);
}
