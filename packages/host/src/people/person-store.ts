import { parsePrincipal, principalKey, type Grant, type PrincipalRef } from "turnpike/contracts";
import type { Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import { countOnce, createSignedIn, freshId, type PresentedCredential, renewSignedIn } from "../access/index.ts";
import { insertGrant, InvariantViolatedError } from "../grants/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import { CredentialAccessSchema } from "../admin-contract/index.ts";
import type { Identity, PersonKind } from "./identify.ts";

/** A user who has signed in. */
export interface Person {
  id: string;
  kind: PersonKind;
  issuer: string;
  namespaceId: string;
  principal: PrincipalRef;
  name: string | undefined;
  credentialId: string;
  createdAt: string;
  signedInAt: string;
  isRevoked: boolean;
}

/** What a sign-in came to. */
type Entered =
  | { kind: "entered"; person: Person; presented: PresentedCredential; isNew: boolean; grants: readonly Grant[] }
  /** Their credential was revoked. */
  | { kind: "revoked" }
  /** Another user of a provider signs in under this name. */
  | { kind: "taken" }
  /** What everyone is granted would break a rule of the tenant, so no one was let in. */
  | { kind: "breaks_rule" };

/** Those who have signed in with an identity provider. */
export interface PersonStore {
  /**
   * Lets a user in. At their first sign-in they get a credential and the grants that are for everyone, all in one transaction; later
   * what they may do is written anew, and no grant is issued again.
   */
  enter(identity: Identity, at: string): Promise<Entered>;
  find(namespaceId: string, principal: PrincipalRef): Promise<Person | undefined>;
  /** Whom a credential is of. */
  findBy(credentialId: string): Promise<Person | undefined>;
  /** By id, those after the person `after`; of one tenant, or of all. */
  list(page: { namespaceId?: string | undefined; after?: string | undefined; limit: number }): Promise<Person[]>;
  /** The credentials of a provider's user in every tenant, of one kind or of both. */
  credentialsOf(issuer: string, providerSubject: string, kind?: PersonKind): Promise<string[]>;
  /** Gives a user whose credential was revoked another one, so that they may sign in again; false for anyone else. */
  restore(id: string): Promise<boolean>;
  /** Whether something that counts once has not counted before. It is remembered until an instant. */
  isFirst(id: string, until: Date): Promise<boolean>;
}

type PersonRow = Schema["people"] & { revoked_at: string | null };

export function createPersonStore({ db, reporting }: Database, revisions: Revisions): PersonStore {
  const people = (reader: Pick<Transaction<Schema>, "selectFrom">) =>
    reader
      .selectFrom("people")
      .innerJoin("credentials", "credentials.id", "people.credential_id")
      .selectAll("people")
      .select("credentials.revoked_at");
  return {
    enter: (identity, at) =>
      revisions
        .write(async (transaction): Promise<Entered> => {
          const { kind, issuer, providerSubject, namespaceId, access, name = null } = identity;
          const principal = columnText(principalKey(identity.principal));
          const known = await people(transaction)
            .where("people.issuer", "=", columnText(issuer))
            .where("provider_subject", "=", columnText(providerSubject))
            .where("kind", "=", kind)
            .where("people.namespace_id", "=", columnText(namespaceId))
            .executeTakeFirst();
          const shown = name === null ? null : columnText(name);
          if (known !== undefined) {
            // A provider that says another name of the same user would make another user of them.
            if (known.principal !== principal) return { kind: "taken" };
            const presented = await renewSignedIn(transaction, known.credential_id, access);
            if (presented === undefined) return { kind: "revoked" };
            await transaction
              .updateTable("people")
              .set({ name: shown, signed_in_at: at })
              .where("id", "=", known.id)
              .execute();
            const person = personOf({ ...known, name: shown, signed_in_at: at });
            return { kind: "entered", person, presented, isNew: false, grants: [] };
          }
          const isTaken = await transaction
            .selectFrom("people")
            .select("id")
            .where("namespace_id", "=", columnText(namespaceId))
            .where("principal", "=", principal)
            .executeTakeFirst();
          if (isTaken !== undefined) return { kind: "taken" };
          const presented = await createSignedIn(transaction, { namespaceId, access });
          const row = {
            id: freshId(),
            kind,
            issuer: columnText(issuer),
            provider_subject: columnText(providerSubject),
            namespace_id: columnText(namespaceId),
            principal,
            name: shown,
            credential_id: presented.id,
            created_at: at,
            signed_in_at: at,
          };
          await transaction.insertInto("people").values(row).execute();
          const grants = grantsOf(identity, row.id, at);
          for (const grant of grants) await insertGrant(transaction, grant, { at });
          return { kind: "entered", person: personOf({ ...row, revoked_at: null }), presented, isNew: true, grants };
        })
        .catch((error: unknown): Entered => {
          if (error instanceof InvariantViolatedError) return { kind: "breaks_rule" };
          throw error;
        }),
    async find(namespaceId, principal) {
      const row = await people(db)
        .where("people.namespace_id", "=", columnText(namespaceId))
        .where("principal", "=", columnText(principalKey(principal)))
        .executeTakeFirst();
      return row && personOf(row);
    },
    async findBy(credentialId) {
      const row = await people(db).where("credential_id", "=", columnText(credentialId)).executeTakeFirst();
      return row && personOf(row);
    },
    async list({ namespaceId, after, limit }) {
      let rows = people(reporting).orderBy("people.id").limit(limit);
      if (namespaceId !== undefined) rows = rows.where("people.namespace_id", "=", columnText(namespaceId));
      if (after !== undefined) rows = rows.where("people.id", ">", columnText(after));
      return (await rows.execute()).map(personOf);
    },
    async credentialsOf(issuer, providerSubject, kind) {
      const rows = await db
        .selectFrom("people")
        .select(["credential_id", "kind"])
        .where("issuer", "=", columnText(issuer))
        .where("provider_subject", "=", columnText(providerSubject))
        .execute();
      return rows.filter((row) => row.kind === (kind ?? row.kind)).map(({ credential_id }) => credential_id);
    },
    restore: (id) =>
      revisions.write(async (transaction) => {
        const row = await people(transaction)
          .select("credentials.access")
          .where("people.id", "=", columnText(id))
          .executeTakeFirst();
        if (row === undefined || row.revoked_at === null) return false;
        const access = CredentialAccessSchema.parse(JSON.parse(row.access));
        const presented = await createSignedIn(transaction, { namespaceId: row.namespace_id, access });
        await transaction.updateTable("people").set({ credential_id: presented.id }).where("id", "=", row.id).execute();
        return true;
      }),
    isFirst: (id, until) => countOnce(db, { id, until }),
  };
}

/** The grants of a first sign-in. What they allow may be handed on once, to an agent. */
function grantsOf({ namespaceId, principal: subject, holds }: Identity, personId: string, issuedAt: string): Grant[] {
  return (holds?.capabilities ?? []).map((capability, place) => ({
    id: `hold-${personId}-${place + 1}`,
    namespaceId,
    issuer: holds?.issuer ?? subject,
    subject,
    capabilities: [capability],
    constraints: { delegationDepth: 1 },
    issuedAt,
  }));
}

function personOf(row: PersonRow): Person {
  const principal = parsePrincipal(row.principal);
  if (principal === undefined) throw new TypeError("Only principals that a column can store are let in.");
  return {
    id: row.id,
    kind: row.kind,
    issuer: row.issuer,
    namespaceId: row.namespace_id,
    principal,
    name: row.name ?? undefined,
    credentialId: row.credential_id,
    createdAt: row.created_at,
    signedInAt: row.signed_in_at,
    isRevoked: row.revoked_at !== null,
  };
}
