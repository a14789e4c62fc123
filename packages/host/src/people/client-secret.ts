import { readFileSync } from "node:fs";
import type * as OpenId from "openid-client";

/** This host has no secret that the provider takes: its file cannot be read, or the provider knows another one. */
export class ClientSecretError extends Error {
  override readonly name = "ClientSecretError";
}

/**
 * Reads a client's secret. INVARIANT: no error says what is in the file. Throws a `ClientSecretError` when it is not there, or says nothing.
 */
export function readClientSecret(file: string): string {
  let secret: string;
  try {
    secret = readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new ClientSecretError(`${file} cannot be read.`, { cause });
  }
  if (secret === "") throw new ClientSecretError(`${file} is empty.`);
  return secret;
}

/**
 * How this host proves to a provider that it is its client. The secret is read each time it is shown, so that a new one counts from the
 * next sign-in on. It goes into the header unless the provider takes it in the body alone.
 */
export function clientAuthentication(client: typeof OpenId, secretFile: string | undefined): OpenId.ClientAuth {
  if (secretFile === undefined) return client.None();
  return (server, ...request) => {
    const known = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const isInBody = known.includes("client_secret_post") && !known.includes("client_secret_basic");
    const show = isInBody ? client.ClientSecretPost : client.ClientSecretBasic;
    show(readClientSecret(secretFile))(server, ...request);
  };
}
