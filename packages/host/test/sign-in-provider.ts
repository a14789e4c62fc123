import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createHash, randomBytes } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from "jose";
import { onTestFinished } from "vitest";

/** What a provider may be told to do wrong with its next answers. */
export interface Misbehavior {
  /** Claims of the ID token that are other than they should be; undefined leaves one out. */
  claims?: Record<string, unknown>;
  /** Signs with a key that is not in the key set, under the id of one that is. */
  isForeignKey?: boolean;
  /** Signs with nothing: `alg` is none. */
  isUnsigned?: boolean;
  /** What it adds to the answer in the browser's address, or writes otherwise. */
  answer?: Record<string, string>;
  /** It leaves requests of this path without an answer. */
  silentAt?: string;
  /** It answers nothing but this status. */
  status?: number;
}

/** An identity provider of a test, which signs in whom it is told, and answers wrongly when it is told. */
export interface SignInProvider {
  issuer: string;
  /** What the users say of themselves; `sub` is who signs in next. */
  user: JWTPayload & { sub: string };
  misbehavior: Misbehavior;
  /** The secret of its client, and where it wants to be shown it; a client without one is a public one. */
  client: { secret?: string; showsIn?: "header" | "body" };
  /** What was asked of it so far. */
  readonly requests: string[];
  signLogout(claims: Record<string, unknown>, isForeignKey?: boolean): Promise<string>;
  close(): Promise<void>;
}

const clientId = "turnpike";

/** Opens a provider on loopback, for the time of a test. */
async function openSignInProvider(user: JWTPayload & { sub: string }): Promise<SignInProvider> {
  const [own, foreign] = await Promise.all([generateKeyPair("ES256"), generateKeyPair("ES256")]);
  const jwk = { ...(await exportJWK(own.publicKey)), kid: "key-1", alg: "ES256", use: "sig" };
  const codes = new Map<string, { nonce: string; challenge: string; redirectUri: string; user: JWTPayload }>();
  const requests: string[] = [];
  const sign = (claims: JWTPayload, isForeign = false): Promise<string> =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "key-1" })
      .sign(isForeign ? foreign.privateKey : own.privateKey);
  const provider: SignInProvider = {
    issuer: "",
    user,
    misbehavior: {},
    client: {},
    requests,
    signLogout: (claims, isForeignKey) =>
      sign(
        {
          iss: provider.issuer,
          aud: clientId,
          iat: seconds(),
          jti: randomBytes(8).toString("hex"),
          events: { "http://schemas.openid.net/event/backchannel-logout": {} },
          ...claims,
        },
        isForeignKey,
      ),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const json = (response: ServerResponse, body: unknown, status = 200, headers: object = {}): void => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
  const authorize = (url: URL, response: ServerResponse): void => {
    const code = randomBytes(16).toString("hex");
    const redirectUri = url.searchParams.get("redirect_uri") ?? "";
    codes.set(code, {
      nonce: url.searchParams.get("nonce") ?? "",
      challenge: url.searchParams.get("code_challenge") ?? "",
      redirectUri,
      user: provider.user,
    });
    const answer = {
      code,
      state: url.searchParams.get("state") ?? "",
      iss: provider.issuer,
      ...provider.misbehavior.answer,
    };
    response.writeHead(303, { location: `${redirectUri}?${new URLSearchParams(answer).toString()}` }).end();
  };
  const token = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = new URLSearchParams(Buffer.concat(chunks).toString());
    if (secretOf(provider.client.showsIn ?? "header", request, sent) !== provider.client.secret)
      return json(response, { error: "invalid_client" }, 401, { "www-authenticate": 'Basic realm="test"' });
    const issued = codes.get(sent.get("code") ?? "");
    codes.delete(sent.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(sent.get("code_verifier") ?? "")
      .digest("base64url");
    if (issued?.challenge !== challenge || issued.redirectUri !== sent.get("redirect_uri"))
      return json(response, { error: "invalid_grant" }, 400);
    const claims = {
      iss: provider.issuer,
      aud: clientId,
      iat: seconds(),
      exp: seconds() + 300,
      nonce: issued.nonce,
      ...issued.user,
      ...provider.misbehavior.claims,
    };
    const written = JSON.parse(JSON.stringify(claims)) as JWTPayload;
    const { isForeignKey, isUnsigned = false } = provider.misbehavior;
    const id_token = isUnsigned ? new UnsecuredJWT(written).encode() : await sign(written, isForeignKey);
    json(response, { access_token: randomBytes(16).toString("hex"), token_type: "bearer", id_token });
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", provider.issuer);
    requests.push(url.pathname);
    const { status, silentAt } = provider.misbehavior;
    if (url.pathname === silentAt) return;
    if (status !== undefined) return json(response, { error: "server_error" }, status);
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return json(response, {
          issuer: provider.issuer,
          authorization_endpoint: `${provider.issuer}/authorize`,
          token_endpoint: `${provider.issuer}/token`,
          jwks_uri: `${provider.issuer}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["ES256"],
          ...(provider.client.showsIn === "body" && { token_endpoint_auth_methods_supported: ["client_secret_post"] }),
          authorization_response_iss_parameter_supported: true,
        });
      case "/keys":
        return json(response, { keys: [jwk] });
      case "/authorize":
        return authorize(url, response);
      case "/token":
        return void token(request, response);
      default:
        return json(response, { error: "not_found" }, 404);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  provider.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return provider;
}

/** The same, closed when the test ends. */
export async function signInProviderOfTest(user: JWTPayload & { sub: string }): Promise<SignInProvider> {
  const provider = await openSignInProvider(user);
  onTestFinished(() => provider.close());
  return provider;
}

/** The secret that a client shows; undefined for one that shows none, or shows it elsewhere. */
function secretOf(
  showsIn: "header" | "body",
  { headers: { authorization } }: IncomingMessage,
  sent: URLSearchParams,
): string | undefined {
  if (showsIn === "body") return sent.get("client_secret") ?? undefined;
  if (authorization === undefined) return undefined;
  const [, password = ""] = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");
  return decodeURIComponent(password.replaceAll("+", " "));
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
