import { ServiceHttpError } from "turnpike/http";
import type { OperatorPorts } from "../access/index.ts";
import { serveProtocol, type ServedProtocol } from "../front/index.ts";
import { openProvider, providersOf } from "../people/index.ts";
import { personProtocol } from "../protocols/me/index.ts";
import { signInProtocol } from "../protocols/sign-in/index.ts";
import { isLoopback } from "../shared/index.ts";
import { errorFacts, type Log } from "../telemetry/index.ts";
import type { Config } from "./config.ts";
import type { Stores } from "./stores.ts";

interface SignInParts {
  stores: Stores;
  operators: OperatorPorts;
  wakeTurns(): void;
  log: Log;
  /** How providers are reached; over the network unless given. */
  fetch: typeof fetch | undefined;
}

/** Signing in with identity providers, and the pages of people. Without providers it says that there are none. */
export function openSignIn(
  { signIn, publicUrl, escalations: { answeredBy } }: Pick<Config, "signIn" | "publicUrl" | "escalations">,
  { stores, operators, wakeTurns, log, fetch }: SignInParts,
): ServedProtocol[] {
  const providers = providersOf(signIn).map((config) => openProvider(config, { fetch }));
  const services = {
    providers,
    people: stores.people,
    isDeleted: stores.tenants.isDeleted,
    ownOrigin: ownOriginOf(operators.originOf, publicUrl),
    ports: operators,
    onRefused: (refusal: { provider: string; requestId: string }, error: unknown) =>
      log.warn({ ...refusal, ...errorFacts(error) }, "no one was signed in"),
  };
  const me = { stores, ports: operators, answeredBy, wakeTurns };
  return [serveProtocol(signInProtocol(services)), serveProtocol(personProtocol(me))];
}

/** Without a public URL a host is on loopback, and has the names of that alone. */
function ownOriginOf(originOf: OperatorPorts["originOf"], publicUrl: string | undefined): OperatorPorts["originOf"] {
  if (publicUrl !== undefined) return originOf;
  return (headers) => {
    const origin = originOf(headers);
    if (isLoopback(new URL(origin).hostname)) return origin;
    throw new ServiceHttpError(400, "invalid_request", "host: expected a name of this machine, such as localhost.");
  };
}
