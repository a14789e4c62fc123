import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT, type JSONWebKeySet, type JWTPayload } from "jose";
import { temporaryFolder } from "./databases.ts";
import type { JwtConfig } from "../src/access/jwt-config.ts";

export const issuer = "https://id.example";
export const audience = "turnpike";
export const noon = new Date("2026-01-01T12:00:00Z");
export const inAnHour: number = noon.getTime() / 1000 + 3600;

/** Says who signs tokens and with what. */
export interface IdentityProvider {
  jwks: JSONWebKeySet;
  publicKey: Awaited<ReturnType<typeof generateKeyPair>>["publicKey"];
  /** A token with everything it needs; `changes` to undefined leave a claim out. */
  sign(changes?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** The same token under headers that libraries refuse to write. */
  signRaw(header: Record<string, unknown>): Promise<string>;
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
    async signRaw(header) {
      const isEncoded = header["b64"] !== false;
      const claims = JSON.stringify(goodClaims);
      const payload = isEncoded ? encoded(claims) : claims.replaceAll(".", String.raw`\u002e`);
      const signed = `${encoded(JSON.stringify({ alg, kid, ...header }))}.${payload}`;
      const algorithm = { name: "ECDSA", hash: "SHA-256" };
      const signature = await crypto.subtle.sign(algorithm, privateKey, new TextEncoder().encode(signed));
      return `${signed}.${Buffer.from(signature).toString("base64url")}`;
    },
  };
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64url");
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
