import type { AdminOutput } from "../../admin-contract/index.ts";
import { type KnownConnection, subjectOf } from "../../connections/index.ts";
import { conflict, notFound, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

const mostGrants = 100;

/** Listing the clients that act for people, and ending one. */
export function connectionOperations({
  stores: { connections, grants },
  clock,
  wakeTurns,
}: AdminServices): AdminOperations<"listConnections" | "showConnection" | "revokeConnection"> {
  const find = async (namespaceId: string, id: string): Promise<KnownConnection> => {
    const connection = await connections.find(namespaceId, id);
    if (connection === undefined) throw notFound("connection of this id in this tenant");
    return connection;
  };
  return {
    async listConnections({ namespaceId, cursor, limit }) {
      const { items, next } = await paginate(
        limit,
        (most) => connections.list({ namespaceId, after: cursor, limit: most }),
        ({ id }) => id,
      );
      return { connections: items.map(recordOf), ...next };
    },
    async showConnection({ namespaceId, id }) {
      const connection = await find(namespaceId, id);
      const held = await grants.list(namespaceId, { subject: subjectOf(connection), limit: mostGrants });
      return { connection: recordOf(connection), grants: held };
    },
    async revokeConnection({ namespaceId, id }, operator) {
      const connection = await find(namespaceId, id);
      const metadata = { client: connection.clientId, reason: "operator" };
      const change = { namespaceId, action: "connection.revoked", receiver: subjectOf(connection), metadata };
      return operator.change(change, async () => {
        if (!(await connections.end(connection, clock().toISOString()))) throw conflict("This connection has ended.");
        wakeTurns();
        return { revoked: id };
      });
    },
  };
}

function recordOf({ credentialId: _of, ...connection }: KnownConnection): AdminOutput<"showConnection">["connection"] {
  return connection;
}
