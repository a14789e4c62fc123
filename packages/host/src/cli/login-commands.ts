import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { adminTokenFile, ConfigError, isPostgres, programName } from "../shared/index.ts";
import { principalText } from "../display/index.ts";
import { AdminClientError, askWhoami, type Whoami } from "../admin-contract/index.ts";
import { operatorToken } from "./admin-request.ts";
import { CommandError, warningText } from "./command-failure.ts";
import { callerToken, contextMeans, type OperatorFlags, type Show, signInAgain, withHost } from "./connection.ts";
import { changeContexts, type Context, contextFile, type Contexts, readContexts, refusePlainHttp } from "./contexts.ts";
import { type HostPlace, unknownContext } from "./find-host.ts";
import { readToken, readTokenFile } from "./flags.ts";
import { hintLine } from "./format.ts";
import { readSecret } from "./read-secret.ts";
import { oneLine } from "./table.ts";

interface LoginFlags {
  url: string;
  database: string;
  tenant?: string;
  name?: string;
  json?: boolean;
  place: HostPlace;
  beforeRequest?: (token: string) => Promise<void>;
}

/** `login`, `logout` and `whoami`. */
export function addLoginCommands(program: Command, show: Show): void {
  withHost(
    program.command("login"),
    "Sign in to a host: check a token there, and store it as a context, which other commands then use. The token is read from " +
      "standard input, or typed without being shown.",
    "turnpike login --url https://gate.example.com --tenant acme",
  )
    .option(
      "--database <path>",
      "of a host on this machine, its SQLite file: the operator's token beside it is used, and not stored",
    )
    .option("--tenant <id>", "as an operator: the tenant of commands that are given none")
    .option("--name <name>", "what to call the context; the host's name unless given")
    .action(async (flags: LoginFlags) => {
      const { name, context, isReplaced } = await login(flags);
      const { token: _secret, ...shown } = context;
      const tenant = context.tenant === undefined ? "" : `, tenant ${context.tenant}`;
      const outcome = isReplaced ? "The context was there, and is this now." : "It is the current context now.";
      show(
        flags,
        { name, ...shown },
        oneLine(`Signed in to ${context.url} as ${context.actor}${tenant} (context ${name}).`) + `\n${outcome}`,
      );
      for (const warning of overriding()) process.stderr.write(`${warningText(warning, flags.json === true)}\n`);
    });
  program
    .command("logout")
    .description("Forget the token of a context. The credential stays valid until it is revoked.")
    .argument("[name]", "the context; the current one unless given")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  turnpike logout gate.example.com")
    .exitOverride()
    .action(async (given: string | undefined, flags: { json?: boolean }) => {
      const file = contextFile(process.env);
      const { name, credentialId } = await changeContexts(file, (contexts) => {
        const [found, context] = namedContext(contexts, given);
        delete context.token;
        delete context.database;
        return { name: found, credentialId: context.credentialId };
      });
      const revoke = hintLine(["credential", "revoke", credentialId]);
      show(
        flags,
        { name, credentialId },
        `Signed out of the context ${oneLine(name)}.\nThe credential is still valid. An operator ends it: ${revoke}`,
      );
    });
  withHost(
    program.command("whoami"),
    "Show which host and context commands use here, and who you are to it. The token is never shown.",
    "turnpike whoami",
  )
    .option("--context <name>", contextMeans)
    .option("--token-file <file>", "file with a token; TURNPIKE_TOKEN and TURNPIKE_ADMIN_TOKEN count after it")
    .option("--database <location>", "the host's database, beside which its operator's token is stored")
    .action(async (flags: OperatorFlags) => {
      const { url, place } = flags;
      const { token, tokenFrom } = tokenInUse(flags);
      const who = await asked(url, token, tokenFrom === "context" ? place?.context?.name : undefined);
      const { name: context, tenant: contextTenant } = place?.context ?? {};
      const facts = { context, contextTenant, url, urlFrom: place?.urlFrom ?? "--url", tokenFrom, ...who };
      show(flags, facts, whoText(facts));
    });
}

interface SignedIn {
  name: string;
  context: Context;
  isReplaced: boolean;
}

async function login(flags: LoginFlags): Promise<SignedIn> {
  const file = contextFile(process.env);
  const known = readContexts(file).contexts;
  const earlier = flags.name !== undefined && Object.hasOwn(known, flags.name) ? known[flags.name] : undefined;
  const { place } = flags;
  const isUrlNamed = place.isUrlGiven || place.urlFrom === "TURNPIKE_URL";
  const url = isUrlNamed ? flags.url : (earlier?.url ?? flags.url);
  const name = contextName(flags.name ?? place.context?.name, url);
  refusePlainHttp(url, "login");
  const database = place.isDatabaseGiven ? localDatabase(flags.database) : undefined;
  const token =
    database === undefined
      ? readToken(
          "Standard input",
          await readSecret(process.stdin, `Token for ${oneLine(url)}: `, (text) => process.stderr.write(text)),
        )
      : operatorToken({ ...flags, database });
  const who = await asked(url, token);
  await flags.beforeRequest?.(token);
  const tenant = tenantFor(who, flags.tenant, (earlier ?? place.context)?.tenant);
  const context: Context = {
    url,
    kind: who.kind,
    actor: principalText(who.actor),
    credentialId: who.credentialId,
    ...(database === undefined ? { token } : { database }),
    ...(tenant !== undefined && { tenant }),
  };
  const isReplaced = await changeContexts(file, (contexts) => {
    const isThere = Object.hasOwn(contexts.contexts, name);
    contexts.contexts[name] = context;
    contexts.current = name;
    return isThere;
  });
  return { name, context, isReplaced };
}

