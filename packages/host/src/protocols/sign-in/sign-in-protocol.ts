import { jsonReply, readBody, type Reply } from "turnpike/http";
import { z } from "zod";
import { endSession, requireOperator, setCookie } from "../../access/index.ts";
import type { IncomingRequest, Protocol, ProtocolRoute } from "../../front/index.ts";
import { endPersonSession, requirePerson } from "../../people/index.ts";
import { callbackPath } from "./addresses.ts";
import { beginAtProvider } from "./begin-at-provider.ts";
import { finishSignIn } from "./finish-sign-in.ts";
import { logOutByProvider } from "./provider-logout.ts";
import type { SignInServices } from "./sign-in-services.ts";

/** Signs people and operators in with an identity provider, and out again. None of it needs a credential. */
export function signInProtocol(services: SignInServices): Protocol<undefined> {
  const routes: readonly ProtocolRoute<undefined>[] = [
    { method: "GET", path: "/sign-in", answer: (incoming) => beginAtProvider(services, incoming) },
    { method: "GET", path: "/sign-in/providers", answer: () => Promise.resolve(listProviders(services)) },
    { method: "GET", path: callbackPath, answer: (incoming) => finishSignIn(services, incoming) },
    { method: "POST", path: "/sign-in/logout", answer: (incoming) => logOutByProvider(services, incoming) },
    { method: "POST", path: "/sign-out", answer: (incoming) => signOut(services, incoming) },
  ];
  const paths = new Set(routes.map(({ path }) => path));
  return {
    owns: (path) => paths.has(path),
    admit: () => Promise.resolve(undefined),
    openRoutes: routes,
    routes: [],
  };
}

/** Who signs people in, and as what, for pages that ask. */
function listProviders({ providers, ports }: SignInServices): Reply {
  const shown = providers.map(({ name, config }) => ({
    name,
    console: config.operators !== undefined,
    me: config.people !== undefined,
  }));
  return jsonReply({ providers: shown, tokens: ports.isTokenSignInOff !== true });
}

/** Ends the session whose page asks: an operator's by the console's header, a person's by that of their own page. */
async function signOut({ ports }: SignInServices, { request, record }: IncomingRequest): Promise<Reply> {
  await readBody(request.body, z.strictObject({}));
  const origin = ports.originOf(request.headers);
  if (request.headers.get("x-turnpike-me") !== null) {
    await endPersonSession(ports, await requirePerson(ports, request, record));
    record.headers["set-cookie"] = setCookie(origin, "", 0, "me");
  } else {
    const operator = await requireOperator(ports, request, record);
    await endSession(ports, operator);
    if (operator.session !== undefined) record.headers["set-cookie"] = setCookie(origin, "", 0);
  }
  return jsonReply({});
}
