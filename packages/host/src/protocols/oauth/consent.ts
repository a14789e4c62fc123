import { type Grant, principalKey, type PrincipalRef } from "turnpike/contracts";
import type { Reply } from "turnpike/http";
import {
  isSameText,
  readConsentCookie,
  requireOwnOrigin,
  requireOwnPage,
  secretHashOf,
  setConsentCookie,
} from "../../access/index.ts";
import { type Offer, offersOf, type PendingRequest, subjectOf } from "../../connections/index.ts";
import { principalText } from "../../display/index.ts";
import { type IncomingRequest, pageReply, redirectReply } from "../../front/index.ts";
import { InvariantViolatedError } from "../../grants/index.ts";
import { admitSignedIn } from "../../people/index.ts";
import { answerAddress } from "./check-request.ts";
import { consentReply, lifetimes } from "./consent-page.ts";
import { readForm } from "./form.ts";
import type { OAuthServices } from "./oauth-services.ts";

/** How many grants of a person are looked through for what they may hand on. */
const mostGrants = 1000;

/** A request that waits for its person's answer, in the browser that may give it. */
interface Asked {
  pending: PendingRequest;
  person: ReturnType<typeof admitSignedIn>;
  token: string;
  offers: Offer[];
  origin: string;
  known: "configured" | "registered";
}

/** Shows a person what a client asks. */
export async function showConsent(services: OAuthServices, incoming: IncomingRequest): Promise<Reply> {
  const asked = await findAsked(services, incoming);
  return asked === undefined ? overPage() : pageOf(asked);
}

/** Takes a person's answer. */
export async function answerConsent(services: OAuthServices, incoming: IncomingRequest): Promise<Reply> {
  const { ports } = services;
  const { request } = incoming;
  requireOwnPage(request.headers);
  requireOwnOrigin(ports, request);
  const asked = await findAsked(services, incoming);
  if (asked === undefined) return overPage();
  // The person is known by now, and may send a long form.
  request.admit();
  const form = await readForm(request);
  // INVARIANT: an answer counts only with what the page alone holds; a cookie is sent whichever page asks for it.
  if (!isSameText(form.get("token") ?? "", asked.token)) return overPage();
  return form.get("answer") === "allow" ? allow(services, incoming, asked, form) : cancel(services, incoming, asked);
}

async function allow(
  services: OAuthServices,
  incoming: IncomingRequest,
  asked: Asked,
  form: URLSearchParams,
): Promise<Reply> {
  const { connections, ports } = services;
  const { pending, person, offers, origin } = asked;
  const wanted = new Set(form.getAll("allow"));
  const each = new Set(form.getAll("ask"));
  const chosen = offers
    .filter(({ key }) => wanted.has(key))
    .map((offer) => ({ offer, isAskedEach: each.has(offer.key) }));
  if (wanted.size === 0) return cancel(services, incoming, asked);
  if (chosen.length < wanted.size) return pageOf(asked, 409, changedNotice);
  const { hours } = lifetimes.get(form.get("lasts") ?? "") ?? {};
  const now = ports.clock();
  const endsAt = hours === undefined ? undefined : new Date(now.getTime() + hours * 3_600_000).toISOString();
  const { namespaceId, principal } = person;
  const { clientId, clientName, redirectUri, state } = pending.request;
  const metadata = { request: pending.id, client: clientId, name: clientName };
  const change = { namespaceId, action: "connection.consent", receiver: principal, metadata };
  const consent = {
    chosen,
    endsAt,
    purpose: pending.access.purposes[0] ?? "",
    toolNamespaces: services.toolNamespacesOf(chosen.map(({ offer }) => offer.capability.resource.namespace)),
  };
  try {
    const consented = await person.change(change, () => connections.consent(pending.id, consent, now));
    if (consented.kind === "over") return overPage();
    if (consented.kind === "changed") return pageOf(asked, 409, changedNotice);
    const { connection, isNew, grants, code } = consented;
    const receiver = subjectOf(connection);
    const action = isNew ? "connection.created" : "connection.changed";
    await person.recordMade([
      { namespaceId, action, receiver, metadata },
      ...grants.map((grant) => issued(grant, receiver)),
    ]);
    return leave(incoming, asked, answerAddress(redirectUri, { issuer: origin, state, code }));
  } catch (error) {
    if (error instanceof InvariantViolatedError) return pageOf(asked, 409, ruleNotice);
    throw error;
  }
}

const changedNotice = "What you may hand on has changed meanwhile. Choose again.";
const ruleNotice = "A rule of your organization does not allow all of this together. Choose less.";

function issued({ namespaceId, id, issuer }: Grant, receiver: PrincipalRef) {
  return { namespaceId, action: "grant.create", grantId: id, receiver, metadata: { issuer: principalKey(issuer) } };
}

async function cancel({ connections }: OAuthServices, incoming: IncomingRequest, asked: Asked): Promise<Reply> {
  const { pending, origin: issuer } = asked;
  const { redirectUri, state } = pending.request;
  await connections.cancel(pending.id);
  const answer = { error: "access_denied", error_description: "The person allowed nothing." };
  return leave(incoming, asked, answerAddress(redirectUri, { issuer, state, ...answer }));
}

/** Sends the browser back to the client, and has it forget what it held of this request. */
function leave({ record }: IncomingRequest, { pending, origin }: Asked, address: string): Reply {
  record.headers["set-cookie"] = setConsentCookie(origin, pending.id, "", 0);
  return redirectReply(address);
}

async function findAsked(
  services: OAuthServices,
  { request, path, record }: IncomingRequest,
): Promise<Asked | undefined> {
  const { connections, clients, ports } = services;
  const [, id = ""] = /^\/consent\/([0-9a-f]{16})$/.exec(path) ?? [];
  const origin = services.ownOrigin(request.headers);
  const secret = readConsentCookie(request.headers, origin, id) ?? "";
  const now = ports.clock();
  const pending = await connections.findRequest(id, secret, now);
  if (pending === undefined || (await services.isDeleted(pending.namespaceId))) return undefined;
  const client = await clients.find(pending.request.clientId);
  if (client === undefined) return undefined;
  const { namespaceId, credentialId, access } = pending;
  const person = admitSignedIn(ports, { credential: { id: credentialId, namespaceId, access } }, record);
  const terms = { subject: subjectOf({ id }), purpose: access.purposes[0] ?? "", at: now.toISOString() };
  const offers = offersOf(await held(services, person), pending.request.scope, terms);
  return { pending, person, token: secretHashOf(`form ${secret}`), offers, origin, known: client.known };
}

/** What the person holds, as far as it is looked through. */
async function held(
  { grants }: OAuthServices,
  { namespaceId, principal: subject }: { namespaceId: string; principal: PrincipalRef },
): Promise<Grant[]> {
  const found: Grant[] = [];
  const limit = 200;
  for (let after: string | undefined; found.length < mostGrants;) {
    const page = await grants.list(namespaceId, { subject, after, limit });
    found.push(...page);
    after = page.at(-1)?.id;
    if (page.length < limit) break;
  }
  return found;
}

function pageOf({ pending, person, token, offers, known }: Asked, status = 200, notice?: string): Reply {
  const { id, request } = pending;
  const { clientName, redirectUri } = request;
  const who = principalText(person.principal);
  return consentReply(status, { id, token, clientName, redirectUri, known, who, offers, notice });
}

function overPage(): Reply {
  return pageReply(400, {
    title: "This question is over",
    text: "It was answered, took too long, or was asked in another browser. Connect the program again.",
    links: [],
  });
}
