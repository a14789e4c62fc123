import { readFileSync } from "node:fs";
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from "jose";
import { IdentifierSchema, PurposeSchema } from "turnpike/contracts";
import { ConfigError, type JwtConfig } from "../config.ts";
import { parsePrincipal, type Credential } from "../stores/credential-store.ts";

/** Verifies tokens of an identity provider. */
export interface JwtVerifier {
  /** The credential a token stands for; undefined when it is not valid, or its claims say too little. */
  verify(token: string, now: Date): Promise<Credential | undefined>;
}

const maxCached = 10_000;

/** Verified tokens are kept until they expire: a signature is checked once. */
export function createJwtVerifier(config: JwtConfig): JwtVerifier {
  const keys = /^https?:\/\//.test(config.jwks)
    ? createRemoteJWKSet(new URL(config.jwks))
    : createLocalJWKSet(readKeySet(config.jwks));
  const verified = new Map<string, { credential: Credential; expiresAt: number }>();
  return {
    async verify(token, now) {
      const known = verified.get(token);
      if (known !== undefined && known.expiresAt > now.getTime()) return known.credential;
      verified.delete(token);
      const { issuer, audience } = config;
      const requirements = {
        issuer,
        audience,
        requiredClaims: ["exp", "sub"],
        currentDate: now,
        algorithms: config.algorithms,
      };
      const payload = await jwtVerify(token, keys, requirements).then(
        (result) => result.payload,
        () => undefined,
      );
      const credential = payload && credentialOf(payload, config);
      if (payload?.exp === undefined || credential === undefined) return undefined;
      if (verified.size >= maxCached) verified.clear();
      verified.set(token, { credential, expiresAt: payload.exp * 1000 });
      return credential;
    },
  };
}

/** Claims to credential, as the configuration maps them. A principal claim is `human:alice`, or an id of a fixed kind. */
function credentialOf(payload: JWTPayload, { claims }: JwtConfig): Credential | undefined {
  const text = (claim: string | undefined): string | undefined => {
    const value = claim === undefined ? undefined : payload[claim];
    return typeof value === "string" ? value : undefined;
  };
  const principal = (claim: string | undefined) => {
    const value = text(claim);
    if (value === undefined) return undefined;
    return parsePrincipal(claims.kind === undefined ? value : `${claims.kind}:${value}`);
  };
  const tenant = IdentifierSchema.safeParse(payload[claims.tenant]);
  const actor = principal(claims.actor);
  const owner = claims.owner === undefined ? actor : principal(claims.owner);
  const authority = claims.authority === undefined ? owner : principal(claims.authority);
  const purposes = purposesOf(payload[claims.purposes]);
  if (!tenant.success || actor === undefined || owner === undefined || purposes.length === 0) return undefined;
  const access = { actor, owner, purposes, ...(authority && { authority }) };
  return { id: `jwt:${payload.iss}:${payload.sub}`, namespaceId: tenant.data, access };
}

/** A list, or one string of words as OAuth scopes are written. */
function purposesOf(claim: unknown): string[] {
  const list: unknown[] = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  return list.filter((purpose): purpose is string => PurposeSchema.safeParse(purpose).success);
}

/** Throws `ConfigError` when the file is no key set. */
export function readKeySet(file: string): JSONWebKeySet {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as JSONWebKeySet;
  } catch (cause) {
    throw new ConfigError(`jwt.jwks: ${file} cannot be read as a key set.`, { cause });
  }
}
