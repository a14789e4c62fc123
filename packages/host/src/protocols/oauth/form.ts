import type { Reply } from "turnpike/http";
import type { IncomingRequest } from "../../front/index.ts";

/** What a form sent; nothing for a body of another kind. */
export async function readForm({ headers, body }: IncomingRequest["request"]): Promise<URLSearchParams> {
  const type = headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(type)) return new URLSearchParams();
  return new URLSearchParams(new TextDecoder().decode(await body.bytes()));
}

/** What a client is answered (RFC 6749). No cache stores it. */
export function oauthReply(
  status: number,
  answer: Record<string, unknown>,
  headers: Record<string, string> = {},
): Reply {
  return {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
    body: JSON.stringify(answer),
  };
}

/** A refusal as clients expect it. */
export function oauthError(
  status: number,
  error: string,
  description: string,
  headers?: Record<string, string>,
): Reply {
  return oauthReply(status, { error, error_description: description }, headers);
}
