import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT, type JSONWebKeySet, type JWTPayload } from "jose";
import { temporaryFolder } from "../databases.ts";
import type { JwtConfig } from "../../../packages/host/src/config.ts";

export const issuer = "https://id.example";
export const audience = "turnpike";
export const noon = new Date("2026-01-01T12:00:00Z");
export const inAnHour: number = noon.getTime() / 1000 + 3600;

/** Says who signs tokens and with what. */
export interface IdentityProvider {
  jwks: JSONWebKeySet;
  publicKey: Awaited<ReturnType<typeof generateKeyPair>>["publicKey"];
  /** A token with everything it needs; `changes` to undefined leave a claim out. */
  sign(changes?: Record<string, unknown>, header?: { alg?: string; kid?: string }): Promise<string>;
}

export const goodClaims: JWTPayload = {
  iss: issuer,
  aud: audience,
  sub: "human:alice",
  tenant: "tenant-1",
  scope: "support billing",
  exp: inAnHour,
};

export async function identityProvider(alg = "ES256", kid = "key-1"): Promise<IdentityProvider> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid, alg, use: "sig" }] },
    publicKey,
    sign: (changes = {}, header = {}) =>
      new SignJWT({ ...goodClaims, ...changes }).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  };
}

/** The configuration that trusts a provider, whose key set is a file. */
export function trusting({ jwks }: IdentityProvider, changes: Partial<JwtConfig> = {}): JwtConfig {
  const file = join(temporaryFolder(), "jwks.json");
  writeFileSync(file, JSON.stringify(jwks));
  return {
    jwks: file,
    issuer,
    audience,
    algorithms: ["RS256", "ES256", "EdDSA"],
    claims: { tenant: "tenant", actor: "sub", purposes: "scope" },
    ...changes,
  };
}
