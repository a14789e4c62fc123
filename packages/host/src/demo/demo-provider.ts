import { createHash, randomBytes } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { Reply } from "turnpike/http";
import { type IncomingRequest, pageReply, type Protocol, queryOf } from "../front/index.ts";
import { isLoopback } from "../shared/index.ts";

/** The users of the demo, each with a button. None of them has a password. */
const users = [
  { sub: "alice", name: "Alice" },
  { sub: "bob", name: "Bob" },
  { sub: "carol", name: "Carol" },
] as const;

/** What each of them may hand on to a client: their own notes, and payments that they approve. */
const holds = [
  {
    resource: { namespace: "files", path: ["notes"] },
    actions: ["read", "list", "search", "write"],
    scope: "descendants",
  },
  { resource: { namespace: "payments", path: [] }, actions: ["pay"], scope: "descendants", approval: "each" },
] as const;

/** It stays the same whatever port a demo listens on, so that its users do as well. Nothing is read from there. */
const issuer = "http://localhost/turnpike-demo";
const clientId = "turnpike-demo";
const page = "/demo/sign-in";
const codeMs = 60_000;
const mostCodes = 1000;

/** The identity provider of a demo. It runs inside of the host, which asks it without a connection. */
export interface DemoProvider {
  /** What the host is configured with to sign its users in. */
  settings: object;
  /** Answers what the host asks. */
  fetch: typeof fetch;
  /** The page on which a browser chooses who signs in. */
  protocol: Protocol<undefined>;
}

/** What a code is exchanged for. */
interface Issued {
  sub: string;
  nonce: string;
  challenge: string;
  redirectUri: string;
  expiresAt: number;
}

/**
 * Opens the provider of a demo that listens at `url`, which is known once it does. INVARIANT: it signs anyone in as anyone, so it is for
 * demos on loopback alone, and sends browsers to nothing but the callback of that demo.
 */
export async function openDemoProvider(url: () => string | undefined): Promise<DemoProvider> {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const key = { ...(await exportJWK(publicKey)), kid: "demo", alg: "ES256", use: "sig" };
  const codes = new Map<string, Issued>();
  const exchange = async (sent: URLSearchParams): Promise<Response> => {
    const code = sent.get("code") ?? "";
    const issued = codes.get(code);
    codes.delete(code);
    const challenge = challengeOf(sent.get("code_verifier") ?? "");
    const isRight = issued?.challenge === challenge && issued.redirectUri === sent.get("redirect_uri");
    if (!isRight || issued.expiresAt <= Date.now()) return Response.json({ error: "invalid_grant" }, { status: 400 });
    const { sub, nonce } = issued;
    const token = new SignJWT({ nonce, name: users.find((user) => user.sub === sub)?.name })
      .setProtectedHeader({ alg: "ES256", kid: "demo" })
      .setIssuer(issuer)
      .setAudience(clientId)
      .setSubject(sub)
      .setIssuedAt()
      .setExpirationTime("5 minutes");
    // Nothing is to be read with the access token, which the protocol wants.
    const access_token = randomBytes(16).toString("hex");
    return Response.json({ access_token, token_type: "Bearer", id_token: await token.sign(privateKey) });
  };
  return {
    settings: { issuer, clientId, name: "Demo", people: { tenant: "demo", purpose: "demo", holds } },
    async fetch(input, init) {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      switch (pathname.slice(new URL(issuer).pathname.length)) {
        case "/.well-known/openid-configuration":
          return metadataAt(url());
        case "/keys":
          return Response.json({ keys: [key] });
        case "/token":
          return exchange(new URLSearchParams(String(init?.body)));
        default:
          return Response.json({ error: "not_found" }, { status: 404 });
      }
    },
    protocol: {
      owns: (path) => path === page || path.startsWith(`${page}/`),
      admit: () => Promise.resolve(undefined),
      routes: [],
      openRoutes: [
        { method: "GET", path: page, answer: (incoming) => Promise.resolve(choose(incoming, url())) },
        ...users.map(({ sub }) => ({
          method: "GET",
          path: `${page}/${sub}`,
          answer: (incoming: IncomingRequest) => Promise.resolve(signIn(incoming, sub, { codes, url: url() })),
        })),
      ],
    },
  };
}

function metadataAt(url: string | undefined): Response {
  if (url === undefined) return Response.json({ error: "temporarily_unavailable" }, { status: 503 });
  return Response.json({
    issuer,
    authorization_endpoint: `${url}${page}`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  });
}

/** The page with a button for each user. */
function choose({ request: { target } }: IncomingRequest, url: string | undefined): Reply {
  const asked = queryOf(target);
  if (!isAsked(asked, url)) return refusal;
  return pageReply(200, {
    title: "Who are you?",
    text: "This demo signs you in as whom you choose, without a password.",
    links: users.map(({ sub, name }) => ({ to: `${page}/${sub}?${asked.toString()}`, says: `Sign in as ${name}` })),
  });
}

/** Sends the browser back with a code for a user. */
function signIn(
  { request: { target } }: IncomingRequest,
  sub: string,
  { codes, url }: { codes: Map<string, Issued>; url: string | undefined },
): Reply {
  const asked = queryOf(target);
  if (!isAsked(asked, url)) return refusal;
  const of = (name: string): string => asked.get(name) ?? "";
  const [oldest] = codes.keys();
  if (codes.size >= mostCodes && oldest !== undefined) codes.delete(oldest);
  const code = randomBytes(16).toString("hex");
  const redirectUri = of("redirect_uri");
  const expiresAt = Date.now() + codeMs;
  codes.set(code, { sub, nonce: of("nonce"), challenge: of("code_challenge"), redirectUri, expiresAt });
  const answer = new URLSearchParams({ code, state: of("state"), iss: issuer });
  const headers = { "cache-control": "no-store", "referrer-policy": "no-referrer" };
  return { status: 303, headers: { ...headers, location: `${redirectUri}?${answer.toString()}` }, body: null };
}

const refusal = pageReply(400, {
  title: "This is no sign-in of the demo",
  text: "Begin again on the page that you want to open.",
  links: [{ to: "/me", says: "Open your page" }],
});

/** Whether the demo itself asks: for its client, with PKCE, and to be answered at its own callback under a name of this machine. */
function isAsked(asked: URLSearchParams, url: string | undefined): boolean {
  const redirectUri = asked.get("redirect_uri") ?? "";
  if (url === undefined || !URL.canParse(redirectUri)) return false;
  const { origin, hostname, port, pathname } = new URL(redirectUri);
  return (
    asked.get("client_id") === clientId &&
    asked.get("code_challenge_method") === "S256" &&
    redirectUri === `${origin}${pathname}` &&
    pathname === "/sign-in/callback" &&
    isLoopback(hostname) &&
    port === new URL(url).port
  );
}

function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}
