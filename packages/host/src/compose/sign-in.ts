import { ServiceHttpError } from "turnpike/http";
import { createRateLimit, type OperatorPorts } from "../access/index.ts";
import { serveProtocol, type ServedProtocol } from "../front/index.ts";
import { openProvider, providersOf } from "../people/index.ts";
import { personProtocol } from "../protocols/me/index.ts";
import { oauthProtocol, type OAuthServices } from "../protocols/oauth/index.ts";
import { signInProtocol } from "../protocols/sign-in/index.ts";
import { isLoopback } from "../shared/index.ts";
import { errorFacts, type Log } from "../telemetry/index.ts";
import type { Config } from "./config.ts";
import type { Stores } from "./stores.ts";

interface SignInParts {
  stores: Stores;
  operators: OperatorPorts;
  /** Where this host is: an origin that no request can choose. */
  ownOrigin: OperatorPorts["originOf"];
  wakeTurns(): void;
  log: Log;
  /** How providers are reached; over the network unless given. */
  fetch: typeof fetch | undefined;
}

/** Signing in with identity providers, and the pages of people. Without providers it says that there are none. */
export function openSignIn(
  { signIn, escalations: { answeredBy } }: Pick<Config, "signIn" | "escalations">,
  { stores, operators, ownOrigin, wakeTurns, log, fetch }: SignInParts,
): ServedProtocol[] {
  const providers = providersOf(signIn).map((config) => openProvider(config, { fetch }));
  const services = {
    providers,
    people: stores.people,
    isDeleted: stores.tenants.isDeleted,
    ownOrigin,
    ports: operators,
    onRefused: (refusal: { provider: string; requestId: string }, error: unknown) =>
      log.warn({ ...refusal, ...errorFacts(error) }, "no one was signed in"),
  };
  const me = { stores, ports: operators, answeredBy, wakeTurns };
  return [serveProtocol(signInProtocol(services)), serveProtocol(personProtocol(me))];
}

/** How often one address may register clients: 20 at once, and 20 a minute. */
const registrationRate = { perSecond: 20 / 60, burst: 20 };

/** Letting clients act for people who sign in. Where no one does, it is off. */
export function openOAuth(
  { oauth }: Pick<Config, "oauth">,
  isOn: boolean,
  {
    stores,
    operators,
    ...parts
  }: Pick<SignInParts, "stores" | "operators" | "ownOrigin"> & Pick<OAuthServices, "toolNamespacesOf">,
): ServedProtocol {
  const { clients, connections, grants, tenants } = stores;
  const services = {
    config: oauth,
    clients,
    connections,
    grants,
    isDeleted: tenants.isDeleted,
    registrations: createRateLimit(registrationRate),
    ports: operators,
    ...parts,
  };
  return serveProtocol(oauthProtocol(isOn ? services : undefined));
}

/** Without a public URL a host is on loopback, and has the names of that alone. */
export function createOwnOriginOf(
  originOf: OperatorPorts["originOf"],
  publicUrl: string | undefined,
): OperatorPorts["originOf"] {
  if (publicUrl !== undefined) return originOf;
  return (headers) => {
    const origin = originOf(headers);
    if (isLoopback(new URL(origin).hostname)) return origin;
    throw new ServiceHttpError(400, "invalid_request", "host: expected a name of this machine, such as localhost.");
  };
}
