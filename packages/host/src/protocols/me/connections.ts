import { type Grant, principalKey, type PrincipalRef } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import type { PersonConnection } from "../../admin-contract/index.ts";
import { type KnownConnection, subjectOf } from "../../connections/index.ts";
import type { AdmittedPerson } from "../../people/index.ts";
import type { PersonServices } from "./person-services.ts";

const readAtOnce = 200;
/** A person who hands on more than this is shown the first of it. */
const mostGrants = 2000;

/** Those who act for a person, because the person granted them something or let them in: each with what they may do. */
export async function listConnections(
  services: Pick<PersonServices, "stores" | "ports">,
  person: AdmittedPerson,
): Promise<PersonConnection[]> {
  const acting = new Map<string, PersonConnection>();
  for (const connection of await services.stores.connections.listOf(person.namespaceId, person.principal)) {
    const subject = subjectOf(connection);
    acting.set(principalKey(subject), { subject, client: clientOf(connection), grants: [] });
  }
  for (const grant of await livingGrants(services, person)) {
    const key = principalKey(grant.subject);
    const known = acting.get(key) ?? { subject: grant.subject, grants: [] };
    known.grants.push(grant);
    acting.set(key, known);
  }
  return [...acting.values()];
}

function clientOf({ clientName: name, redirect, createdAt: since, lastUsedAt }: KnownConnection) {
  return { name, redirect, since, ...(lastUsedAt !== undefined && { lastUsedAt }) };
}

/** Takes back all that a person granted a user, and with it what that one handed on; a client that they let in loses its tokens, too. */
export async function revokeConnection(
  services: PersonServices,
  person: AdmittedPerson,
  { subject }: { subject: PrincipalRef },
): Promise<object> {
  const { stores, ports, wakeTurns } = services;
  const key = principalKey(subject);
  const { namespaceId, principal } = person;
  const grants = (await livingGrants(services, person)).filter((grant) => principalKey(grant.subject) === key);
  const connections = await stores.connections.listOf(namespaceId, principal);
  const connection = connections.find((one) => principalKey(subjectOf(one)) === key);
  if (grants.length === 0 && connection === undefined)
    throw new ServiceHttpError(404, "not_found", "No one of this name acts for you.");
  const changes = [
    ...(connection === undefined ? [] : [{ namespaceId, action: "connection.revoked", receiver: subject }]),
    ...grants.map(({ id }) => ({ namespaceId, action: "grant.revoke", grantId: id, receiver: subject })),
  ];
  return person.changeAll(changes, async () => {
    const at = ports.clock().toISOString();
    if (connection !== undefined) await stores.connections.end(connection, at);
    else await stores.grants.revokeAll(grants, at);
    wakeTurns();
    return { revoked: grants.length };
  });
}

async function livingGrants(
  { stores, ports }: Pick<PersonServices, "stores" | "ports">,
  { namespaceId, principal: issuer }: AdmittedPerson,
): Promise<Grant[]> {
  const now = ports.clock().getTime();
  const living: Grant[] = [];
  let after: string | undefined;
  for (let read = 0; read < mostGrants; read += readAtOnce) {
    const page = await stores.grants.list(namespaceId, { issuer, after, limit: readAtOnce });
    living.push(...page.filter((grant) => isLiving(grant, now)));
    after = page.at(-1)?.id;
    if (page.length < readAtOnce) break;
  }
  return living;
}

function isLiving({ revokedAt, constraints: { expiresAt } }: Grant, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || Date.parse(expiresAt) > now);
}