/** Who the bearer of a token is; what a person can do when the host does not know it. */
async function asked(url: string, token: string, context?: string): Promise<Whoami> {
  try {
    return await askWhoami(url, token);
  } catch (error) {
    if (!(error instanceof AdminClientError)) throw error;
    if (error.code === "unauthenticated")
      throw new CommandError(
        error.code,
        context === undefined
          ? `${url} does not accept this token: it is unknown, expired or revoked.`
          : signInAgain(context),
        { cause: error },
      );
    if (error.code === "not_found")
      throw new CommandError(error.code, `${url} cannot say who you are: is it a Turnpike host, of this version?`, {
        cause: error,
      });
    throw error;
  }
}

/** The token that commands use here, and where it comes from. */
function tokenInUse(flags: OperatorFlags): { token: string; tokenFrom: string } {
  const { tokenFile, place } = flags;
  if (tokenFile !== undefined) return { token: readTokenFile(tokenFile), tokenFrom: "--token-file" };
  if (process.env["TURNPIKE_TOKEN"] !== undefined) return { token: callerToken(flags), tokenFrom: "TURNPIKE_TOKEN" };
  if (process.env["TURNPIKE_ADMIN_TOKEN"] !== undefined)
    return { token: operatorToken(flags), tokenFrom: "TURNPIKE_ADMIN_TOKEN" };
  const { context } = place ?? {};
  if (context?.token !== undefined) return { token: context.token, tokenFrom: "context" };
  return { token: operatorToken(flags), tokenFrom: adminTokenFile(flags.database) };
}

/** The operator's own tenant, or the one that they chose. A credential has one anyway. */
function tenantFor({ kind, tenant: own }: Whoami, chosen?: string, earlier?: string): string | undefined {
  if (chosen !== undefined && own !== undefined && chosen !== own)
    throw new ConfigError(`--tenant ${chosen}: this token is of the tenant ${own}, and of no other.`);
  return kind === "operator" ? (chosen ?? own ?? earlier) : undefined;
}

function contextName(given: string | undefined, url: string): string {
  const name = given ?? new URL(url).host.replaceAll(/[^\w.-]+/g, "-").replace(/^\W+/, "");
  if (/^[A-Za-z0-9][\w.-]{0,99}$/.test(name)) return name;
  throw new ConfigError(
    `--name ${name}: expected letters, digits, dots, dashes and underscores, a letter or digit first.`,
  );
}

function localDatabase(location: string): string {
  if (isPostgres(location))
    throw new ConfigError(
      "--database: expected an SQLite file. Sign in with the operator's token on standard input instead.",
    );
  const file = resolve(location);
  if (!existsSync(file)) throw new ConfigError(`--database ${location}: there is no such file.`);
  return file;
}

/** What is used in the place of the context that was just made. */
function overriding(): string[] {
  return ["TURNPIKE_URL", "TURNPIKE_DATABASE", "TURNPIKE_TOKEN", "TURNPIKE_ADMIN_TOKEN"]
    .filter((name) => (process.env[name] ?? "") !== "")
    .map((name) => `${name} is set, and counts more than this context.`);
}

/** A context by its name, or the current one. */
export function namedContext({ current, contexts }: Contexts, given: string | undefined): [string, Context] {
  const name = given ?? current;
  if (name === undefined) throw new ConfigError(`There is no current context. Sign in with ${programName()} login.`);
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context === undefined) throw unknownContext(name, Object.keys(contexts));
  return [name, context];
}

function whoText(
  facts: Whoami & {
    context: string | undefined;
    contextTenant: string | undefined;
    url: string;
    urlFrom: string;
    tokenFrom: string;
  },
): string {
  const { context, contextTenant, url, urlFrom, tokenFrom, actor, kind, tenant, credentialId } = facts;
  const chosen = contextTenant === undefined ? "" : `, and ${contextTenant} where none is given`;
  const operated = tenant ?? `all${chosen}`;
  const lines: [string, string][] = [
    ["context", context ?? "none"],
    ["host", `${url} (${urlFrom})`],
    ["you are", principalText(actor)],
    ["role", kind === "operator" ? `operator, ${facts.role}` : "caller"],
    ["tenant", kind === "operator" ? operated : (tenant ?? "")],
    ["credential", `${credentialId}, its token from ${tokenFrom}`],
    ...(facts.kind === "caller" ? [["acts for", principalText(facts.owner)] as [string, string]] : []),
  ];
  return lines.map(([what, is]) => oneLine(`${what.padEnd(11)}${is}`)).join("\n");
}
