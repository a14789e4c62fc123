import { type Checkpoint, CheckpointError, requireSignature } from "./checkpoint.ts";
import { parseVerifyingKey, type VerifyingKey } from "./signing-key.ts";

/** Follows the lines of a file, from the key that is trusted to those that it handed over to. */
export interface Trust {
  take(checkpoints: readonly Checkpoint[]): void;
  /** Whether the last line is signed by the key that is trusted there; it proves all before it. */
  isSigned(): boolean;
  /** Throws `CheckpointError` when it is not. */
  requireSigned(): void;
}

/**
 * INVARIANT: a key is trusted when the key that was trusted before it signed the line that hands over. A reader who trusts the later
 * key needs no handover: its signature proves every line before it.
 */
export function createTrust(key: VerifyingKey): Trust {
  let current = key;
  let last: { checkpoint: Checkpoint; by: VerifyingKey } | undefined;
  const requireSigned = (): void => {
    if (last !== undefined) requireSignature(last.checkpoint, last.by);
  };
  const isSigned = (): boolean => {
    try {
      requireSigned();
      return true;
    } catch (error) {
      if (error instanceof CheckpointError) return false;
      throw error;
    }
  };
  return {
    take(checkpoints) {
      for (const checkpoint of checkpoints) {
        last = { checkpoint, by: current };
        if (checkpoint.handover !== undefined && isSigned()) current = parseKey(checkpoint.handover.to);
      }
    },
    isSigned,
    requireSigned,
  };
}

/** The keys that handed over, by lines that they signed themselves. They count only in a file whose end is trusted. */
export function retiredKeys(checkpoints: readonly Checkpoint[]): VerifyingKey[] {
  return checkpoints.flatMap((checkpoint) => {
    if (checkpoint.handover === undefined) return [];
    const key = parseKey(checkpoint.handover.from);
    requireSignature(checkpoint, key);
    return [key];
  });
}

function parseKey(pem: string): VerifyingKey {
  try {
    return parseVerifyingKey(pem);
  } catch (cause) {
    throw new CheckpointError("a line hands over to what is no key.", { cause });
  }
}
