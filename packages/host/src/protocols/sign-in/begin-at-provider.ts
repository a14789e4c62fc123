import type { Reply } from "turnpike/http";
import { setSignInCookie } from "../../access/index.ts";
import { type IncomingRequest, pageReply, queryOf, redirectReply } from "../../front/index.ts";
import {
  beginSignIn,
  ClientSecretError,
  destinationOf,
  type IdentityProvider,
  type PersonKind,
  ProviderAwayError,
  secretsOf,
  writeBegun,
} from "../../people/index.ts";
import { callbackPath, linkTo } from "./addresses.ts";
import { awayPage, noProviderPage, nowherePage, unknownHostPage } from "./refusal-pages.ts";
import type { SignInServices } from "./sign-in-services.ts";

/** Sends the browser to the provider, or lets the person choose one. */
export async function beginAtProvider(services: SignInServices, { request, record }: IncomingRequest): Promise<Reply> {
  const query = queryOf(request.target);
  const to = query.get("to") ?? (services.providers.some(({ config }) => config.people) ? "/me" : "/console");
  const destination = destinationOf(to);
  if (destination === undefined) return nowherePage();
  const open = services.providers.filter((provider) => admits(provider, destination.kind));
  const named = query.get("provider");
  const [provider, ...others] = named === null ? open : open.filter(({ name }) => name === named);
  if (provider === undefined) return noProviderPage();
  if (others.length > 0) {
    const links = open.map(({ name }) => ({ to: linkTo(to, name), says: `Continue with ${name}` }));
    return pageReply(200, { title: "Sign in", links });
  }
  const begun = beginSignIn(provider.name, to, services.ports.clock());
  const origin = services.ownOrigin(request.headers);
  try {
    const address = await provider.addressOf(`${origin}${callbackPath}`, secretsOf(begun));
    record.headers["set-cookie"] = setSignInCookie(origin, writeBegun(begun));
    return redirectReply(address.href);
  } catch (error) {
    const isAway = error instanceof ProviderAwayError;
    if (!isAway && !(error instanceof ClientSecretError)) throw error;
    services.onRefused({ provider: provider.name, requestId: record.requestId }, error);
    return isAway ? awayPage(to, provider.name) : unknownHostPage(to, provider.name);
  }
}

function admits({ config }: IdentityProvider, kind: PersonKind): boolean {
  return kind === "operator" ? config.operators !== undefined : config.people !== undefined;
}
