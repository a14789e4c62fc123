import { ServiceClientError } from "turnpike/client";
import { ConfigError, nearestName, programName } from "../shared/index.ts";
import { AdminClientError } from "../admin-contract/index.ts";
import type { HostPlace } from "./find-host.ts";
import { linesOf, oneLine } from "./table.ts";

/** Why a command did not succeed, with the code of the refusal. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** How a command failed. */
export interface CommandFailure {
  /** For scripts: the host's own code of a refusal, or one of the command's. */
  code: string;
  /** For people; it may have several lines. */
  message: string;
  /** 1 when it was refused or failed, 2 when it was not understood. */
  exitCode: 1 | 2;
}

/** How a command failed, in words for the person at the terminal. */
export function failureOf(error: unknown, place: HostPlace | undefined): CommandFailure {
  if (error instanceof ConfigError) return { code: error.code, message: error.message, exitCode: 2 };
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof CommandError)
    return ofContext({ code: error.code, message: inWords(message), exitCode: 1 }, place);
  if (error instanceof AdminClientError && error.code !== "unreachable")
    return ofContext({ code: error.code, message: inWords(message), exitCode: 1 }, place);
  if (error instanceof ServiceClientError && error.status !== 0) return ofContext(refusedService(error), place);
  if (error instanceof AdminClientError || error instanceof ServiceClientError)
    return { code: "unreachable", message: unreachableText(error, place), exitCode: 1 };
  return { code: "failed", message, exitCode: 1 };
}

/** Says which context was used, because nothing on the command line does. */
function ofContext(failure: CommandFailure, place: HostPlace | undefined): CommandFailure {
  const { context } = place ?? {};
  if (context === undefined || failure.message.includes(`context ${context.name}`)) return failure;
  return { ...failure, message: `${failure.message}\nThis was the context ${context.name}, ${context.url}.` };
}

/** A failure as text on standard error. It may quote a file or a host that the user does not control. */
export function failureText({ message }: CommandFailure): string {
  return linesOf(message);
}

/** A failure as one line of JSON on standard error. The code is not repeated in the words. */
export function failureJson({ code, message }: CommandFailure): string {
  const words = message.replace(`(${code})`, "").replace(/^(error|(Refused|Denied|Failed|Cancelled) ?): /, "");
  return JSON.stringify({ error: { code, message: oneLine(words.replaceAll("\n", " ")) } });
}

/** A warning as a line on standard error: for people, or JSON. */
export function warningText(message: string, isJson: boolean): string {
  return isJson ? JSON.stringify({ warning: { message: oneLine(message) } }) : `Warning: ${oneLine(message)}`;
}

function refusedService({ code, message }: ServiceClientError): CommandFailure {
  const next = code === "unauthenticated" ? "\nThe token is unknown, expired or revoked." : "";
  return { code, message: inWords(`Refused (${code}): ${message}${next}`), exitCode: 1 };
}

/** Says where the command expected the host, and why there. */
function unreachableText(error: Error, place: HostPlace | undefined): string {
  const where = place === undefined ? "there" : `at ${place.url} (${place.urlFrom})`;
  return `No host answers ${where}. ${adviceFor(reasonIn(error))}`;
}

/** The code of the innermost error, such as ECONNREFUSED. */
function reasonIn(error: unknown): string {
  let code = "";
  for (let inner = error; inner instanceof Error; inner = inner.cause)
    if ("code" in inner && typeof inner.code === "string") ({ code } = inner as { code: string });
  return code;
}

function adviceFor(reason: string): string {
  if (reason === "ENOTFOUND" || reason === "EAI_AGAIN") return "No machine of this name was found.";
  if (/CERT|SELF_SIGNED|ISSUER|SIGNATURE/.test(reason))
    return `Its certificate is not accepted (${reason}): name the host with --url as its certificate does, and a private authority with NODE_EXTRA_CA_CERTS.`;
  if (/SSL|HPE_|^UND_ERR_SOCKET$/.test(reason))
    return `What listens there speaks otherwise (${reason}): try https instead of http, or the other way round.`;
  return `Start one with: ${programName()} serve`;
}

/** What the management and service APIs call things, as the command line calls them. */
const flagsOfFields: readonly (readonly [field: string, flag: string])[] = [
  ["namespaceId", "--tenant"],
  ["ask", "--ask"],
  ["expiresAt", "--expires"],
  ["constraints/expiresAt", "--expires"],
  ["maxUses", "--uses"],
  ["constraints/maxUses", "--uses"],
  ["constraints/delegationDepth", "--depth"],
  ["constraints/purposes", "--purpose"],
  ["capabilities/0/actions", "--action"],
  ["capabilities/0/resource/owner", "--owner"],
  ["capabilities/0/resource", "--resource"],
  ["resource", "--resource"],
  ["action", "--action"],
  ["subject", "--to"],
  ["issuer", "--from"],
  ["access/purposes", "--purpose"],
  ["access/senders", "--sender"],
  ["access/tenant", "--tenant"],
  ["update", "namespaces"],
  ["cursor", "--cursor"],
  ["limit", "--limit"],
  ["confirm", "--confirm"],
  ["reason", "--reason"],
  ["expectedVersion", "--expected-version"],
];

/** A message in which the JSON pointers of the API are flags or names. */
function inWords(message: string): string {
  return message.replaceAll(/(^|; |\): )\/([^\s:]+):/g, (_, before: string, pointer: string) => {
    const known = flagsOfFields.find(([field]) => pointer === field || pointer.startsWith(`${field}/`));
    return `${before}${known?.[1] ?? pointer.replaceAll("/", ".")}:`;
  });
}

/** Thrown by commander for a command line that it does not understand, or when it has printed what was asked for. */
interface CommanderExit extends Error {
  exitCode: number;
  code: string;
}

export function isCommanderExit(error: unknown): error is CommanderExit {
  return (
    error instanceof Error && "exitCode" in error && "code" in error && String(error.code).startsWith("commander.")
  );
}

/** Whether commander has printed the help of a command that needs another word. */
export function isHelp(error: unknown): boolean {
  return isCommanderExit(error) && error.code.startsWith("commander.help");
}

/** What is wrong with a command line that commander does not understand. */
export function misuseOf(error: CommanderExit, args: readonly string[], known: readonly string[]): CommandFailure {
  const unknown = args.map((word) => word.split("=", 1).join("")).filter((word) => !known.includes(word));
  const message = isHelp(error) ? "expected a command" : (mistypedFlag(error, unknown) ?? error.message);
  return { code: "invalid_usage", message: `${message}\nAdd --help to see how it is used.`, exitCode: 2 };
}

/** Commander says that a flag is missing before it says that another is unknown, which may be the same one, mistyped. */
function mistypedFlag({ code, message }: CommanderExit, unknown: readonly string[]): string | undefined {
  const [, missing] = /'(--[\w-]+)/.exec(message) ?? [];
  if (code !== "commander.missingMandatoryOptionValue" || missing === undefined) return undefined;
  const typed = unknown.find((word) => nearestName(word, [missing]) !== undefined);
  return typed && `error: unknown option '${oneLine(typed)}'\n(Did you mean ${missing}?)`;
}
