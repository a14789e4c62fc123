import type { PrincipalRef } from "turnpike/contracts";
import type { AdminOutput } from "../../admin-contract/index.ts";
import { type Connection, subjectOf } from "../../connections/index.ts";
import type { Person } from "../../people/index.ts";
import { conflict, notFound, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Listing who signs in, and shutting a user out. */
export function personOperations({
  stores,
  clock,
}: AdminServices): AdminOperations<"listPeople" | "revokePerson" | "restorePerson"> {
  const { connections, credentials, people, sessions } = stores;
  const find = async (namespaceId: string, principal: PrincipalRef): Promise<Person> => {
    const person = await people.find(namespaceId, principal);
    if (person === undefined) throw notFound("person of this name who has signed in to this tenant");
    return person;
  };
  const changeOf = (action: string, { namespaceId, credentialId }: Person, receiver: PrincipalRef) => ({
    namespaceId,
    action,
    receiver,
    metadata: { credential: credentialId },
  });
  return {
    async listPeople({ namespaceId, cursor, limit }) {
      const { items, next } = await paginate(
        limit,
        (most) => people.list({ namespaceId, after: cursor, limit: most }),
        ({ id }) => id,
      );
      return { people: items.map(recordOf), ...next };
    },
    async revokePerson({ namespaceId, principal }, operator) {
      const person = await find(namespaceId, principal);
      const { credentialId } = person;
      const now = clock();
      return operator.change(changeOf("person.revoke", person, principal), async () => {
        const open = await sessions.listOpen(credentialId, now);
        let ended: Connection[] = [];
        const at = now.toISOString();
        const isRevoked = await credentials.revoke(credentialId, at, async (transaction) => {
          await sessions.endAll(transaction, credentialId);
          ended = await connections.endAll(transaction, { namespaceId, principal }, at);
        });
        if (!isRevoked) throw conflict("This person has been revoked before.");
        await operator.recordMade(ended.map(endOf));
        return { revoked: credentialId, sessions: open.length, connections: ended.length };
      });
    },
    async restorePerson({ namespaceId, principal }, operator) {
      const person = await find(namespaceId, principal);
      return operator.change(changeOf("person.restore", person, principal), async () => {
        if (!(await people.restore(person.id))) throw conflict("This person was not revoked.");
        return { restored: principal };
      });
    },
  };
}

function endOf(connection: Connection) {
  const { namespaceId, clientId: client } = connection;
  const metadata = { client, reason: "person" };
  return { namespaceId, action: "connection.revoked", receiver: subjectOf(connection), metadata };
}

function recordOf(person: Person): AdminOutput<"listPeople">["people"][number] {
  const { namespaceId, principal, kind, name, issuer, credentialId, createdAt, signedInAt, isRevoked } = person;
  return {
    namespaceId,
    principal,
    kind,
    ...(name !== undefined && { name }),
    issuer,
    credentialId,
    firstSignInAt: createdAt,
    lastSignInAt: signedInAt,
    isRevoked,
  };
}
