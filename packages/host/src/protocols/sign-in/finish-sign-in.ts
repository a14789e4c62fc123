import type { Reply } from "turnpike/http";
import { browserHashOf, freshId, readSignInCookie, secretHashOf } from "../../access/index.ts";
import { type IncomingRequest, queryOf, redirectReply } from "../../front/index.ts";
import {
  addressBehind,
  type BegunSignIn,
  ClientSecretError,
  destinationOf,
  identify,
  type IdentityProvider,
  isAnswerTo,
  type PersonKind,
  ProviderAwayError,
  providerSessionEnd,
  readBegun,
  secretsOf,
  SignInRefusedError,
} from "../../people/index.ts";
import { callbackPath, linkTo } from "./addresses.ts";
import { admitUser, NotLetInError } from "./admit-user.ts";
import { endFormer, providerSessionHash } from "./end-sessions.ts";
import { awayPage, lostPage, notLetInPage, unknownHostPage, unprovedPage } from "./refusal-pages.ts";
import type { SignInServices } from "./sign-in-services.ts";

/** A sign-in that this browser began, and that the provider has answered. */
interface AnsweredSignIn {
  begun: BegunSignIn;
  provider: IdentityProvider;
  to: string;
  kind: PersonKind;
  /** What the browser holds of it. */
  cookie: string;
  answer: URLSearchParams;
  origin: string;
}

/** Takes the provider's answer, and begins a session in the browser that asked for it. */
export async function finishSignIn(services: SignInServices, { request, record }: IncomingRequest): Promise<Reply> {
  const origin = services.ownOrigin(request.headers);
  const answer = queryOf(request.target);
  const cookie = readSignInCookie(request.headers, origin) ?? "";
  const begun = readBegun(cookie, services.ports.clock());
  const destination = begun && destinationOf(begun.to);
  const provider = services.providers.find(({ name }) => name === begun?.provider);
  if (begun === undefined || destination === undefined || provider === undefined) return lostPage("/sign-in");
  const { to, kind } = destination;
  if (!isAnswerTo(begun, answer.get("state") ?? "")) return lostPage(linkTo(to));
  // INVARIANT: an answer counts once, also through two hosts, and whatever became of it the first time.
  const counted = secretHashOf(`answer ${secretsOf(begun).state}`);
  if (!(await services.people.isFirst(counted, new Date(begun.expiresAt)))) return lostPage(linkTo(to));
  try {
    const answered = { begun, provider, to, kind, cookie, answer, origin };
    const code = await codeOf(services, answered, record.requestId);
    return redirectReply(addressBehind(`${origin}${to}`, code));
  } catch (error) {
    const page = refusalOf(error, { to, provider: provider.name, error: answer.get("error") });
    if (page === undefined) throw error;
    services.onRefused({ provider: provider.name, requestId: record.requestId }, error);
    return page;
  }
}

/** Proves an answer, lets its user in, and makes the code that begins their session. */
async function codeOf(
  services: SignInServices,
  { begun, provider, kind, cookie, answer, origin }: AnsweredSignIn,
  requestId: string,
): Promise<string> {
  const { sessions, clock } = services.ports;
  const now = clock();
  const claims = await provider.prove(new URL(`${origin}${callbackPath}?${answer.toString()}`), secretsOf(begun));
  const endsAt = providerSessionEnd(claims, now);
  const identified = identify(provider.config, kind, claims);
  if (!identified.ok) {
    await endFormer(services, provider, { kind, sub: claims.sub }, requestId);
    throw new NotLetInError(identified.reason);
  }
  const credential = await admitUser(services, provider, identified.identity, requestId);
  await endFormer(services, provider, { kind, sub: claims.sub, except: credential.id }, requestId);
  const { code } = await sessions.createCode(freshId(), credential, now, {
    browserHash: browserHashOf(cookie),
    providerSession: providerSessionHash(claims.iss, claims["sid"]),
    endsAt,
  });
  return code;
}

/** The page that says why no one was let in; undefined for an error that is not about that. */
function refusalOf(
  error: unknown,
  { to, provider, error: said }: { to: string; provider: string; error: string | null },
): Reply | undefined {
  if (error instanceof NotLetInError) return notLetInPage(to, error.reason);
  if (error instanceof SignInRefusedError) return unprovedPage(to, provider, said);
  if (error instanceof ProviderAwayError) return awayPage(to, provider);
  if (error instanceof ClientSecretError) return unknownHostPage(to, provider);
  return undefined;
}
