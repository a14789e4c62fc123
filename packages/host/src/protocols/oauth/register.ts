import type { Reply } from "turnpike/http";
import { z } from "zod";
import { isRedirectUri } from "../../connections/index.ts";
import type { IncomingRequest } from "../../front/index.ts";
import { oauthError, oauthReply } from "./form.ts";
import type { OAuthServices } from "./oauth-services.ts";

/** What counts of what a client says of itself. The rest, such as its logo, is neither stored nor shown. */
const DocumentSchema = z.object({
  client_name: z.string().min(1).max(100).optional(),
  redirect_uris: z.array(z.string()).min(1).max(20),
});

/** Registers a client (RFC 7591). It gets an id, and no secret: whatever it says of itself, it is a public client. */
export async function registerClient(services: OAuthServices, { request }: IncomingRequest): Promise<Reply> {
  const { clients, ports, registrations } = services;
  const allowance = registrations.take(request.address);
  const { "retry-after": wait = "60" } = allowance.headers;
  const tooMany = (says: string): Reply => oauthError(429, "temporarily_unavailable", says, { "retry-after": wait });
  if (!allowance.isGranted) return tooMany("Too many clients register from this address.");
  const checked = DocumentSchema.safeParse(parse(new TextDecoder().decode(await request.body.bytes())));
  if (!checked.success)
    return oauthError(
      400,
      "invalid_client_metadata",
      "expected redirect_uris, and a client_name of 100 characters at most",
    );
  const { client_name: name, redirect_uris: redirectUris } = checked.data;
  const wrong = redirectUris.find((one) => !isRedirectUri(one));
  if (wrong !== undefined)
    return oauthError(
      400,
      "invalid_redirect_uri",
      "redirect_uris: expected https, this machine, or the scheme of an app",
    );
  const client = await clients.register({ name, redirectUris }, ports.clock().toISOString());
  if (client === undefined)
    return tooMany("Too many clients have registered. Those that no one uses are removed after a day.");
  return oauthReply(201, {
    client_id: client.id,
    client_id_issued_at: Math.floor(Date.parse(client.registeredAt) / 1000),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
