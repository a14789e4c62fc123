import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describeIssues, readJsonText } from "turnpike/contracts";
import { z } from "zod";
import { ConfigError, isLoopback, makeFolder, putInPlace } from "../shared/index.ts";
import { commandLine } from "./format.ts";

const ContextSchema = z.strictObject({
  url: z.string().refine(isHttp, "expected an http or https address"),
  /** Whose token it is. Operators and callers use different commands. */
  kind: z.enum(["caller", "operator"]),
  /** Who signed in, and with which credential: for people, who then need no host to be told. */
  actor: z.string(),
  credentialId: z.string(),
  /** Absent when signed out, and where the operator's token is beside the database. */
  token: z.string().optional(),
  /** The absolute path of the SQLite file of a host on this machine. */
  database: z.string().optional(),
  /** The tenant of commands that are given none. */
  tenant: z.string().optional(),
});

const ContextsSchema = z.strictObject({
  format: z.literal("turnpike-contexts/1"),
  current: z.string().optional(),
  contexts: z.record(z.string(), ContextSchema),
});

/** One host, and who the user is there. */
export type Context = z.infer<typeof ContextSchema>;
/** Everything that the file of contexts holds. */
export type Contexts = z.infer<typeof ContextsSchema>;

/** Where contexts are stored: in the user's configuration folder, as the XDG Base Directory Specification says. */
export function contextFile(env: NodeJS.ProcessEnv): string {
  const { XDG_CONFIG_HOME: given = "", HOME: home } = env;
  const folder = isAbsolute(given) ? given : join(home || homedir(), ".config");
  return join(folder, "turnpike", "contexts.json");
}

/** The stored contexts. Throws for a file that others may read or change, and for one that is not understood. */
export function readContexts(file: string): Contexts {
  const text = readPrivateText(file);
  if (text === undefined) return { format: "turnpike-contexts/1", contexts: {} };
  const reading = readJsonText(text);
  const checked = reading.ok ? ContextsSchema.safeParse(reading.value) : undefined;
  if (checked?.success !== true) {
    // What JSON.parse says would quote the file, which has tokens in it.
    const why = checked === undefined ? "it is no JSON" : describeIssues(checked.error.issues);
    throw unusable(`${file} is not understood: ${why}. Repair it, or move it away: ${moving(file)}`);
  }
  for (const [name, { url }] of Object.entries(checked.data.contexts))
    refusePlainHttp(url, `${file}: the context ${name}`);
  return checked.data;
}

/** INVARIANT: no token, wherever it is stored, crosses a network in plain text because of a context. */
export function refusePlainHttp(url: string, where: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:" || isLoopback(hostname)) return;
  throw new ConfigError(`${where}: ${url} would show the token to the network. Expected https, or this machine.`);
}

/** Changes the stored contexts, one command at a time. The file stays as it is when anything fails. */
export async function changeContexts<T>(file: string, change: (contexts: Contexts) => T): Promise<T> {
  makeFolder(dirname(file));
  const unlock = await lock(`${file}.lock`);
  // The file may be a link into the user's collection of settings.
  const target = statSync(file, { throwIfNoEntry: false }) === undefined ? file : realpathSync(file);
  const draft = `${target}.${randomUUID()}.part`;
  try {
    const contexts = readContexts(file);
    const result = change(contexts);
    writeFileSync(draft, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    putInPlace(draft, target, { isReplaced: true });
    return result;
  } finally {
    rmSync(draft, { force: true });
    unlock();
  }
}

const lockTries = 100;
const lockMs = 50;

/** Waits until no other command changes the file, and says how to go on when one never ends. */
async function lock(file: string): Promise<() => void> {
  for (let tries = 0; tries < lockTries; tries += 1) {
    try {
      closeSync(openSync(file, "wx", 0o600));
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      await setTimeout(lockMs);
    }
  }
  const remove = commandLine(["rm", file]);
  throw new ConfigError(`Another command changes your contexts. If none runs: ${remove}`, { code: "invalid_config" });
}

/** The text of a file that is its owner's alone; undefined when there is none. */
function readPrivateText(file: string): string | undefined {
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ConfigError(`${file} cannot be read.`, { code: "invalid_config", cause });
  }
  try {
    // What is checked is what is read, also when another file is put there meanwhile.
    requirePrivate(file, fstatSync(handle), 0o077, "600");
    requirePrivate(dirname(file), statSync(dirname(file)), 0o022, "700");
    return readFileSync(handle, "utf8");
  } finally {
    closeSync(handle);
  }
}

/** A user who could read it would have the tokens in it; one who could change it would be sent the next one. */
function requirePrivate(
  path: string,
  { mode, uid }: { mode: number; uid: number },
  refused: number,
  right: string,
): void {
  // Windows has neither.
  if (process.getuid === undefined) return;
  if (uid !== process.getuid()) throw unusable(`${path} belongs to another user, so it is not used.`);
  if ((mode & refused) === 0) return;
  const open = `${path} is open to others (mode ${(mode & 0o777).toString(8)}), and there may be tokens in it`;
  throw unusable(`${open}. Make it yours alone: ${commandLine(["chmod", right, path])}`);
}

function unusable(message: string): ConfigError {
  return new ConfigError(message, { code: "invalid_config" });
}

function moving(file: string): string {
  return commandLine(["mv", file, `${file}.broken`]);
}

function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:/.test(url);
}
