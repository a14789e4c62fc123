import { execFile, fork, type ChildProcess, type StdioOptions } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { placeFor } from "./effect-host.ts";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "./host-process.ts";

const askingHost = fileURLToPath(new URL("./asking-host.js", import.meta.url));
const commandSession = fileURLToPath(new URL("./command-session.js", import.meta.url));

/** Starts the host whose agents end their turns as the message says. */
export async function startAskingHost(kind: "sqlite" | "postgres"): Promise<HostProcess> {
  const { database } = await placeFor(kind);
  const args = ["log.level=error", ...(database === undefined ? [] : [`database=${database}`])];
  return startHostProcess({ folder: makeFolder(), script: askingHost, args });
}

/** The words of a command line as it would be typed; what is filled in stays one word, whatever it holds. */
export function words(texts: TemplateStringsArray, ...values: readonly string[]): string[] {
  const found: string[] = [];
  let word: string | undefined;
  const end = (): void => {
    if (word !== undefined) found.push(word);
    word = undefined;
  };
  for (const [place, text] of texts.entries()) {
    for (const [part, letters] of text.split(/\s+/).entries()) {
      if (part > 0) end();
      if (letters !== "") word = `${word ?? ""}${letters}`;
    }
    const value = values[place];
    if (value !== undefined) word = `${word ?? ""}${value}`;
  }
  end();
  return found;
}

/** What a command printed, and how it ended. */
export interface Printed {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Where a command is typed, and the host it talks to. */
type Place = Pick<HostProcess, "folder" | "url">;

/** Runs `turnpike` where a host was started and against it; with a token, as its bearer. */
export function command({ folder, url }: Place, args: readonly string[], token?: string): Promise<Printed> {
  return commandWith(folder, [...args, "--url", url], token === undefined ? {} : { TURNPIKE_TOKEN: token });
}

/** A process in which commands are run, one after the other. */
interface Session {
  readonly child: ChildProcess;
  /** Where its last command was typed, and how many have not ended. */
  folder: string;
  running: number;
}

/** They outlive their file: to start one takes longer than most commands. */
const sessions = new Set<Session>();

/** The session of commands that still run in a folder, else one that is free. */
function sessionFor(folder: string): Session {
  const all = [...sessions];
  return (
    all.find((session) => session.running > 0 && session.folder === folder) ??
    all.find((session) => session.running === 0) ??
    startSession(folder)
  );
}

function startSession(folder: string): Session {
  const { PATH = "" } = process.env;
  // Whatever reads standard input finds its end.
  const stdio: StdioOptions = ["ignore", "inherit", "inherit", "ipc"];
  const child = fork(commandSession, { env: { PATH }, execArgv: [], stdio });
  child.setMaxListeners(0);
  // It ends with the process of the tests, which does not wait for it.
  child.unref();
  child.channel?.unref();
  const session: Session = { child, folder, running: 0 };
  sessions.add(session);
  child.once("exit", () => sessions.delete(session));
  return session;
}

/** Runs `turnpike` in a folder, with nothing in its environment but these variables. */
export function commandWith(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Printed> {
  const session = sessionFor(folder);
  const { child } = session;
  session.folder = folder;
  session.running += 1;
  const id = crypto.randomUUID();
  return new Promise((resolve, reject) => {
    const read = (message: Printed & { id: string }): void => {
      if (message.id !== id) return;
      child.off("message", read).off("exit", reject);
      session.running -= 1;
      const { code, stdout, stderr } = message;
      resolve({ code, stdout, stderr });
    };
    child.on("message", read).once("exit", reject);
    child.send({ id, folder, args, env });
  });
}

/** What a command prints with `--json`; throws when it does not end with 0. */
export async function commandJson(host: Place, args: readonly string[], token?: string): Promise<unknown> {
  const { code, stdout, stderr } = await command(host, [...args, "--json"], token);
  if (code !== 0) throw new Error(`It ended with ${String(code)}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Pastes lines into a shell that finds `turnpike`, in a folder. */
export function paste(folder: string, lines: string, env: Readonly<Record<string, string>> = {}): Promise<Printed> {
  // Where npx looks as well.
  const bin = join(folder, "node_modules", ".bin");
  mkdirSync(bin, { recursive: true });
  if (!existsSync(join(bin, "turnpike"))) symlinkSync(turnpike, join(bin, "turnpike"));
  const place = {
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    HOME: folder,
    npm_config_update_notifier: "false",
    ...env,
  };
  return new Promise((resolve) => {
    execFile("bash", ["-c", lines], { cwd: folder, env: place }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ code, stdout, stderr });
    });
  });
}

/** A command that did what it was told and printed these lines. */
export function said(...lines: readonly string[]): Printed {
  return { code: 0, stdout: lines.map((line) => `${line}\n`).join(""), stderr: "" };
}

/** A command that was refused in these words. */
export function refused(...lines: readonly string[]): Printed {
  return { code: 1, stdout: "", stderr: lines.map((line) => `${line}\n`).join("") };
}

/** A command that was not understood. */
export function misused(...lines: readonly string[]): Printed {
  return { ...refused(...lines), code: 2 };
}

/** Each of what no two runs have in common, with what to write instead; as long as it, where it is in tables. */
const changing: readonly (readonly [RegExp, string])[] = [
  [/http:\/\/127\.0\.0\.1:\d+/g, "http://host"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "2026-01-01T00:00:00.000Z"],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "00000000-0000-4000-8000-000000000000"],
  [/\bq[0-9a-z]{8}[0-9a-f]{8}\b/g, "q0000000000000000"],
  [/[0-9a-f]{64}/g, "0".repeat(64)],
  [/(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])/g, "0".repeat(16)],
  [/\bgrant-[0-9a-f]{12}\b/g, "grant-000000000000"],
];

/** The same on every run: ids and times are written as zeros and as one instant. */
export function steady({ code, stdout, stderr }: Printed): Printed {
  return { code, stdout: steadyText(stdout), stderr: steadyText(stderr) };
}

export function steadyText(text: string): string {
  return changing.reduce((steadier, [found, shown]) => steadier.replaceAll(found, shown), text);
}
