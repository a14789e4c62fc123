import type { Command } from "commander";
import { createServiceClient, type ServiceClient } from "turnpike/client";
import { ConfigError } from "../shared/index.ts";
import { defaultDatabase, defaultUrl, type HostPlace, type UsedContext } from "./find-host.ts";
import { hintLine } from "./format.ts";
import { readCount, readToken, readTokenFile, readUrl } from "./flags.ts";

export { defaultDatabase, defaultUrl } from "./find-host.ts";

/** How an operator's command reaches a running host. `url` and `database` are set before its action. */
export interface OperatorFlags {
  url: string;
  database: string;
  config?: string;
  tokenFile?: string;
  json?: boolean;
  /** Where `url` and `database` came from. */
  place?: HostPlace;
  /** What is done before the first request: checking for names that are probably mistyped. */
  beforeRequest?: (token: string) => Promise<void>;
}

/** How a command with a credential reaches a running host. */
export interface CallerFlags {
  url: string;
  config?: string;
  token?: string;
  tokenFile?: string;
  purpose?: string;
  json?: boolean;
  place?: HostPlace;
}

/** A client, and the trace id of all its requests. */
export interface Caller {
  client: ServiceClient;
  traceId: string;
}

/** The flags that select one page of a list. */
export interface PageFlags {
  limit?: number;
  cursor?: string;
}

/** Prints text for people, or JSON for scripts. The command exits with the code, and with 0 without one. */
export type Show = (flags: { json?: boolean }, answer: unknown, text: string, exitCode?: number) => void;

/** The exit code of a command that shows a change which allows more than before. */
export const openingCode = 3;

/** Adds the flags of an operator's command, and an example to its help. */
export function asOperator(command: Command, description: string, example: string): Command {
  return describe(command, description, example)
    .option("--token-file <file>", "file with your token; or set TURNPIKE_ADMIN_TOKEN")
    .option(
      "--database <location>",
      "the host's database, beside which its operator's token is stored unless you give one",
      defaultDatabase,
    );
}

/** Adds the flags of a command that acts with a credential, and an example to its help. */
export function asCaller(
  command: Command,
  description: string,
  example: string,
  purpose = "what this is done for; the credential's first purpose unless given",
): Command {
  return describe(command, description, example)
    .option("--token <token>", "the credential's token; or set TURNPIKE_TOKEN, which no process list shows")
    .option("--token-file <file>", "file with the credential's token")
    .option("--purpose <purpose>", purpose);
}

/** How a command reaches a host that callers use for their own things, and operators, with a tenant, for those of all callers. */
export type CallerOrOperatorFlags = CallerFlags & OperatorFlags & { tenant?: string };

/** Adds the flags of a command that callers use for their own things, and operators, with a tenant, for those of all callers. */
export function asCallerOrOperator(command: Command, description: string, example: string): Command {
  return describe(command, description, example)
    .option("--token <token>", "the credential's token; or set TURNPIKE_TOKEN, which no process list shows")
    .option("--token-file <file>", "file with the token; as an operator, with yours")
    .option("--tenant <id>", "as an operator: the tenant whose turns these are; without it, they are your own")
    .option(
      "--database <location>",
      "as an operator: the host's database, beside which your token is stored; or set TURNPIKE_ADMIN_TOKEN",
      defaultDatabase,
    );
}

/** Adds the flags of a command that lists. */
export function withPageFlags(command: Command): Command {
  return command
    .option("--limit <number>", "how many at most", (text) => readCount("--limit", text))
    .option("--cursor <cursor>", "go on behind the page that ended with this");
}

export const urlMeans =
  "the host to talk to; or set TURNPIKE_URL, sign in with `turnpike login`, or have it in the configuration file";
export const contextMeans = "the context of `turnpike login` to use; the current one unless given";

function describe(command: Command, description: string, example: string): Command {
  return withHost(command, description, example).option("--context <name>", contextMeans);
}

/** Adds the flags of a command that talks to a host, and an example to its help. */
export function withHost(command: Command, description: string, example: string): Command {
  return command
    .description(description)
    .option("--url <url>", urlMeans, (text) => readUrl("--url", text), defaultUrl)
    .option("--config <file>", "the host's configuration file (turnpike.config.json when it exists)")
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  ${example}`)
    .exitOverride();
}

/** Opens the client of a command that acts with a credential. */
export function openCaller(flags: CallerFlags): Caller {
  const { url, purpose } = flags;
  const given = callerToken(flags);
  const traceId = crypto.randomUUID();
  const headers = { "x-trace-id": traceId };
  return { client: createServiceClient({ baseUrl: url, token: given, headers, ...(purpose && { purpose }) }), traceId };
}

/** The token of a command that acts with a credential: of a flag, then of the variable, then of the context. */
export function callerToken({ token, tokenFile, place }: Pick<CallerFlags, "token" | "tokenFile" | "place">): string {
  if (token !== undefined) return readToken("--token", token);
  if (tokenFile !== undefined) return readTokenFile(tokenFile);
  const variable = process.env["TURNPIKE_TOKEN"];
  if (variable !== undefined) return readToken("TURNPIKE_TOKEN", variable.trim());
  const { context } = place ?? {};
  if (context?.kind === "caller" && context.token !== undefined) return context.token;
  const ways = `set TURNPIKE_TOKEN, or sign in with its token: ${hintLine(["login"])}`;
  const make = hintLine(["credential", "create", "--help"]);
  throw new ConfigError(`This acts with a credential: ${ways}\nAn operator makes one: ${make}${signedInAs(context)}`);
}

/** Who a context is signed in as, for those whom it does not help. */
export function signedInAs(context: UsedContext | undefined): string {
  if (context === undefined) return "";
  const { name, actor, kind, token, database } = context;
  const isSignedOut = token === undefined && database === undefined;
  return isSignedOut
    ? `\nYou are signed out of the context ${name}.`
    : `\nThe context ${name} is of ${actor}, ${kind === "operator" ? "an operator" : "who is no operator"}.`;
}

/** What to do about a token of a context that the host does not accept. */
export function signInAgain(name: string): string {
  const again = hintLine(["login", "--name", name]);
  return `The token of the context ${name} is unknown, expired or revoked. Sign in again: ${again}`;
}

/** The flags with which another operator's command finds the same host. */
export function sameHost(flags: OperatorFlags): string[] {
  const { database, place, tokenFile } = flags;
  const isDatabaseGiven = place?.isDatabaseGiven ?? database !== defaultDatabase;
  return [
    ...sameHostAsCaller(flags),
    ...(isDatabaseGiven ? ["--database", database] : []),
    ...(tokenFile === undefined ? [] : ["--token-file", tokenFile]),
  ];
}

/** The flags with which another command of a caller finds the same host. Their token is in no command line. */
export function sameHostAsCaller({ url, config, place }: Pick<OperatorFlags, "url" | "config" | "place">): string[] {
  const { context } = place ?? {};
  if (context !== undefined) return context.isNamed ? ["--context", context.name] : [];
  const isUrlGiven = place?.isUrlGiven ?? url !== defaultUrl;
  return [...(isUrlGiven ? ["--url", url] : []), ...(config === undefined ? [] : ["--config", config])];
}
