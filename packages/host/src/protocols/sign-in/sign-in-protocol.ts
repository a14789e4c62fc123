import { type Grant, principalKey } from "turnpike/contracts";
import { jsonReply, readBody, type Reply, ServiceHttpError } from "turnpike/http";
import { decodeJwt } from "jose";
import { z } from "zod";
import {
  browserHashOf,
  codeLink,
  createOperator,
  endSession,
  freshId,
  type Operator,
  type OperatorPorts,
  readSignInCookie,
  requireOperator,
  requireOwnOrigin,
  secretHashOf,
  setCookie,
  setSignInCookie,
} from "../../access/index.ts";
import type { IncomingRequest, Protocol, ProtocolRoute } from "../../front/index.ts";
import {
  beginSignIn,
  destinationOf,
  endPersonSession,
  identify,
  type Identity,
  type IdentityProvider,
  isAnswerTo,
  type PersonKind,
  type PersonStore,
  ProviderAwayError,
  readBegun,
  type RefusedSignIn,
  requirePerson,
  secretsOf,
  SignInRefusedError,
  writeBegun,
} from "../../people/index.ts";
import { pageReply } from "./sign-in-page.ts";

/** What signing people in uses. */
export interface SignInServices {
  providers: readonly IdentityProvider[];
  people: PersonStore;
  /** Whether a tenant was deleted: no one signs in there. */
  isDeleted(namespaceId: string): Promise<boolean>;
  /** Where the provider sends browsers back to: an origin that no request can choose. */
  ownOrigin(headers: IncomingRequest["request"]["headers"]): string;
  ports: OperatorPorts;
  /** Told why no one was let in, which callers learn little of. */
  onRefused(refusal: { provider: string; requestId: string }, error: unknown): void;
}

const callbackPath = "/sign-in/callback";

