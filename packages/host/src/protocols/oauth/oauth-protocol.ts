import type { Protocol, ProtocolRoute } from "../../front/index.ts";
import { authorize, beginConsent } from "./authorize.ts";
import { answerConsent, showConsent } from "./consent.ts";
import { describeServer } from "./metadata.ts";
import type { OAuthServices } from "./oauth-services.ts";
import { registerClient } from "./register.ts";
import { giveTokens, revokeToken } from "./token.ts";

const paths = new Set([
  "/.well-known/oauth-authorization-server",
  "/authorize",
  "/consent",
  "/register",
  "/revoke",
  "/token",
]);

/** Lets clients act for people: OAuth 2.1, as an authorization server for this host alone. Without services it is off. */
export function oauthProtocol(services: OAuthServices | undefined): Protocol<undefined> {
  return {
    // Where it is off, clients learn that there is nothing here, and are not asked for a token.
    owns: (path) => paths.has(path) || path.startsWith("/consent/"),
    admit: () => Promise.resolve(undefined),
    openRoutes: services === undefined ? [] : routesOf(services),
    routes: [],
  };
}

function routesOf(services: OAuthServices): ProtocolRoute<undefined>[] {
  const open: ProtocolRoute<undefined>[] = [
    {
      method: "GET",
      path: "/.well-known/oauth-authorization-server",
      answer: (incoming) => describeServer(services, incoming),
    },
    { method: "GET", path: "/authorize", answer: (incoming) => authorize(services, incoming) },
    { method: "GET", path: "/consent", answer: (incoming) => beginConsent(services, incoming) },
    { method: "GET", path: "/consent/{id}", answer: (incoming) => showConsent(services, incoming) },
    { method: "POST", path: "/consent/{id}", answer: (incoming) => answerConsent(services, incoming) },
    { method: "POST", path: "/token", answer: (incoming) => giveTokens(services, incoming) },
    { method: "POST", path: "/revoke", answer: (incoming) => revokeToken(services, incoming) },
  ];
  const registering: ProtocolRoute<undefined> = {
    method: "POST",
    path: "/register",
    answer: (incoming) => registerClient(services, incoming),
  };
  return services.config.dcr ? [...open, registering] : open;
}
