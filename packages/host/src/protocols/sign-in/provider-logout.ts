import { decodeJwt } from "jose";
import { type Reply, ServiceHttpError } from "turnpike/http";
import { z } from "zod";
import { secretHashOf } from "../../access/index.ts";
import type { IncomingRequest } from "../../front/index.ts";
import { ProviderAwayError } from "../../people/index.ts";
import { providerSessionHash, recordEnd } from "./end-sessions.ts";
import type { SignInServices } from "./sign-in-services.ts";

const LogoutSchema = z.object({ logout_token: z.string().min(1).max(16_384) });

/** OpenID Connect's back-channel logout: the provider says that one of its sessions has ended, or all of a user's. */
export async function logOutByProvider(services: SignInServices, { request, record }: IncomingRequest): Promise<Reply> {
  const { people, ports, providers } = services;
  const text = new TextDecoder().decode(await request.body.bytes());
  const sent = LogoutSchema.safeParse(Object.fromEntries(new URLSearchParams(text)));
  const token = sent.success ? sent.data.logout_token : "";
  const provider = providers.find(({ config }) => config.issuer === issuerIn(token));
  if (provider === undefined) throw refuseLogout();
  const logout = await provider.readLogout(token).catch((error: unknown) => {
    services.onRefused({ provider: provider.name, requestId: record.requestId }, error);
    throw error instanceof ProviderAwayError
      ? new ServiceHttpError(503, "authority_unavailable", "The provider's keys cannot be read right now.")
      : refuseLogout();
  });
  const { issuer } = provider.config;
  const credentialIds =
    logout.sid === undefined && logout.sub !== undefined ? await people.credentialsOf(issuer, logout.sub) : [];
  const ended = await ports.sessions.endOfProvider({
    providerSession: providerSessionHash(issuer, logout.sid),
    credentialIds,
    once: { id: secretHashOf(`logout ${issuer} ${logout.id}`), until: logout.expiresAt },
  });
  if (ended === undefined) throw refuseLogout();
  for (const session of ended) await recordEnd(services, session, record.requestId);
  return { status: 200, headers: {}, body: null };
}

function issuerIn(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

function refuseLogout(): ServiceHttpError {
  return new ServiceHttpError(
    400,
    "invalid_request",
    "logout_token: expected a logout token of a provider of this host.",
  );
}
