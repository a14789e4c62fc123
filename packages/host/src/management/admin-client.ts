import { readFileSync } from "node:fs";
import { check } from "turnpike/contracts";
import { adminTokenFile } from "../access/admin-token.ts";
import { adminRoutes, type AdminOutput, type AdminRoute, type AdminRouteName } from "./admin-routes.ts";
import type { OperatorFlags } from "../cli/connection.ts";
import { readToken } from "../cli/tokenize.ts";

/** What an operator may do next about a refusal. */
const nextSteps: Readonly<Record<string, string>> = {
  unauthenticated: "Set TURNPIKE_ADMIN_TOKEN, or name the host's database with --database.",
  permission_denied: "Use an operator's token: the one in `admin-token` beside the host's database.",
  not_found: "The matching `list` command shows what there is.",
  conflict: "Look again with the matching `list` command.",
  rate_limited: "Wait a moment and try again.",
};

/** Asks a running host as its operator. Throws words for the person at the terminal. */
export async function askHost<Name extends AdminRouteName>(
  flags: OperatorFlags,
  name: Name,
  input: Readonly<Record<string, unknown>>,
): Promise<AdminOutput<Name>> {
  const { method, path, response: schema }: AdminRoute = adminRoutes[name];
  const headers = { authorization: `Bearer ${operatorToken(flags)}`, "content-type": "application/json" };
  const url = new URL(path, flags.url);
  if (method === "GET") {
    for (const [key, value] of Object.entries(input)) if (value !== undefined) url.searchParams.set(key, String(value));
  }
  const body = method === "GET" ? {} : { body: JSON.stringify(input) };
  const answer = await read(flags.url, fetch(url, { method, headers, ...body }));
  const checked = check(schema, answer);
  if (checked.ok) return checked.value as AdminOutput<Name>;
  throw new Error(`The host's answer is not understood; is it of another version? ${checked.message}`);
}

async function read(url: string, answering: Promise<Response>): Promise<unknown> {
  let response: Response;
  try {
    response = await answering;
  } catch (cause) {
    throw new Error(`No host answers at ${url}. Start one with: turnpike serve`, { cause });
  }
  const answer = (await response.json().catch(() => ({}))) as { error?: { code: string; message: string } };
  if (response.ok) return answer;
  const { code = `HTTP ${response.status}`, message = "Is this a Turnpike host?" } = answer.error ?? {};
  const next = nextSteps[code];
  throw new Error(`Refused (${code}): ${message}${next === undefined ? "" : `\n${next}`}`);
}

function operatorToken({ database }: OperatorFlags): string {
  const given = process.env["TURNPIKE_ADMIN_TOKEN"];
  if (given !== undefined) return readToken("TURNPIKE_ADMIN_TOKEN", given);
  const file = adminTokenFile({ database });
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new Error(`There is no operator's token: set TURNPIKE_ADMIN_TOKEN, or run this where ${file} is.`, { cause });
  }
}
