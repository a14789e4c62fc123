import { performance } from "node:perf_hooks";
import {
  decodeJwt,
  errors,
  jwtVerify,
  type CryptoKey,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from "jose";
import { IdentifierSchema, parsePrincipal, PurposeSchema } from "turnpike/contracts";
import { operatorsTenant } from "../admin-contract/index.ts";
import type { Credential } from "./credential-store.ts";
import type { JwtConfig } from "./jwt-config.ts";
import { KeySetUnavailableError, openKeySet, type Keys, type MonotonicClock } from "./key-set.ts";

/** Verifies tokens of an identity provider. */
export interface JwtVerifier {
  /**
   * The credential that a token describes; undefined when it is not valid, or claims are missing. Throws
   * `KeySetUnavailableError` when there are no keys to check it with.
   */
  verify(token: string, now: Date): Promise<Credential | undefined>;
}

/** The options besides the configuration. */
export interface JwtVerifierOptions {
  clock?: MonotonicClock;
  /** Called when the key set could not be read. */
  onKeySetError?(error: unknown): void;
}

const maxCached = 10_000;

const foreignPrefix = "jwt:";

/** Whether a credential is an identity provider's token, which this host does not store. */
export function isForeign({ id }: Pick<Credential, "id">): boolean {
  return id.startsWith(foreignPrefix);
}

/**
 * Verifies a token once for each reading of the key set. A verified token is forgotten together with the keys that verified
 * it, so it counts no longer than they do.
 */
export function createJwtVerifier(config: JwtConfig, options: JwtVerifierOptions = {}): JwtVerifier {
  const { clock = () => performance.now() } = options;
  const keySet = openKeySet(config.jwks, clock, (error) => options.onKeySetError?.(error));
  const verified = new Map<string, { credential: Credential | undefined; expiresAt: number }>();
  let verifiedBy: Keys | undefined;

  const verifyBy = async (keys: Keys, token: string, now: Date): Promise<Credential | "unknown key" | undefined> => {
    if (keys !== verifiedBy) {
      verified.clear();
      verifiedBy = keys;
    }
    const known = verified.get(token);
    if (known !== undefined && known.expiresAt > now.getTime()) return known.credential;
    const result = await signedBy(keys, config, token, now);
    if (result === undefined || result === "unknown key") return result;
    const credential = isAccessToken(result, config) ? credentialOf(result.payload, config) : undefined;
    // Every token that was verified says when it expires; the type does not.
    const { exp = 0 } = result.payload;
    // INVARIANT: a token is cached only beside others that were verified by the same reading of the key set.
    if (verifiedBy === keys) {
      if (verified.size >= maxCached) verified.clear();
      verified.set(token, { credential, expiresAt: exp * 1000 });
    }
    return credential;
  };
  return {
    async verify(token, now) {
      const keys = await keySet.current();
      if (keys === undefined) return withoutKeys(token, now);
      const first = await verifyBy(keys, token, now);
      if (first !== "unknown key") return first;
      const newer = await keySet.renewed();
      if (newer === undefined) return withoutKeys(token, now);
      const second = newer === keys ? undefined : await verifyBy(newer, token, now);
      return second === "unknown key" ? undefined : second;
    },
  };
}

/** Without keys, a malformed or expired token is refused as usual. For any other token it throws. */
function withoutKeys(token: string, now: Date): undefined {
  let claims: JWTPayload;
  try {
    claims = decodeJwt(token);
  } catch {
    return undefined;
  }
  if (typeof claims.exp === "number" && claims.exp * 1000 <= now.getTime()) return undefined;
  throw new KeySetUnavailableError();
}

/** The token's header and claims, if its signature and the required claims are valid. */
async function signedBy(
  keys: Keys,
  { issuer, audience, algorithms }: JwtConfig,
  token: string,
  currentDate: Date,
): Promise<JWTVerifyResult | "unknown key" | undefined> {
  const rules = { issuer, audience, requiredClaims: ["exp"], currentDate, algorithms };
  try {
    return await jwtVerify(token, keys, rules);
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return signedByOneOf(error, token, rules);
    return error instanceof errors.JWKSNoMatchingKey ? "unknown key" : undefined;
  }
}

/** A provider that replaces a key may have several keys without an id, or with the same id. Any of them may have signed. */
async function signedByOneOf(
  keys: AsyncIterable<CryptoKey>,
  token: string,
  rules: JWTVerifyOptions,
): Promise<JWTVerifyResult | undefined> {
  for await (const key of keys) {
    const result = await jwtVerify(token, key, rules).catch(() => undefined);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** The types of access tokens (RFC 9068), and the generic type. */
const usualTypes = ["at+jwt", "jwt"];

/**
 * Claims of tokens that are not access tokens: the hashes of an ID token; the events of a logout or another security event
 * token (RFC 8417).
 */
const foreignClaims = ["at_hash", "c_hash", "events"];

/** Whether it is an access token, and not another kind of token that the provider signs with the same key. */
function isAccessToken({ protectedHeader: { typ }, payload }: JWTVerifyResult, { types }: JwtConfig): boolean {
  if (foreignClaims.some((claim) => Object.hasOwn(payload, claim))) return false;
  if (typ === undefined) return types === undefined;
  return typeof typ === "string" && (types ?? usualTypes).map(mediaType).includes(mediaType(typ));
}

/** Types are compared without case, and without the prefix that may be left out (RFC 7515). */
function mediaType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, "");
}

/** Maps claims to a credential as configured. A claim of a principal is `human:alice`, or an id of a fixed kind. */
function credentialOf(payload: JWTPayload, { claims }: JwtConfig): Credential | undefined {
  const named = (id: string) => parsePrincipal(claims.kind === undefined ? id : `${claims.kind}:${id}`);
  const principal = (claim: string) => {
    const value = payload[claim];
    return typeof value === "string" ? named(value) : undefined;
  };
  const { iss, sub } = payload;
  const tenant = IdentifierSchema.safeParse(payload[claims.tenant]);
  const actor = principal(claims.actor);
  const owner = claims.owner === undefined ? actor : principal(claims.owner);
  const authority = claims.authority === undefined ? owner : principal(claims.authority);
  const purposes = wordsOf(payload[claims.purposes]).filter((word) => PurposeSchema.safeParse(word).success);
  // Where the claim for senders is configured, a token without it may name no sender.
  const senders =
    claims.senders === undefined ? undefined : wordsOf(payload[claims.senders]).flatMap((id) => named(id) ?? []);
  const evaluates = claims.evaluates !== undefined && payload[claims.evaluates] === true;
  const certificate = boundCertificate(payload["cnf"]);
  if (certificate === "unknown" || typeof sub !== "string" || sub === "") return undefined;
  if (!tenant.success || actor === undefined || owner === undefined || purposes.length === 0) return undefined;
  // No agent acts in the operators' tenant: operators have credentials of this host, and its audit log is theirs.
  if (tenant.data === operatorsTenant) return undefined;
  const more = {
    ...(authority && { authority }),
    ...(senders && { senders }),
    ...(evaluates && { evaluates }),
    ...(certificate && { certificate }),
  };
  const access = { actor, owner, purposes, ...more };
  return { id: `${foreignPrefix}${iss}:${sub}`, namespaceId: tenant.data, access };
}

/** The certificate that the bearer has to show (RFC 8705). A token that is bound to anything else is refused (RFC 7800). */
function boundCertificate(claim: unknown): string | undefined {
  if (claim === undefined) return undefined;
  const { "x5t#S256": hash, ...others } = Object(claim) as Record<string, unknown>;
  const isKnown = typeof hash === "string" && /^[\w-]{43}$/.test(hash) && Object.keys(others).length === 0;
  return isKnown ? `sha256:${Buffer.from(hash, "base64url").toString("hex")}` : "unknown";
}

/** The words of a claim: a list, or one string with spaces, as OAuth scopes are written. */
function wordsOf(claim: unknown): string[] {
  const list: unknown[] = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  return list.filter((word) => typeof word === "string");
}
