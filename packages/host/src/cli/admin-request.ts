import { readFileSync } from "node:fs";
import { adminTokenFile } from "../base/index.ts";
import { AdminClientError, type AdminOutput, type AdminRouteName, createAdminClient } from "../management/index.ts";
import type { OperatorFlags } from "./connection.ts";
import { readToken } from "./flags.ts";

/** What an operator can do next, by the code of the refusal. */
const nextSteps: Readonly<Record<string, string>> = {
  unauthenticated: "Set TURNPIKE_ADMIN_TOKEN, or name the host's database with --database.",
  permission_denied: "Use the token of an operator who may: an admin's is in `admin-token` beside the host's database.",
  not_found: "The matching `list` command shows what there is.",
  conflict: "Look again with the matching `list` command.",
  rate_limited: "Wait a moment and try again.",
};

/** The same for routes that have no `list` command. */
const nextStepsOfRoutes: Partial<Record<AdminRouteName, Readonly<Record<string, string>>>> = {
  reviewMcpServer: { not_found: "`turnpike mcp review` without a name shows what there is." },
};

/** Sends an operator's request to a running host. Throws an error whose message is for the person at the terminal. */
export async function requestAdmin<Name extends AdminRouteName>(
  flags: OperatorFlags,
  name: Name,
  input: Readonly<Record<string, unknown>>,
): Promise<AdminOutput<Name>> {
  try {
    return await createAdminClient({ url: flags.url, token: operatorToken(flags) }).request(name, input);
  } catch (error) {
    const next = error instanceof AdminClientError ? nextStepOf(name, error.code) : undefined;
    throw next === undefined ? error : new Error(`${(error as Error).message}\n${next}`, { cause: error });
  }
}

function nextStepOf(name: AdminRouteName, code: string): string | undefined {
  return nextStepsOfRoutes[name]?.[code] ?? nextSteps[code];
}

/** The lists whose pages may be short before their end, by the route of each. */
interface Lists {
  listGrants: "grants";
  listAudit: "events";
  listEscalations: "escalations";
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

function operatorToken({ database }: OperatorFlags): string {
  const given = process.env["TURNPIKE_ADMIN_TOKEN"];
  if (given !== undefined) return readToken("TURNPIKE_ADMIN_TOKEN", given);
  const file = adminTokenFile(database);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new Error(`There is no operator's token: set TURNPIKE_ADMIN_TOKEN, or run this where ${file} is.`, { cause });
  }
}
