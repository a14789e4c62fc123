import { type Grant, principalKey, type PrincipalRef } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import type { PersonConnection } from "../../admin-contract/index.ts";
import type { AdmittedPerson } from "../../people/index.ts";
import type { PersonServices } from "./person-services.ts";

const readAtOnce = 200;
/** A person who hands on more than this is shown the first of it. */
const mostGrants = 2000;

/** Those who act for a person, because the person granted them something: each with what they may do. */
export async function listConnections(
  services: Pick<PersonServices, "stores" | "ports">,
  person: AdmittedPerson,
): Promise<PersonConnection[]> {
  const connections = new Map<string, PersonConnection>();
  for (const grant of await livingGrants(services, person)) {
    const key = principalKey(grant.subject);
    const known = connections.get(key) ?? { subject: grant.subject, grants: [] };
    known.grants.push(grant);
    connections.set(key, known);
  }
  return [...connections.values()];
}

/** Takes back all that a person granted a user, and with it what that one handed on. */
export async function revokeConnection(
  services: PersonServices,
  person: AdmittedPerson,
  { subject }: { subject: PrincipalRef },
): Promise<object> {
  const { stores, ports, wakeTurns } = services;
  const key = principalKey(subject);
  const grants = (await livingGrants(services, person)).filter((grant) => principalKey(grant.subject) === key);
  if (grants.length === 0) throw new ServiceHttpError(404, "not_found", "No one of this name acts for you.");
  const { namespaceId } = person;
  const changes = grants.map(({ id }) => ({ namespaceId, action: "grant.revoke", grantId: id, receiver: subject }));
  return person.changeAll(changes, async () => {
    const revoked = await stores.grants.revokeAll(grants, ports.clock().toISOString());
    wakeTurns();
    return { revoked: revoked.length };
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
