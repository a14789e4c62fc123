import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { principalKey, type DiscoveryContext } from "turnpike/contracts";
import type { HeaderSecret } from "./mcp-config.ts";

/** Whose secret it is. */
export type SecretOwner = Pick<DiscoveryContext, "namespaceId" | "owner">;

/** The headers with which requests are made on behalf of an owner. */
export interface HeaderSecrets {
  /** Their values, a minute old at most. Rejects with a `HeaderSecretError` when one cannot be read. */
  read(): Promise<Readonly<Record<string, string>>>;
  /** Makes the next request read the values again, because the server refused them. */
  forget(): void;
}

/** A header has no value. The message never quotes one. */
export class HeaderSecretError extends Error {
  override readonly name = "HeaderSecretError";
}

const freshMs = 60_000;
const maxBytes = 16_384;

/** The clock, and how long a command may take. */
export interface HeaderSecretsOptions {
  clock?(): number;
  timeoutMs?: number;
}

/** The secrets of one owner, or those for all owners when none depends on the owner. */
export function createHeaderSecrets(
  headers: Readonly<Record<string, HeaderSecret>>,
  owner: SecretOwner | undefined,
  { clock = () => performance.now(), timeoutMs = 5000 }: HeaderSecretsOptions = {},
): HeaderSecrets {
  const fillIn = (text: string): string => (owner === undefined ? text : fill(text, owner));
  const valueOf = async (header: string, { command, file = "" }: HeaderSecret): Promise<string> => {
    const text =
      command === undefined
        ? await readSecret(header, fillIn(file))
        : await run(header, command.map(fillIn), timeoutMs);
    const value = text.trimEnd();
    if (/^[\x20-\x7e]+$/.test(value)) return value;
    const source = command === undefined ? "the file" : "the command";
    throw new HeaderSecretError(`${header}: ${source} gives what no header can hold`);
  };
  let known: { values: Promise<Readonly<Record<string, string>>>; until: number } | undefined;
  const readAll = async (): Promise<Readonly<Record<string, string>>> => {
    const entries = Object.entries(headers).map(async ([name, secret]) => [name, await valueOf(name, secret)]);
    return Object.fromEntries(await Promise.all(entries)) as Record<string, string>;
  };
  return {
    read() {
      if (known !== undefined && clock() < known.until) return known.values;
      const reading = { values: readAll(), until: clock() + freshMs };
      known = reading;
      // The next request tries again after a failure.
      reading.values.catch(() => {
        if (known === reading) known = undefined;
      });
      return reading.values;
    },
    forget: () => void (known = undefined),
  };
}

/** A fetch that sends the secrets with each request. No redirect is followed: another server would get them. */
export function fetchWith(secrets: HeaderSecrets): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(await secrets.read())) headers.set(name, value);
    const response = await fetch(input, { ...init, headers, redirect: "error" });
    if (response.status === 401) secrets.forget();
    return response;
  };
}

/** Which of the two places a secret's file or command depends on. */
export function placesOf({ command = [], file = "" }: HeaderSecret): { tenant: boolean; owner: boolean } {
  const has = (place: string): boolean => [...command, file].some((text) => text.includes(place));
  return { tenant: has("{tenant}"), owner: has("{owner}") };
}

/** The text with tenant and owner in it, each encoded as one step of a path. */
function fill(text: string, { namespaceId, owner }: SecretOwner): string {
  return text.replaceAll(/\{(owner|tenant)\}/g, (_, name) =>
    encode(name === "owner" ? principalKey(owner) : namespaceId),
  );
}

/**
 * A name that is one step of a path and no option: what is not a letter, a digit or one of `_ . : @ -` is percent-encoded, and so
 * is a dot or a hyphen at the beginning.
 */
function encode(name: string): string {
  if (/\p{Cs}/u.test(name)) throw new HeaderSecretError("half of a character cannot be part of a path");
  const bytes = (text: string): string =>
    [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  return name.replaceAll(/[^\w.:@-]|^[.-]/gu, bytes);
}

async function readSecret(header: string, path: string): Promise<string> {
  try {
    // Without blocking, because opening a pipe without a writer would never return.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const { size } = await file.stat();
      if (size > maxBytes) throw new RangeError("too large");
      const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new HeaderSecretError(`${header}: the file cannot be read (${codeOf(error)})`);
  }
}

/** Each word of the command is one argument: no shell reads them. */
async function run(header: string, [program = "", ...args]: readonly string[], timeout: number): Promise<string> {
  const { PATH } = process.env;
  const options = { env: PATH === undefined ? {} : { PATH }, timeout, maxBuffer: maxBytes, windowsHide: true };
  try {
    const { stdout } = await promisify(execFile)(program, args, { ...options, killSignal: "SIGKILL" });
    return stdout;
  } catch (error) {
    const isLate = error instanceof Error && "killed" in error && error.killed === true && codeOf(error) === "failed";
    throw new HeaderSecretError(`${header}: the command ${isLate ? "took too long" : `failed (${codeOf(error)})`}`);
  }
}

/** The code of a system error. Messages are not shown, because they quote command lines and output. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code === "number") return `exit code ${code}`;
  return typeof code === "string" ? code : "failed";
}
