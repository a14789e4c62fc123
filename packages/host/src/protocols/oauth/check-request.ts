import { type AuthorizationRequest, isRegistered, type OAuthClient } from "../../connections/index.ts";

/** What a request for authorization comes to, before a person is asked. */
export type CheckedRequest =
  | { kind: "asked"; request: AuthorizationRequest }
  /** The client is told what is wrong, at an address that is its own. */
  | { kind: "refused"; redirectUri: string; state: string | undefined; error: string; description: string }
  /** It is not known where the client would be answered, so the person is told. */
  | { kind: "unanswerable"; says: string };

const known = [
  "response_type",
  "client_id",
  "redirect_uri",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
  "resource",
  "response_mode",
  "prompt",
] as const;

/** The longest text of parameters that a sign-in carries along. */
const mostCharacters = 2500;

/** The parameters that count, as one text that always looks the same. */
export function writeRequest(query: URLSearchParams): string {
  const counting = new URLSearchParams();
  for (const name of known) for (const value of query.getAll(name)) counting.append(name, value);
  return counting.toString().replaceAll("*", "%2A");
}

/**
 * Checks what a client asks. INVARIANT: an address is answered only when the client registered it, so an attacker can neither have codes
 * sent elsewhere nor use this host to send browsers anywhere.
 */
export function checkRequest(
  query: URLSearchParams,
  client: OAuthClient | undefined,
  resources: readonly string[],
): CheckedRequest {
  const of = (name: (typeof known)[number]): string => query.get(name) ?? "";
  const isTwice = (name: string): boolean => query.getAll(name).length > 1;
  if (client === undefined || isTwice("client_id"))
    return {
      kind: "unanswerable",
      says: "The program that sent you here is not known to this host. Connect it again.",
    };
  const redirectUri = of("redirect_uri");
  if (isTwice("redirect_uri") || !isRegistered(client.redirectUris, redirectUri))
    return { kind: "unanswerable", says: "The program that sent you here wants to be answered where it may not be." };
  const state = isTwice("state") ? undefined : (query.get("state") ?? undefined);
  const refuse = (error: string, description: string): CheckedRequest => ({
    kind: "refused",
    redirectUri,
    state,
    error,
    description,
  });
  const twice = known.find(isTwice);
  if (twice !== undefined) return refuse("invalid_request", `${twice}: expected it once`);
  if (writeRequest(query).length > mostCharacters) return refuse("invalid_request", "expected a shorter request");
  if (of("response_type") !== "code") return refuse("unsupported_response_type", "response_type: expected code");
  if (!["", "query"].includes(of("response_mode"))) return refuse("invalid_request", "response_mode: expected query");
  if (of("code_challenge_method") !== "S256" || !/^[\w-]{43}$/.test(of("code_challenge")))
    return refuse("invalid_request", "code_challenge: expected one of the method S256");
  if (!resources.includes(of("resource"))) return refuse("invalid_target", `resource: expected ${resources[0] ?? ""}`);
  if (of("prompt").split(" ").includes("none")) return refuse("login_required", "prompt: a person has to answer");
  const { id: clientId, name: clientName } = client;
  const asked = { challenge: of("code_challenge"), resource: of("resource"), scope: of("scope") };
  return { kind: "asked", request: { clientId, clientName, redirectUri, state, ...asked } };
}

/** What tokens of this host may be for: its MCP address, or all of it. */
export function resourcesAt(origin: string): string[] {
  return [`${origin}/mcp`, origin, `${origin}/`];
}

/** The address at which a client is answered, with the answer. `iss` says who answers (RFC 9207). */
export function answerAddress(
  redirectUri: string,
  { issuer, state, ...answer }: { issuer: string; state: string | undefined } & Record<string, string | undefined>,
): string {
  const answered = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...answer, state, iss: issuer }))
    if (value !== undefined) answered.set(name, value);
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${answered.toString()}`;
}
