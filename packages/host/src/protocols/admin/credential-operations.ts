import { operatorsTenant } from "../../management/index.ts";
import { principalKey } from "turnpike/contracts";
import { freshCredentialId, isStorable } from "../../access/index.ts";
import { conflict, invalid, notFound, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Making, listing and revoking credentials. */
export function credentialOperations({
  stores: { credentials },
  clock,
}: AdminServices): AdminOperations<"createCredential" | "listCredentials" | "revokeCredential"> {
  return {
    async createCredential({ namespaceId, access, expiresAt }, operator) {
      if ((access.admin === true) !== (namespaceId === operatorsTenant))
        throw invalid(`/access/admin: expected true in the tenant ${operatorsTenant}, and only there.`);
      if (!isStorable(namespaceId)) throw invalid("/namespaceId: expected no NUL and no half of a character.");
      const id = freshCredentialId();
      const { purposes, senders } = access;
      const metadata = {
        credential: id,
        purposes,
        ...(senders && { senders: senders.map(principalKey) }),
        isOperator: access.admin === true,
      };
      const change = { namespaceId, action: "credential.create", receiver: access.actor, metadata };
      return operator.change(change, () =>
        credentials.create({ id, namespaceId, access, ...(expiresAt !== undefined && { expiresAt }) }),
      );
    },
    async listCredentials({ namespaceId, cursor, limit }) {
      const { items, next } = await paginate(
        limit,
        (most) => credentials.list({ namespaceId, after: cursor, limit: most }),
        (credential) => credential.id,
      );
      return { credentials: items, ...next };
    },
    async revokeCredential({ id }, operator) {
      const credential = await credentials.find(id);
      if (credential === undefined) throw notFound("credential of this id");
      const { namespaceId, access } = credential;
      const metadata = { credential: id };
      return operator.change(
        { namespaceId, action: "credential.revoke", receiver: access.actor, metadata },
        async () => {
          if (await credentials.revoke(id, clock().toISOString())) return { revoked: id };
          throw conflict("This credential has been revoked before.");
        },
      );
    },
  };
}
