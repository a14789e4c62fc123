import { canonicalJson } from "turnpike/contracts";
import type { SigningKey, VerifyingKey } from "./signing-key.ts";

/** What a signature adds to a record; it is of the canonical JSON of everything else. */
export interface Signed {
  /** The id of the key. */
  key: string;
  signature: string;
}

/** Signs a record. INVARIANT: its `kind` tells it from every other record that the key signs. */
export async function signRecord<Content extends { kind: string }>(
  content: Content,
  key: SigningKey,
): Promise<Content & Signed> {
  const unsigned = { ...content, key: key.id };
  return { ...unsigned, signature: await key.sign(canonicalJson(unsigned)) };
}

/** Why a record does not count, as the end of a sentence; undefined when it was signed with the key that is trusted. */
export function signatureProblem({ signature, ...unsigned }: Signed, key: VerifyingKey): string | undefined {
  if (key.isSigned(canonicalJson(unsigned), signature)) return undefined;
  return unsigned.key === key.id
    ? "was changed: its signature is not the key's"
    : `is signed by the key ${unsigned.key}, and the key that is trusted is ${key.id}`;
}
