import { createRemoteJWKSet, customFetch as joseFetch, jwtVerify } from "jose";
import type * as OpenId from "openid-client";
import { isCausedBy } from "../shared/index.ts";
import { clientAuthentication, ClientSecretError, readClientSecret } from "./client-secret.ts";
import type { ProvedClaims } from "./identify.ts";
import { nameOf, type ProviderConfig } from "./sign-in-config.ts";

/** What binds the answer of a provider to the browser that it was asked for. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  verifier: string;
}

/** Whom a logout of the provider is about: one of its sessions, or all of a user's. */
interface ProviderLogout {
  id: string;
  sub: string | undefined;
  sid: string | undefined;
  expiresAt: Date;
}

/** An identity provider: OpenID Connect as `openid-client` speaks it. */
export interface IdentityProvider {
  readonly name: string;
  readonly config: ProviderConfig;
  /**
   * Where the browser is sent. Throws a `ProviderAwayError` when the provider's metadata cannot be read, or a `ClientSecretError`, because
   * the answer could not be proved later.
   */
  addressOf(redirectUri: string, secrets: SignInSecrets): Promise<URL>;
  /**
   * What the answer proves. Throws a `SignInRefusedError` for one that proves nothing, a `ProviderAwayError`, or a `ClientSecretError` when
   * the provider does not take this host for its client.
   */
  prove(answer: URL, secrets: SignInSecrets): Promise<ProvedClaims>;
  /** What a logout token says. Throws a `SignInRefusedError` for one that counts for nothing, or a `ProviderAwayError`. */
  readLogout(token: string): Promise<ProviderLogout>;
}

/** The provider cannot be reached, or does not answer as one. */
export class ProviderAwayError extends Error {
  override readonly name = "ProviderAwayError";
}

/** The provider's answer does not sign anyone in. */
export class SignInRefusedError extends Error {
  override readonly name = "SignInRefusedError";
}

export interface ProviderOptions {
  /** How the provider is reached; over the network unless given. */
  fetch?: typeof fetch | undefined;
}

const answerSeconds = 10;
/** Providers may let their clocks differ from this host's by so much. */
const logoutAge = "2 minutes";
const logoutMs = 10 * 60_000;
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout";

/** Opens a provider. Its metadata is read when it is first needed, and cached: the host starts without it. */
export function openProvider(config: ProviderConfig, { fetch: fetchIt }: ProviderOptions = {}): IdentityProvider {
  const { issuer, clientId, clientSecretFile, scopes } = config;
  let opening: Promise<Opened> | undefined;
  const open = (): Promise<Opened> =>
    (opening ??= discover(config, fetchIt).catch((cause: unknown) => {
      opening = undefined;
      throw new ProviderAwayError(`${issuer} does not answer as an identity provider.`, { cause });
    }));
  return {
    name: nameOf(config),
    config,
    async addressOf(redirectUri, { state, nonce, verifier }) {
      if (clientSecretFile !== undefined) readClientSecret(clientSecretFile);
      const { client, configuration } = await open();
      return client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: scopes.join(" "),
        response_type: "code",
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      });
    },
    async prove(answer, { state, nonce, verifier }) {
      const { client, configuration } = await open();
      const checks = {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      };
      try {
        const tokens = await client.authorizationCodeGrant(configuration, answer, checks);
        const claims = tokens.claims();
        if (claims === undefined || claims.sub === "") throw new SignInRefusedError("There is no ID token.");
        return claims;
      } catch (cause) {
        if (isUnanswered(cause)) throw new ProviderAwayError(`${issuer} does not answer.`, { cause });
        if (isCausedBy(cause, ClientSecretError) || isUnknownClient(client, cause))
          throw new ClientSecretError(`${issuer} does not take this host for its client ${clientId}.`, { cause });
        throw new SignInRefusedError("The provider's answer does not sign anyone in.", { cause });
      }
    },
    async readLogout(token) {
      const { configuration, keys } = await open();
      const { issuer: iss } = configuration.serverMetadata();
      try {
        const { payload } = await jwtVerify(token, keys, {
          issuer: iss,
          audience: clientId,
          algorithms: signedBy,
          requiredClaims: ["iat", "jti", "events"],
          maxTokenAge: logoutAge,
          clockTolerance: logoutAge,
        });
        const { sub, sid, jti = "", events, nonce } = payload;
        const isLogout = typeof events === "object" && events !== null && Object.hasOwn(events, logoutEvent);
        const session = typeof sid === "string" ? sid : undefined;
        // INVARIANT: an ID token is no logout token, and the other way round: one has a nonce and no events.
        if (!isLogout || nonce !== undefined || (sub ?? session) === undefined)
          throw new SignInRefusedError("It is no logout token.");
        return { id: jti, sub, sid: session, expiresAt: new Date(Date.now() + logoutMs) };
      } catch (cause) {
        if (isUnanswered(cause)) throw new ProviderAwayError(`${issuer} does not say its keys.`, { cause });
        throw new SignInRefusedError("The logout token is not valid.", { cause });
      }
    },
  };
}

const signedBy = ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];

interface Opened {
  client: typeof OpenId;
  configuration: OpenId.Configuration;
  keys: ReturnType<typeof createRemoteJWKSet>;
}

async function discover(config: ProviderConfig, fetchIt: typeof fetch | undefined): Promise<Opened> {
  const { issuer, clientId, clientSecretFile } = config;
  // Loaded by a host that signs people in, and by no other.
  const client = await import("openid-client");
  const isPlain = new URL(issuer).protocol === "http:";
  // Without these checks, an ID token that came over TLS would count with any signature.
  const execute = [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])];
  const configuration = await client.discovery(
    new URL(issuer),
    clientId,
    undefined,
    clientAuthentication(client, clientSecretFile),
    {
      execute,
      timeout: answerSeconds,
      ...(fetchIt && { [client.customFetch]: fetchIt as OpenId.CustomFetch }),
    },
  );
  const { jwks_uri: jwksUri } = configuration.serverMetadata();
  if (jwksUri === undefined) throw new Error("The provider's metadata names no key set.");
  const keys = createRemoteJWKSet(new URL(jwksUri), fetchIt === undefined ? {} : { [joseFetch]: fetchIt });
  return { client, configuration, keys };
}

/** Whether there was no answer at all, or one that says that the provider has a problem of its own. */
function isUnanswered(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { cause, message } = error;
  const code = "code" in error ? error.code : undefined;
  if (cause instanceof Response) return cause.status >= 500;
  return message === "fetch failed" || unanswered.has(code);
}

/** What openid-client and jose call an answer that did not come in time, and a key set that could not be read. */
const unanswered: ReadonlySet<unknown> = new Set(["OAUTH_TIMEOUT", "ERR_JWKS_TIMEOUT", "ERR_JOSE_GENERIC"]);

/** Whether a provider says that it does not know this host, or another secret of it. */
function isUnknownClient(client: typeof OpenId, error: unknown): boolean {
  if (error instanceof client.WWWAuthenticateChallengeError) return true;
  return error instanceof client.ResponseBodyError && error.error === "invalid_client";
}

/** Reads the metadata of a provider, and nothing else. Throws a `ProviderAwayError`. */
export async function readProvider(config: ProviderConfig, options: ProviderOptions = {}): Promise<void> {
  const secrets = { state: "", nonce: "", verifier: "0".repeat(64) };
  await openProvider(config, options).addressOf("http://localhost/sign-in/callback", secrets);
}
