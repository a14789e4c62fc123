import type { Credential, CredentialStore } from "./credential-store.ts";
import type { JwtVerifier } from "./jwt.ts";

/** Who sent a request, by what they showed for it. */
export interface Caller {
  readonly credential: Credential;
  /** Whether what they showed is still good at a later moment. Throws when that cannot be established. */
  stands(now: Date): Promise<boolean>;
}

/** The bearer of a credential that the host made; undefined when it is not good. */
export async function callerByCredential(
  credentials: CredentialStore,
  token: string,
  now: Date,
): Promise<Caller | undefined> {
  const credential = await credentials.verify(token, now);
  return credential && { credential, stands: (later) => credentials.stands(credential.id, later) };
}

/** The bearer of an identity provider's token; undefined when it is not good. Throws while there are no keys to tell by. */
export async function callerByJwt(jwt: JwtVerifier, token: string, now: Date): Promise<Caller | undefined> {
  const credential = await jwt.verify(token, now);
  return credential && { credential, stands: async (later) => (await jwt.verify(token, later)) !== undefined };
}
