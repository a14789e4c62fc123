import { readFileSync } from "node:fs";
import { adminTokenFile, programName } from "../shared/index.ts";
import {
  type AdminCallName,
  AdminClientError,
  type AdminFileName,
  type AdminOutput,
  type AdminRouteName,
  createAdminClient,
  type FollowedEvent,
  type FollowOptions,
} from "../admin-contract/index.ts";
import { CommandError } from "./command-failure.ts";
import { type OperatorFlags, signedInAs, signInAgain } from "./connection.ts";
import type { HostPlace } from "./find-host.ts";
import { readToken, readTokenFile } from "./flags.ts";
import { hintLine } from "./format.ts";

/** What an operator can do next, by the code of the refusal. */
const nextSteps: Readonly<Record<string, string>> = {
  unauthenticated: "Set TURNPIKE_ADMIN_TOKEN, or name the host's database with --database.",
  permission_denied: "Use the token of an operator who may: an admin's is in `admin-token` beside the host's database.",
  not_found: "The matching `list` command shows what there is.",
  conflict: "Check again with the matching `list` command.",
  rate_limited: "Wait a few seconds and try again.",
};

/** The same for routes that have no `list` command. */
const nextStepsOfRoutes = (): Partial<Record<AdminRouteName, Readonly<Record<string, string>>>> => ({
  reviewMcpServer: { not_found: `\`${programName()} mcp review\` without a name shows what there is.` },
  tryTool: { not_found: `\`${programName()} credential list\` shows what there is.` },
  createBackup: {
    conflict: "docs/guide/backup.md says more.",
    unreachable: "When the host is stopped, add --stopped and name its file with --database.",
  },
  listOfferedTools: { not_found: `\`${programName()} credential list\` shows what there is.` },
});

/** Sends an operator's request to a running host. Throws an error whose message is for the person at the terminal. */
export async function requestAdmin<Name extends AdminCallName>(
  flags: OperatorFlags,
  name: Name,
  input: Readonly<Record<string, unknown>>,
): Promise<AdminOutput<Name>> {
  const token = operatorToken(flags);
  await flags.beforeRequest?.(token);
  try {
    return await createAdminClient({ url: flags.url, token }).request(name, input);
  } catch (error) {
    throw forThePerson(flags, name, error);
  }
}

/** Requests a file of a running host, and returns the response with it. Throws like `requestAdmin`. */
export async function downloadAdmin(
  flags: OperatorFlags,
  name: AdminFileName,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Response> {
  const token = operatorToken(flags);
  await flags.beforeRequest?.(token);
  try {
    return await createAdminClient({ url: flags.url, token }).download(name, input, signal);
  } catch (error) {
    throw forThePerson(flags, name, error);
  }
}

/** Follows a tenant through a running host, until the signal says otherwise. Throws like `requestAdmin`. */
export async function* followAdmin(flags: OperatorFlags, options: FollowOptions): AsyncGenerator<FollowedEvent, void> {
  const token = operatorToken(flags);
  await flags.beforeRequest?.(token);
  try {
    yield* createAdminClient({ url: flags.url, token }).follow(options);
  } catch (error) {
    throw forThePerson(flags, "followEvents", error);
  }
}

/** The same error with what the person at the terminal can do next. */
function forThePerson({ place }: OperatorFlags, name: AdminRouteName, error: unknown): unknown {
  const next = error instanceof AdminClientError ? nextStepOf(place, name, error.code) : undefined;
  if (next === undefined || !(error instanceof AdminClientError)) return error;
  return new CommandError(error.code, `${error.message}\n${next}`, { cause: error });
}

function nextStepOf(place: HostPlace | undefined, name: AdminRouteName, code: string): string | undefined {
  const { context } = place ?? {};
  if (context?.token !== undefined && code === "unauthenticated") return signInAgain(context.name);
  return nextStepsOfRoutes()[name]?.[code] ?? nextSteps[code];
}

/** The lists whose pages may be short before their end, by the route of each. */
interface Lists {
  listGrants: "grants";
  listAudit: "events";
  listEscalations: "escalations";
  listTenants: "tenants";
  listNamespaces: "settings";
  listPrincipals: "principals";
  listReachers: "reachers";
  listDeliveries: "deliveries";
}

/** How many items a list shows unless told otherwise; the host's own default. */
const defaultLimit = 50;

/** Requests a list, page by page, until there are as many items as its `limit` says, or the list ends. */
export async function requestList<Name extends keyof Lists>(
  flags: OperatorFlags,
  name: Name,
  items: Lists[Name],
  query: Readonly<Record<string, unknown>> & { limit?: number | undefined; cursor?: string | undefined },
): Promise<AdminOutput<Name>> {
  const { limit = defaultLimit } = query;
  const found: unknown[] = [];
  let { cursor } = query;
  do {
    const page = await requestAdmin(flags, name, { ...query, limit: limit - found.length, cursor });
    found.push(...(page as Record<Lists[Name], unknown[]>)[items]);
    ({ cursor } = page);
  } while (cursor !== undefined && found.length < limit);
  return { [items]: found, ...(cursor !== undefined && { cursor }) } as AdminOutput<Name>;
}

/** The token that a flag names, then the variable, then the one of the context, then the file that `serve` wrote beside the database. */
export function operatorToken({ database, tokenFile, place }: OperatorFlags): string {
  if (tokenFile !== undefined) return readTokenFile(tokenFile);
  const given = process.env["TURNPIKE_ADMIN_TOKEN"];
  if (given !== undefined) return readToken("TURNPIKE_ADMIN_TOKEN", given);
  const { context } = place ?? {};
  if (context?.kind === "operator" && context.token !== undefined) return context.token;
  // INVARIANT: a token that lies in the working directory is never sent to the host of a context.
  if (context !== undefined && context.database === undefined) {
    const ways = `set TURNPIKE_ADMIN_TOKEN, or sign in with one: ${hintLine(["login"])}`;
    throw new CommandError("unauthenticated", `This needs an operator's token: ${ways}${signedInAs(context)}`);
  }
  const file = adminTokenFile(database);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    const message = `There is no operator's token: set TURNPIKE_ADMIN_TOKEN, or run this where ${file} is.`;
    throw new CommandError("unauthenticated", message, { cause });
  }
}