/** Signs people and operators in with an identity provider, and out again. None of it needs a credential. */
export function signInProtocol(services: SignInServices): Protocol<undefined> {
  const routes: readonly ProtocolRoute<undefined>[] = [
    { method: "GET", path: "/sign-in", answer: (incoming) => begin(services, incoming) },
    { method: "GET", path: "/sign-in/providers", answer: () => Promise.resolve(listProviders(services)) },
    { method: "GET", path: callbackPath, answer: (incoming) => finish(services, incoming) },
    { method: "POST", path: "/sign-in/logout", answer: (incoming) => logOut(services, incoming) },
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

/** Sends the browser to the provider, or lets the person choose one. */
async function begin(services: SignInServices, { request, record }: IncomingRequest): Promise<Reply> {
  const query = queryOf(request.target);
  const to = query.get("to") ?? (services.providers.some(({ config }) => config.people) ? "/me" : "/console");
  const destination = destinationOf(to);
  if (destination === undefined)
    return pageReply(400, { title: "This link leads nowhere", text: "It names no page of this host.", links: [] });
  const open = services.providers.filter((provider) => admits(provider, destination.kind));
  const named = query.get("provider");
  const [provider, ...others] = named === null ? open : open.filter(({ name }) => name === named);
  if (provider === undefined)
    return pageReply(404, {
      title: "No one can sign in here",
      text: "No identity provider is configured for this page.",
      links: [],
    });
  if (others.length > 0) {
    const links = open.map(({ name }) => ({ to: linkTo(to, name), says: `Continue with ${name}` }));
    return pageReply(200, { title: "Sign in", links });
  }
  const begun = beginSignIn(provider.name, to, services.ports.clock());
  const origin = services.ownOrigin(request.headers);
  try {
    const address = await provider.addressOf(`${origin}${callbackPath}`, secretsOf(begun));
    record.headers["set-cookie"] = setSignInCookie(origin, writeBegun(begun));
    return { status: 303, headers: { location: address.href, ...quiet }, body: null };
  } catch (error) {
    if (!(error instanceof ProviderAwayError)) throw error;
    services.onRefused({ provider: provider.name, requestId: record.requestId }, error);
    return awayPage(to, provider.name);
  }
}

const quiet = { "cache-control": "no-store", "referrer-policy": "no-referrer" };

function admits({ config }: IdentityProvider, kind: PersonKind): boolean {
  return kind === "operator" ? config.operators !== undefined : config.people !== undefined;
}

function linkTo(to: string, provider?: string): string {
  return `/sign-in?${new URLSearchParams({ to, ...(provider !== undefined && { provider }) }).toString()}`;
}

function awayPage(to: string, provider: string): Reply {
  return pageReply(503, {
    title: `${provider} does not answer`,
    text: "Wait a little, and try again.",
    links: [{ to: linkTo(to), says: "Try again" }],
  });
}

/** Takes the provider's answer, and begins a session in the browser that asked for it. */
async function finish(services: SignInServices, { request, record }: IncomingRequest): Promise<Reply> {
  const { ports, people } = services;
  const now = ports.clock();
  const origin = services.ownOrigin(request.headers);
  const cookie = readSignInCookie(request.headers, origin) ?? "";
  const begun = readBegun(cookie, now);
  const destination = begun && destinationOf(begun.to);
  const provider = services.providers.find(({ name }) => name === begun?.provider);
  const query = queryOf(request.target);
  if (begun === undefined || destination === undefined || provider === undefined) return lostPage("/sign-in");
  const { to, kind } = destination;
  if (!isAnswerTo(begun, query.get("state") ?? "")) return lostPage(linkTo(to));
  const refuse = (error: unknown): void =>
    services.onRefused({ provider: provider.name, requestId: record.requestId }, error);
  try {
    const { state } = secretsOf(begun);
    // INVARIANT: an answer counts once, also through two hosts, and whatever became of it the first time.
    if (!(await people.isFirst(secretHashOf(`answer ${state}`), new Date(begun.expiresAt))))
      return lostPage(linkTo(to));
    const answer = new URL(`${origin}${callbackPath}?${query.toString()}`);
    const claims = await provider.prove(answer, secretsOf(begun));
    const identified = identify(provider.config, kind, claims);
    if (!identified.ok) {
      await endFormer(services, provider, { kind, sub: claims.sub }, record.requestId);
      throw new NotLetInError(identified.reason);
    }
    const credential = await enter(services, provider, identified.identity, record.requestId);
    await endFormer(services, provider, { kind, sub: claims.sub, except: credential.id }, record.requestId);
    const bound = { browserHash: browserHashOf(cookie), providerSession: sessionHashOf(claims.iss, claims["sid"]) };
    const { code } = await ports.sessions.createCode(freshId(), credential, now, bound);
    return { status: 303, headers: { location: codeLink(`${origin}${to}`, code), ...quiet }, body: null };
  } catch (error) {
    if (error instanceof NotLetInError || error instanceof SignInRefusedError || error instanceof ProviderAwayError)
      refuse(error);
    if (error instanceof NotLetInError)
      return pageReply(403, { title: "You are not let in", text: notLetIn[error.reason], links: [again(to)] });
    if (error instanceof SignInRefusedError)
      return pageReply(400, {
        title: "You are not signed in",
        text:
          query.get("error") === "access_denied"
            ? `${provider.name} was told not to.`
            : `${provider.name} gave an answer that does not count.`,
        links: [again(to)],
      });
    if (error instanceof ProviderAwayError) return awayPage(to, provider.name);
    throw error;
  }
}

function again(to: string): { to: string; says: string } {
  return { to: linkTo(to), says: "Sign in again" };
}

function lostPage(to: string): Reply {
  return pageReply(400, {
    title: "This sign-in is over",
    text: "It took too long, was begun in another window, or has been used.",
    links: [{ to, says: "Sign in again" }],
  });
}

/** The provider knows a user whom this host does not let in. */
class NotLetInError extends Error {
  override readonly name = "NotLetInError";
  readonly reason: RefusedSignIn;
  constructor(reason: RefusedSignIn) {
    super(`No one was let in: ${reason}.`);
    this.reason = reason;
  }
}

const askOperator = "An operator of this host can change that.";
const notLetIn: Readonly<Record<RefusedSignIn, string>> = {
  no_people: `This provider signs operators in, and no one else. ${askOperator}`,
  no_operator: `You are no operator here. ${askOperator}`,
  no_subject: `Your provider gives you no name that can be used here. ${askOperator}`,
  no_tenant: `Your provider names no tenant of yours. ${askOperator}`,
  revoked: `Your access was revoked. ${askOperator}`,
  taken: `Another user signs in under your name. ${askOperator}`,
  breaks_rule: `What you would be given breaks a rule about grants. ${askOperator}`,
  deleted_tenant: "Your tenant was deleted.",
};

/** Lets a user in, and records it. What they are granted at their first sign-in is in the same transaction, and in the audit log. */
async function enter(
  { people, ports, isDeleted }: SignInServices,
  provider: IdentityProvider,
  identity: Identity,
  requestId: string,
) {
  const { namespaceId, principal, kind, access } = identity;
  if (await isDeleted(namespaceId)) throw new NotLetInError("deleted_tenant");
  const who = { id: "sign-in", actor: principal, role: access.role ?? "reviewer", requestId };
  const self = createOperator(who, ports.audit, (error) => ports.onAuditError(error));
  const { role, tenant } = access;
  const metadata = {
    provider: provider.name,
    ...(kind === "operator" && { role: role ?? "admin", ...(tenant !== undefined && { tenant }) }),
  };
  const change = { namespaceId, action: `${kind}.sign-in`, receiver: principal, metadata };
  const entered = await self.change(change, async () => {
    const made = await people.enter(identity, ports.clock().toISOString());
    if (made.kind !== "entered") throw new NotLetInError(made.kind);
    return made;
  });
  await self.recordMade(entered.grants.map(changeOfHold));
  return entered.presented;
}

/**
 * Ends the sessions of whom a user was and is no more, by what their provider says now: an operator, or a person of another tenant.
 */
async function endFormer(
  services: SignInServices,
  { config }: IdentityProvider,
  { kind, sub, except }: { kind: PersonKind; sub: string; except?: string },
  requestId: string,
): Promise<void> {
  const { people, ports } = services;
  const former = (await people.credentialsOf(config.issuer, sub, kind)).filter((id) => id !== except);
  if (former.length === 0) return;
  const ended = await ports.sessions.endOfProvider({ credentialIds: former });
  for (const session of ended ?? []) await recordEnd(services, session, requestId);
}

function changeOfHold({ namespaceId, id, subject, issuer }: Grant) {
  return {
    namespaceId,
    action: "grant.create",
    grantId: id,
    receiver: subject,
    metadata: { issuer: principalKey(issuer) },
  };
}

const LogoutSchema = z.object({ logout_token: z.string().min(1).max(16_384) });

/** OpenID Connect's back-channel logout: the provider says that one of its sessions has ended, or all of a user's. */
async function logOut(services: SignInServices, { request, record }: IncomingRequest): Promise<Reply> {
  const { people, ports, providers } = services;
  record.headers["cache-control"] = "no-store";
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
    providerSession: sessionHashOf(issuer, logout.sid),
    credentialIds,
    once: { id: secretHashOf(`logout ${issuer} ${logout.id}`), until: logout.expiresAt },
  });
  if (ended === undefined) throw refuseLogout();
  for (const session of ended) await recordEnd(services, session, record.requestId);
  return { status: 200, headers: {}, body: null };
}

async function recordEnd(
  { people, ports }: SignInServices,
  { id, credentialId }: { id: string; credentialId: string },
  requestId: string,
): Promise<void> {
  const person = await people.findBy(credentialId);
  if (person === undefined) return;
  const actor = { kind: "service", serviceId: "sign-in" } as const;
  const self: Operator = createOperator({ id: "sign-in", actor, role: "reviewer", requestId }, ports.audit, (error) =>
    ports.onAuditError(error),
  );
  const metadata = { session: id, by: "provider", person: principalKey(person.principal) };
  await self.recordMade([{ namespaceId: person.namespaceId, action: "session.end", metadata }]);
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

/** What a session is found by when its provider ends the one that it came from. */
function sessionHashOf(issuer: string, sid: unknown): string | undefined {
  return typeof sid === "string" && sid !== "" ? secretHashOf(`${issuer}\n${sid}`) : undefined;
}

/** Ends the session whose page asks: an operator's by the console's header, a person's by that of their own page. */
async function signOut({ ports }: SignInServices, incoming: IncomingRequest): Promise<Reply> {
  const { request, record } = incoming;
  requireOwnOrigin(ports, request);
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

/** What an address asks with, behind its path. */
export function queryOf(target: string): URLSearchParams {
  const start = target.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}
