import { sql, type RawBuilder, type SqlBool, type Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import type { ClosedEscalation, EscalationRecord } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import { isPending, recordOf, type ClosedBy } from "./escalation-rows.ts";

export interface ClosingOptions {
  /** Called for an escalation that is closed because its answer would be of no use, in the transaction that closes it. */
  onClosed?(transaction: Transaction<Schema>, record: EscalationRecord): Promise<unknown>;
}

/** A turn whose escalations are closed. */
interface AskingTurn {
  namespace_id: string;
  execution_id: string;
  actor: string;
  /** The ids of the escalations that it waited for, which another turn may have made first. */
  escalations: readonly string[];
}

/** Closes escalations in the transaction that ends what they rest on; each function returns those that it closed. */
export interface EscalationClosing {
  /** Those that were made with a credential. */
  ofCredential(transaction: Transaction<Schema>, credentialId: string, at: string): Promise<ClosedEscalation[]>;
  /** Those about acts that one of these grants carries, or a grant that was derived from one of them. */
  ofGrants(
    transaction: Transaction<Schema>,
    namespaceId: string,
    grantIds: readonly string[],
    at: string,
  ): Promise<ClosedEscalation[]>;
  /** Those that an asynchronous turn made before it was cancelled, unless another turn waits for them. */
  ofCancelledTurn(transaction: Transaction<Schema>, turn: AskingTurn, at: string): Promise<ClosedEscalation[]>;
}

/** An act has up to a megabyte: so many are in memory at once. */
const closedAtOnce = 50;
/** How many ids one statement may hold on either database. */
const idsAtOnce = 1000;

export function createEscalationClosing({ onClosed }: ClosingOptions = {}): EscalationClosing {
  const close = async (
    transaction: Transaction<Schema>,
    which: RawBuilder<SqlBool>,
    by: ClosedBy,
    at: string,
  ): Promise<ClosedEscalation[]> => {
    const closed: ClosedEscalation[] = [];
    for (;;) {
      const few = await transaction
        .selectFrom("escalations")
        .select(["namespace_id", "id"])
        .where(which)
        .where(isPending)
        .limit(closedAtOnce)
        .execute();
      const [first] = few;
      if (first === undefined) return closed;
      // One that had expired without an answer by then stays expired for that reason.
      const rows = await transaction
        .updateTable("escalations")
        .set({
          status: "expired",
          closed: sql<string | null>`case when expires_at > ${at} then ${JSON.stringify(by)} else closed end`,
          expires_at: sql<string>`case when expires_at > ${at} then ${at} else expires_at end`,
        })
        // Those of a credential are of its tenant, like those of a grant and of a turn.
        .where("namespace_id", "=", first.namespace_id)
        .where(
          "id",
          "in",
          few.map(({ id }) => id),
        )
        .where(isPending)
        .returningAll()
        .execute();
      for (const record of rows.map((row) => recordOf(row, at))) {
        await onClosed?.(transaction, record);
        closed.push(withoutAct(record));
      }
    }
  };
  return {
    ofCredential(transaction, credential, at) {
      const which = sql<boolean>`credential_id = ${columnText(credential)}`;
      return close(transaction, which, { reason: "credential_revoked", credential }, at);
    },
    async ofGrants(transaction, namespaceId, grantIds, at) {
      const closed: ClosedEscalation[] = [];
      const tenant = columnText(namespaceId);
      for (const [grantId, carriers] of await carriersBelow(transaction, tenant, grantIds))
        for (let start = 0; start < carriers.length; start += idsAtOnce) {
          const some = sql.join(carriers.slice(start, start + idsAtOnce));
          const which = sql<boolean>`namespace_id = ${tenant} and grant_id in (${some})`;
          closed.push(...(await close(transaction, which, { reason: "grant_revoked", grantId }, at)));
        }
      return closed;
    },
    async ofCancelledTurn(transaction, { namespace_id, execution_id, actor, escalations }, at) {
      const by = { reason: "turn_cancelled" } as const;
      const ofTenant = sql<boolean>`namespace_id = ${namespace_id} and not exists (select 1 from turn_questions
        where turn_questions.namespace_id = ${namespace_id} and turn_questions.question_id = escalations.id)`;
      const own = sql<boolean>`${ofTenant} and execution_id = ${execution_id} and requester = ${actor}`;
      const closed = await close(transaction, own, by, at);
      if (escalations.length === 0) return closed;
      // A caller, or a turn that was not asynchronous, asks again later for the answer: those escalations stay open.
      // Counted, because newer versions of SQLite join what only has to exist, and read all turns for it.
      const joined = sql<boolean>`${ofTenant} and id in (${sql.join(escalations)}) and (select count(*) from turns
        where turns.namespace_id = ${namespace_id} and turns.execution_id = escalations.execution_id
          and turns.actor = escalations.requester and turns.is_async = 1
          and (turns.completed_at is not null or turns.is_cancelled = 1)) > 0`;
      return [...closed, ...(await close(transaction, joined, by, at))];
    },
  };
}

/** What the audit log says of a closed escalation. That needs no act, which may be large. */
function withoutAct({ namespaceId, id, ask, requester, status, closed }: EscalationRecord): ClosedEscalation {
  return { namespaceId, id, ask, requester, status, ...(closed && { closed }) };
}

/**
 * The grants that carry acts which wait, by the one of these grants that they are or were derived from. It walks up from the
 * acts that wait: of those there are few, and of grants below a grant there may be very many.
 */
async function carriersBelow(
  transaction: Transaction<Schema>,
  tenant: string,
  grantIds: readonly string[],
): Promise<Map<string, string[]>> {
  const ended = new Map(grantIds.map((id) => [columnText(id), id]));
  const waiting = await transaction
    .selectFrom("escalations")
    .select("grant_id")
    .distinct()
    .where("namespace_id", "=", tenant)
    .where("grant_id", "is not", null)
    .where(isPending)
    .execute();
  const carriers = waiting.flatMap(({ grant_id }) => grant_id ?? []);
  const parents = await parentsOf(transaction, tenant, carriers);
  const below = new Map<string, string[]>();
  for (const carrier of carriers) {
    // A chain that leads back to itself ends where it began.
    const seen = new Set<string>();
    let place: string | undefined = carrier;
    while (place !== undefined && !ended.has(place) && !seen.has(place)) {
      seen.add(place);
      place = parents.get(place);
    }
    const end = place === undefined ? undefined : ended.get(place);
    if (end === undefined) continue;
    const same = below.get(end);
    if (same === undefined) below.set(end, [carrier]);
    else same.push(carrier);
  }
  return below;
}

/** The parent of each of these grants, and of each that is found so. */
async function parentsOf(
  transaction: Transaction<Schema>,
  tenant: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const parents = new Map<string, string>();
  const seen = new Set(ids);
  let next = [...ids];
  while (next.length > 0) {
    const rows = await transaction
      .selectFrom("grants")
      .select(["id", "parent_id"])
      .where("namespace_id", "=", tenant)
      .where("id", "in", next.slice(0, idsAtOnce))
      .execute();
    next = next.slice(idsAtOnce);
    for (const { id, parent_id: parent } of rows) {
      if (parent === null) continue;
      parents.set(id, parent);
      if (!seen.has(parent)) next.push(parent);
      seen.add(parent);
    }
  }
  return parents;
}
