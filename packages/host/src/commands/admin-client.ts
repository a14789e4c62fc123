import { readFileSync } from "node:fs";
import { adminTokenFile } from "../admin/admin-token.ts";

/** How a command reaches a running host. */
export interface AdminConnection {
  url: string;
  database: string;
}

/** Sends one change to a running host, as its operator. Throws words for the person at the terminal. */
export async function adminPost(connection: AdminConnection, path: string, body: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${operatorToken(connection)}`, "content-type": "application/json" };
  let response: Response;
  try {
    response = await fetch(new URL(path, connection.url), { method: "POST", headers, body: JSON.stringify(body) });
  } catch (cause) {
    throw new Error(`No host answers at ${connection.url}. Start one with: turnpike serve`, { cause });
  }
  const answer = (await response.json()) as { error?: { code: string; message: string } };
  if (answer.error !== undefined) throw new Error(`Refused (${answer.error.code}): ${answer.error.message}`);
  return answer;
}

function operatorToken({ database }: AdminConnection): string {
  const given = process.env["TURNPIKE_ADMIN_TOKEN"];
  if (given !== undefined) return given;
  const file = adminTokenFile({ database });
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new Error(`There is no operator's token: set TURNPIKE_ADMIN_TOKEN, or run this where ${file} is.`, { cause });
  }
}
