import { type CredentialRecord, operatorsTenant } from "../../management/index.ts";
import { principalKey } from "turnpike/contracts";
import { freshId, isAdminOfAll, isStorable, type Operator, requireOwnToken } from "../../access/index.ts";
import {
  conflict,
  forbidden,
  invalid,
  notFound,
  paginate,
  type AdminOperations,
  type AdminServices,
} from "./admin-services.ts";

type CredentialRoute = "createCredential" | "listCredentials" | "revokeCredential" | "rotateCredential";

/** Making, listing, revoking and rotating credentials. */
export function credentialOperations({
  stores: { credentials },
  clock,
}: AdminServices): AdminOperations<CredentialRoute> {
  /** A credential that an admin may change. One of another tenant, or of an operator, is unknown to an admin of one tenant. */
  const find = async (id: string, operator: Operator): Promise<CredentialRecord> => {
    const credential = await credentials.find(id);
    const isTheirs = isAdminOfAll(operator) || credential?.namespaceId === operator.tenant;
    if (credential === undefined || !isTheirs) throw notFound("credential of this id");
    return credential;
  };
  return {
    async createCredential({ namespaceId, access, expiresAt, currentToken }, operator) {
      if (access.admin === true) requireOwnToken(operator, currentToken);
      if ((access.admin === true) !== (namespaceId === operatorsTenant))
        throw invalid(`/access/admin: expected true in the tenant ${operatorsTenant}, and only there.`);
      if (!isStorable(namespaceId)) throw invalid("/namespaceId: expected no NUL and no half of a character.");
      const id = freshId();
      const { purposes, senders, evaluates, role = "admin", tenant } = access;
      const metadata = {
        credential: id,
        purposes,
        ...(senders && { senders: senders.map(principalKey) }),
        ...(evaluates === true && { evaluates }),
        isOperator: access.admin === true,
        ...(access.admin === true && { role, ...(tenant !== undefined && { tenant }) }),
      };
      const change = { namespaceId, action: "credential.create", receiver: access.actor, metadata };
      // A certificate alone says no tenant: whom it stands for is not for the admin of one to say, nor to put in doubt.
      const isTokenNeeded = operator.tenant !== undefined;
      return operator.change(change, () =>
        credentials.create({ id, namespaceId, access, isTokenNeeded, ...(expiresAt !== undefined && { expiresAt }) }),
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
    async revokeCredential({ id, force = false }, operator) {
      const credential = await find(id, operator);
      return operator.change(changeOf("credential.revoke", credential), async () => {
        const at = clock().toISOString();
        const revoked = force ? await revokeAny(id, at) : await credentials.revokeUnlessLastAdmin(id, at);
        if (revoked === "last admin") throw conflict(lastAdmin);
        if (revoked === "revoked before") throw conflict("This credential has been revoked before.");
        return { revoked: id };
      });
    },
    async rotateCredential({ id, currentToken }, operator) {
      requireOwnToken(operator, currentToken);
      const isOwn = id === operator.id;
      if (!isOwn && operator.role !== "admin") throw forbidden("Only admins rotate the credentials of others.");
      const credential = isOwn ? await credentials.find(id) : await find(id, operator);
      if (credential === undefined) throw notFound("credential of this id");
      return operator.change(changeOf("credential.rotate", credential), async () => {
        const token = await credentials.rotate(id, clock());
        if (token === undefined) throw conflict("This credential has been revoked or has expired. Make another.");
        return { id, token };
      });
    },
  };

  async function revokeAny(id: string, at: string): Promise<"revoked" | "revoked before"> {
    return (await credentials.revoke(id, at)) ? "revoked" : "revoked before";
  }
}

const lastAdmin =
  "This is the last admin of all tenants. Make another first, or force it (`--force`, or `force`: true).";

function changeOf(action: string, { id, namespaceId, access }: CredentialRecord) {
  return { namespaceId, action, receiver: access.actor, metadata: { credential: id } };
}
