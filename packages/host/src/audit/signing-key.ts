import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomUUID,
  sign,
  verify,
  type KeyObject,
} from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../shared/index.ts";

/** What a signature is checked with. */
export interface VerifyingKey {
  /** Names the key; it proves nothing. */
  id: string;
  pem: string;
  isSigned(text: string, signature: string): boolean;
}

/** What checkpoints are signed with. */
export interface SigningKey extends VerifyingKey {
  file: string;
  /** Whether others than the user that the host runs as can read it. */
  isExposed: boolean;
  /** Writes the same key to another file, for its owner alone. */
  copyTo(file: string): void;
  /** Signs on another thread. */
  sign(text: string): Promise<string>;
}

/** Opens the Ed25519 key in a file, or makes one there that its owner alone can read, unless told not to. Throws a message for the operator. */
export function openSigningKey(file: string, { isMade = true }: { isMade?: boolean } = {}): SigningKey {
  if (isMade && !existsSync(file)) makeKey(file);
  const key = readKey(file, createPrivateKey);
  return {
    ...verifyingKey(createPublicKey(key)),
    file,
    isExposed: isExposed(file),
    copyTo: (other) => writePrivately(other, key.export({ type: "pkcs8", format: "pem" }).toString()),
    sign: (text) =>
      new Promise((resolve, reject) => {
        sign(null, Buffer.from(text), key, (error, signature) =>
          error ? reject(error) : resolve(signature.toString("base64url")),
        );
      }),
  };
}

/** The owner of a file can read it, whatever its mode. */
function isExposed(file: string): boolean {
  const { mode, uid } = statSync(file);
  return (mode & 0o077) !== 0 || (process.getuid !== undefined && uid !== process.getuid());
}

/** Reads a public key from a PEM file. Throws a message for the operator. */
export function readVerifyingKey(file: string): VerifyingKey {
  return verifyingKey(readKey(file, createPublicKey));
}

/** The public key of a PEM text. */
export function parseVerifyingKey(pem: string): VerifyingKey {
  return verifyingKey(createPublicKey(pem));
}

function verifyingKey(key: KeyObject): VerifyingKey {
  const der = key.export({ type: "spki", format: "der" });
  return {
    id: createHash("sha256").update(der).digest("hex").slice(0, 32),
    pem: key.export({ type: "spki", format: "pem" }).toString(),
    isSigned: (text, signature) => verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url")),
  };
}

function readKey(file: string, read: (pem: string) => KeyObject): KeyObject {
  try {
    const key = read(readFileSync(file, "utf8"));
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (cause) {
    throw new Error(`${file} cannot be read as an Ed25519 key in PEM.`, { cause });
  }
  throw new Error(`${file} is a key of another kind; expected Ed25519.`);
}

/** A half-written key is never seen under its name, and a key that another process just made is left alone. */
function makeKey(file: string): void {
  // Under an unpredictable name: a file with a known name could be a link that an attacker placed there.
  const draft = `${file}.${randomUUID()}`;
  try {
    makeFolder(dirname(file));
    try {
      writePrivately(
        draft,
        generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      );
      linkSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
  } catch (cause) {
    if (existsSync(file)) return;
    throw new Error(`${file} cannot be made: audit checkpoints are signed with the key in it.`, { cause });
  }
}

function writePrivately(file: string, text: string): void {
  const handle = openSync(file, "wx", 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
