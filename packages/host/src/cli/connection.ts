import type { Command } from "commander";
import { createServiceClient, type ServiceClient } from "turnpike/client";
import { ConfigError } from "../base/index.ts";
import { readCount, readToken, readUrl } from "./flags.ts";

/** Where a host listens unless it is told otherwise. */
export const defaultUrl = "http://127.0.0.1:8787";
const defaultDatabase = ".turnpike/turnpike.db";

/** How an operator's command reaches a running host. */
export interface OperatorFlags {
  url: string;
  database: string;
  json?: boolean;
}

/** How a command with a credential reaches a running host. */
export interface CallerFlags {
  url: string;
  token?: string;
  purpose?: string;
  json?: boolean;
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

/** Prints text for people, or JSON for scripts. */
export type Show = (flags: { json?: boolean }, answer: unknown, text: string) => void;

/** Adds the flags of an operator's command, and an example to its help. */
export function asOperator(command: Command, description: string, example: string): Command {
  return describe(command, description, example)
    .option("--url <url>", "the host to talk to", (text) => readUrl("--url", text), defaultUrl)
    .option(
      "--database <location>",
      "the host's database, beside which its operator's token is kept; or set TURNPIKE_ADMIN_TOKEN",
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
    .option("--url <url>", "the host to talk to", (text) => readUrl("--url", text), defaultUrl)
    .option("--token <token>", "the credential's token; or set TURNPIKE_TOKEN, which no process list shows")
    .option("--purpose <purpose>", purpose);
}

/** How a command reaches a host that callers use for what is theirs, and operators, with a tenant, for anybody's. */
export type CallerOrOperatorFlags = CallerFlags & OperatorFlags & { tenant?: string };

/** Adds the flags of a command that callers use for what is theirs, and operators, with a tenant, for anybody's. */
export function asCallerOrOperator(command: Command, description: string, example: string): Command {
  return describe(command, description, example)
    .option("--url <url>", "the host to talk to", (text) => readUrl("--url", text), defaultUrl)
    .option("--token <token>", "the credential's token; or set TURNPIKE_TOKEN, which no process list shows")
    .option("--tenant <id>", "as an operator: the tenant whose turns these are; without it, they are your own")
    .option(
      "--database <location>",
      "as an operator: the host's database, beside which your token is kept; or set TURNPIKE_ADMIN_TOKEN",
      defaultDatabase,
    );
}

/** Adds the flags of a command that lists. */
export function withPageFlags(command: Command): Command {
  return command
    .option("--limit <number>", "how many at most", (text) => readCount("--limit", text))
    .option("--cursor <cursor>", "go on behind the page that ended with this");
}

function describe(command: Command, description: string, example: string): Command {
  return command
    .description(description)
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  ${example}`)
    .exitOverride();
}

/** Opens the client of a command that acts with a credential. */
export function openCaller({ url, token = process.env["TURNPIKE_TOKEN"], purpose }: CallerFlags): Caller {
  if (token === undefined) {
    throw new ConfigError(
      "This acts with a credential: set TURNPIKE_TOKEN, or give --token. `turnpike credential create` makes one.",
    );
  }
  readToken("The token (TURNPIKE_TOKEN or --token)", token);
  const traceId = crypto.randomUUID();
  const headers = { "x-trace-id": traceId };
  return { client: createServiceClient({ baseUrl: url, token, headers, ...(purpose && { purpose }) }), traceId };
}

/** The flags with which another operator's command finds the same host. */
export function sameHost({ url, database }: OperatorFlags): string[] {
  return [
    ...(url === defaultUrl ? [] : ["--url", url]),
    ...(database === defaultDatabase ? [] : ["--database", database]),
  ];
}

/** The flags with which another command of a caller finds the same host. Their token is in no command line. */
export function sameHostAsCaller({ url }: CallerFlags): string[] {
  return url === defaultUrl ? [] : ["--url", url];
}
