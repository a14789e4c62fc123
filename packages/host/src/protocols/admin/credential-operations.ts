import { type CredentialRecord, operatorsTenant } from "../../management/index.ts";
import type { Transaction } from "kysely";
import { principalKey } from "turnpike/contracts";
import { unprintable } from "../../display/index.ts";
import { freshId, isAdminOfAll, isStorable, type Operator, requireOwnToken } from "../../access/index.ts";
import type { LastingAnswer } from "../../escalations/index.ts";
import type { Schema } from "../../storage/index.ts";
import {
  conflict,
  forbidden,
  invalid,
  notFound,
  paginate,
  type AdminOperations,
  type AdminServices,
} from "./admin-services.ts";
import { changeOf as changeOfEscalation } from "./escalation-operations.ts";

type CredentialRoute = "createCredential" | "listCredentials" | "revokeCredential" | "rotateCredential";

/** Making, listing, revoking and rotating credentials. */
export function credentialOperations({
  stores: { credentials, escalations },
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
      if (access.admin === true) requirePlainNames(access);
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
    async revokeCredential({ id, force = false, andAnswers = false }, operator) {
      const credential = await find(id, operator);
      const at = clock().toISOString();
      const known = andAnswers ? await escalations.answersOf(id, at) : [];
      const { metadata, ...revocation } = changeOf("credential.revoke", credential);
      const changes = [
        { ...revocation, metadata: { ...metadata, ...(andAnswers && { andAnswers }) } },
        ...known.map(changeOfAnswer),
      ];
      return operator.changeAll(changes, async () => {
        let ended: readonly LastingAnswer[] = [];
        const endAnswers = async (transaction: Transaction<Schema>): Promise<void> => {
          ended = await escalations.endAnswersOf(transaction, id, { by: operator.actor, credential: operator.id, at });
        };
        const revoked = await revoke(id, at, force, andAnswers ? endAnswers : undefined);
        if (revoked === "last admin") throw conflict(lastAdmin);
        if (revoked === "revoked before" && !andAnswers) throw conflict("This credential has been revoked before.");
        // What was answered while this was recorded ends with the rest, and is recorded afterwards.
        const isKnown = new Set(known.map(({ record }) => record.id));
        const late = ended.filter(({ record }) => !isKnown.has(record.id));
        if (late.length > 0) await operator.changeAll(late.map(changeOfAnswer), () => Promise.resolve());
        return { revoked: id, ...(andAnswers && { answers: countAnswers(ended) }) };
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

  async function revoke(
    id: string,
    at: string,
    force: boolean,
    also: ((transaction: Transaction<Schema>) => Promise<void>) | undefined,
  ): Promise<"revoked" | "revoked before" | "last admin"> {
    if (!force) return credentials.revokeUnlessLastAdmin(id, at, also);
    return (await credentials.revoke(id, at, also)) ? "revoked" : "revoked before";
  }
}

/** What the trail says of an answer that ends with its credential. */
function changeOfAnswer({ kind, record }: LastingAnswer) {
  const { grantId } = record;
  const action = kind === "approval" ? "escalation.drop" : "escalation.withdraw";
  return { ...changeOfEscalation(action, { record }), ...(kind === "grant" && grantId !== undefined && { grantId }) };
}

function countAnswers(ended: readonly LastingAnswer[]): { permits: number; grants: number; approvals: number } {
  const count = (wanted: LastingAnswer["kind"]): number => ended.filter(({ kind }) => kind === wanted).length;
  return { permits: count("permit"), grants: count("grant"), approvals: count("approval") };
}

const lastAdmin =
  "This is the last admin of all tenants. Make another first, or force it (`--force`, or `force`: true).";

function changeOf(action: string, { id, namespaceId, access }: CredentialRecord) {
  return { namespaceId, action, receiver: access.actor, metadata: { credential: id } };
}

/** Two operators whose names look the same would be one to whoever reads the trail. */
function requirePlainNames({ actor, owner, authority = owner }: CredentialRecord["access"]): void {
  for (const [field, principal] of Object.entries({ actor, owner, authority })) {
    const key = principalKey(principal);
    const name = key.slice(key.indexOf(":") + 1);
    if (name !== name.normalize("NFC") || name !== name.trim() || unseen.test(name))
      throw invalid(`/access/${field}: ${plainName}`);
  }
}

const plainName =
  "expected the name of an operator in Unicode's normal form NFC, without white space at its ends and without characters that " +
  "nobody sees. Type it anew.";

/** What is not shown, or shown as a space and is none. */
const unseen = new RegExp(String.raw`${unprintable}|[^\S ]|\u{2800}`, "u");
