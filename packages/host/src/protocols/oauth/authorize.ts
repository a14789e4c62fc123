import type { Reply } from "turnpike/http";
import { setConsentCookie } from "../../access/index.ts";
import { answerMs } from "../../connections/index.ts";
import { type IncomingRequest, pageReply, queryOf, redirectReply } from "../../front/index.ts";
import { admitSignedIn, findSignedIn } from "../../people/index.ts";
import { answerAddress, checkRequest, type CheckedRequest, resourcesAt, writeRequest } from "./check-request.ts";
import type { OAuthServices } from "./oauth-services.ts";

/** A client sends a browser here. Nothing is stored of it before a person has signed in. */
export async function authorize(services: OAuthServices, { request }: IncomingRequest): Promise<Reply> {
  const query = queryOf(request.target);
  const origin = services.ownOrigin(request.headers);
  const checked = await check(services, query, origin);
  if (checked.kind !== "asked") return refuse(checked, origin);
  return redirectReply(signInAddress(query));
}

/** The person has signed in: what the client asks is stored for them and for this browser, and their page opens. */
export async function beginConsent(services: OAuthServices, { request, record }: IncomingRequest): Promise<Reply> {
  const { ports, connections } = services;
  const query = queryOf(request.target);
  const origin = services.ownOrigin(request.headers);
  const checked = await check(services, query, origin);
  if (checked.kind !== "asked") return refuse(checked, origin);
  const proof = await findSignedIn(ports, query.get("signed_in") ?? "", request.headers);
  if (proof === undefined || (await services.isDeleted(proof.credential.namespaceId))) return signInPage(query);
  const { namespaceId } = admitSignedIn(ports, proof, record);
  const { presented, codeId } = proof;
  const begun = await connections.begin(checked.request, { namespaceId, presented, codeId }, ports.clock());
  if (begun === undefined) return signInPage(query);
  const { id, secret } = begun;
  record.headers["set-cookie"] = setConsentCookie(origin, id, secret, answerMs / 1000);
  return redirectReply(`/consent/${id}`);
}

async function check({ clients }: OAuthServices, query: URLSearchParams, origin: string): Promise<CheckedRequest> {
  return checkRequest(query, await clients.find(query.get("client_id") ?? ""), resourcesAt(origin));
}

function refuse(checked: Exclude<CheckedRequest, { kind: "asked" }>, issuer: string): Reply {
  if (checked.kind === "unanswerable")
    return pageReply(400, { title: "This cannot be connected", text: checked.says, links: [] });
  const { redirectUri, state, error, description } = checked;
  return redirectReply(answerAddress(redirectUri, { issuer, state, error, error_description: description }));
}

function signInAddress(query: URLSearchParams): string {
  return `/sign-in?${new URLSearchParams({ to: `/consent?${writeRequest(query)}` }).toString()}`;
}

function signInPage(query: URLSearchParams): Reply {
  return pageReply(400, {
    title: "This sign-in is over",
    text: "It took too long, was begun in another browser, or has been used.",
    links: [{ to: signInAddress(query), says: "Sign in again" }],
  });
}
