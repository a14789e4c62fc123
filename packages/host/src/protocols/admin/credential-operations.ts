import { type ClosedEscalation, type CredentialRecord, operatorsTenant } from "../../admin-contract/index.ts";
import type { Transaction } from "kysely";
import { principalKey } from "turnpike/contracts";
import { isPlainName } from "../../shared/index.ts";
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
import { changeOfSession, endGrants, endTurns } from "./end-remaining.ts";
import { changeOf as changeOfEscalation, recordClosed } from "./escalation-operations.ts";
import { listRemaining } from "./remaining.ts";

type CredentialRoute =
  | "createCredential"
  | "listCredentials"
  | "showCredential"
  | "revokeCredential"
  | "rotateCredential";

/** Making, reading, revoking and rotating credentials. */
export function credentialOperations(services: AdminServices): AdminOperations<CredentialRoute> {
  const { clock, wakeTurns } = services;
  const { credentials, escalations, sessions } = services.stores;
  /** A credential that an admin may change. For an admin of one tenant, those of other tenants and of operators do not exist. */
  const find = async (id: string, operator: Operator): Promise<CredentialRecord> => {
    const credential = await credentials.find(id);
    const isTheirs = isAdminOfAll(operator) || credential?.namespaceId === operator.tenant;
    if (credential === undefined || !isTheirs) throw notFound("credential of this id");
    return credential;
  };
  /** A credential that an operator may read. */
  const findReadable = async (id: string, { tenant }: Operator): Promise<CredentialRecord> => {
    const credential = await credentials.find(id);
    if (credential === undefined || credential.namespaceId !== (tenant ?? credential.namespaceId))
      throw notFound("credential of this id");
    return credential;
  };
  return {
    async createCredential({ namespaceId, access, expiresAt, currentToken }, operator) {
      if (access.admin === true) requireOwnToken(operator, currentToken);
      if ((access.admin === true) !== (namespaceId === operatorsTenant))
        throw invalid(`/access/admin: expected true in the tenant ${operatorsTenant}, and only there.`);
      if (access.admin === true) requirePlainNames(access);
      if (access.signedIn === true) throw invalid("/access/signedIn: expected only of a user who signs in.");
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
      // A certificate alone names no tenant, so the admin of one tenant may neither assign it nor make it ambiguous.
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
    async showCredential({ id, ...page }, operator) {
      const credential = await findReadable(id, operator);
      return { credential, ...(await listRemaining(services, credential, page)) };
    },
    async revokeCredential({ id, force = false, andAnswers = false, andEverything = false }, operator) {
      const credential = await find(id, operator);
      const now = clock();
      const at = now.toISOString();
      const isEnding = andAnswers || andEverything;
      const known = isEnding ? (await escalations.answersOf(id, at)).answers : [];
      const open = andEverything ? await sessions.listOpen(id, now) : [];
      const { metadata, ...revocation } = changeOf("credential.revoke", credential);
      const also = { ...(andAnswers && { andAnswers }), ...(andEverything && { andEverything }) };
      const changes = [
        { ...revocation, metadata: { ...metadata, ...also } },
        ...known.map(changeOfAnswer),
        ...open.map((session) => changeOfSession(credential, session.id)),
      ];
      const answers = await operator.changeAll(changes, async () => {
        let ended: readonly LastingAnswer[] = [];
        let closed: readonly ClosedEscalation[] = [];
        const end = async (transaction: Transaction<Schema>, asked: readonly ClosedEscalation[]): Promise<void> => {
          closed = asked;
          const by = { by: operator.actor, credential: operator.id, at };
          if (isEnding) ended = await escalations.endAnswersOf(transaction, id, by);
          if (andEverything) await sessions.endAll(transaction, id);
        };
        const revoked = await revoke(id, at, force, end);
        if (revoked === "last admin") throw conflict(lastAdmin);
        if (revoked === "revoked before" && !isEnding) throw conflict("This credential has been revoked before.");
        // Answers that came in while this was recorded end with the rest, and are recorded afterwards.
        const isKnown = new Set(known.map(({ record }) => record.id));
        const late = ended.filter(({ record }) => !isKnown.has(record.id));
        if (late.length > 0) await operator.changeAll(late.map(changeOfAnswer), () => Promise.resolve());
        await recordClosed(operator, closed, wakeTurns);
        return countAnswers(ended);
      });
      if (!andEverything) return { revoked: id, ...(andAnswers && { answers }) };
      // INVARIANT: the credential is revoked by now, so nothing is added to what is left, and a repeated request ends the rest.
      const made = await endGrants(services, credential, operator);
      const turns = await endTurns(services, credential, operator);
      const ended = { sessions: open.length, turns, ...answers, grants: answers.grants + made };
      return { revoked: id, ...(andAnswers && { answers }), ended };
    },
    async rotateCredential({ id, currentToken }, operator) {
      requireOwnToken(operator, currentToken);
      const isOwn = id === operator.id;
      if (!isOwn && operator.role !== "admin") throw forbidden("Only admins rotate the credentials of others.");
      const credential = isOwn ? await credentials.find(id) : await find(id, operator);
      if (credential === undefined) throw notFound("credential of this id");
      if (credential.access.signedIn === true) throw conflict("Who signs in with a provider has no token to rotate.");
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
    also: (transaction: Transaction<Schema>, closed: readonly ClosedEscalation[]) => Promise<void>,
  ): Promise<"revoked" | "revoked before" | "last admin"> {
    if (!force) return credentials.revokeUnlessLastAdmin(id, at, also);
    return (await credentials.revoke(id, at, also)) ? "revoked" : "revoked before";
  }
}

/** What the audit log says of an answer that ends with its credential. */
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

/** A reader of the audit log could not tell two operators apart whose names look the same. */
function requirePlainNames({ actor, owner, authority = owner }: CredentialRecord["access"]): void {
  for (const [field, principal] of Object.entries({ actor, owner, authority })) {
    const key = principalKey(principal);
    const name = key.slice(key.indexOf(":") + 1);
    if (!isPlainName(name)) throw invalid(`/access/${field}: ${plainName}`);
  }
}

const plainName =
  "expected the name of an operator in Unicode's normal form NFC, without white space at its ends and without characters that " +
  "are invisible. Type it anew.";
