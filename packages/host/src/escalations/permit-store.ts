import { sql } from "kysely";
import { parseInstant, principalKey } from "turnpike/contracts";
import type { Permit, PermitState, PermitStore } from "turnpike/kernel";
import { columnText } from "../shared/index.ts";
import { permitPrefix, permitUse, type Ledger } from "../ledger/index.ts";
import { InstantSchema, type EscalationRecord } from "../admin-contract/index.ts";
import type { Database } from "../storage/index.ts";
import { markExpired } from "./escalation-expiry.ts";
import { createEscalationQueue, type QueueOptions } from "./escalation-queue.ts";
import { actEscalation, placeOf } from "./escalation-records.ts";
import { isPending, statusOf, type EscalationRow } from "./escalation-rows.ts";

export interface PermitOptions extends QueueOptions {
  /** For how long a denial counts, and an expiry without an answer. */
  refusalMs: number;
}

interface FoundRow extends Pick<
  EscalationRow,
  "id" | "status" | "expires_at" | "closed" | "permit_expires_at" | "content"
> {
  /** How often its permit was used; null when no call tried to. */
  used: number | null;
}

const foundRows = `select escalations.id, status, expires_at, closed, permit_expires_at, content, uses.used from escalations
  left join uses on uses.namespace_id = escalations.namespace_id
    and uses.grant_id = cast($3 as text) || escalations.id
  where escalations.namespace_id = $1`;
/** Finds the two newest escalations about an act. Only one is open at a time, so the older one was answered before the newer one. */
const findSql = `${foundRows} and ask = $2 order by escalations.id desc limit 2`;
/** Finds the unused approvals at a place. Only the last answer about an act counts, and an expiry counts as an answer. */
const waitingSql = `${foundRows} and place = $2 and permit_expires_at > $4 and status = 'approved' and coalesce(uses.used, 0) = 0
  and not exists (select 1 from escalations as later where later.namespace_id = escalations.namespace_id
    and later.ask = escalations.ask and later.id > escalations.id
    and (later.status <> 'pending' or later.expires_at <= $4))
  order by escalations.id`;
const permitSql = `select id from escalations
  where namespace_id = $1 and id = $2 and permit_expires_at is not null and status || '' = 'approved'`;

/**
 * The answers of reviewers about single acts. A permit is an escalation that was approved. The host that reads an answer decides
 * by its own clock whether the answer still counts. Once any host has seen the answer lapse and opened a new escalation, the
 * answer counts no more on the others, even if their clocks are behind.
 */
export function createPermitStore(database: Database, ledger: Ledger, options: PermitOptions): PermitStore {
  const said = (row: FoundRow, now: string): PermitState | undefined => {
    const { id, used, expires_at: expiresAt, permit_expires_at: permitExpiresAt } = row;
    const counts = (since: string): boolean => instantOf(now) < instantOf(since) + options.refusalMs;
    switch (statusOf(row, now)) {
      case "pending":
        return { kind: "asked", escalation: { id, expiresAt } };
      case "approved":
        if ((used ?? 0) > 0 || permitExpiresAt === null || permitExpiresAt <= now) return undefined;
        return { kind: "permitted", permit: permitOf(contentOf(row), permitExpiresAt) };
      case "denied": {
        const { requestedAt, decidedAt = requestedAt } = contentOf(row);
        return counts(decidedAt) ? { kind: "refused", reason: "approval_denied" } : undefined;
      }
      case "expired":
        // One that was closed got no answer, and the act is asked about again: under another grant, or with another credential.
        return row.closed === null && counts(expiresAt) ? { kind: "refused", reason: "approval_expired" } : undefined;
      // An approval that was withdrawn is no answer any more: the act is escalated again.
      case "withdrawn":
        return undefined;
    }
  };
  const open = createEscalationQueue(database, {
    ...options,
    /** The answer may have come after the act was decided, and before its caller asks. */
    async findAnswered(transaction, { namespaceId, ask, approval, requestedAt }) {
      const found =
        await sql<FoundRow>`select escalations.id, status, expires_at, closed, permit_expires_at, content, uses.used
        from escalations left join uses on uses.namespace_id = escalations.namespace_id
          and uses.grant_id = cast(${permitPrefix} as text) || escalations.id
        where escalations.namespace_id = ${columnText(namespaceId)} and ask = ${columnText(ask)}
        order by escalations.id desc limit 1`.execute(transaction);
      const [last] = found.rows;
      const state = last && said(last, requestedAt);
      const isOther = state?.kind === "permitted" && state.permit.grantId !== approval?.grantId;
      return last === undefined || state === undefined || isOther
        ? undefined
        : { id: last.id, expiresAt: last.expires_at };
    },
  });
  const close = (namespaceId: string, id: string, at: string): Promise<number> => {
    const isIt = sql<boolean>`namespace_id = ${columnText(namespaceId)} and id = ${id} and ${isPending}`;
    return database.db.transaction().execute((transaction) => markExpired(transaction, isIt, at, options));
  };
  return {
    async find(namespaceId, hash, now) {
      const at = InstantSchema.parse(now);
      const parameters = [columnText(namespaceId), columnText(hash), permitPrefix];
      const [newest, before] = await database.read<FoundRow>(findSql, parameters);
      const state = newest && said(newest, at);
      // An expired escalation is closed in the database, so that a clock that is set back does not open it again.
      if (newest?.status === "pending" && statusOf(newest, at) === "expired") await close(namespaceId, newest.id, at);
      if (newest === undefined || state?.kind !== "asked" || before === undefined) return state;
      // The answer before an open escalation still counts, unless it had lapsed when the escalation was opened, or is an approval
      // under another grant.
      const { requestedAt, approval } = contentOf(newest);
      const last = said(before, requestedAt > at ? requestedAt : at);
      const isOther = last?.kind === "permitted" && last.permit.grantId !== approval?.grantId;
      return last === undefined || isOther ? state : last;
    },
    async waiting(context, request) {
      const now = InstantSchema.parse(context.now);
      const parameters = [columnText(context.namespaceId), placeOf(context, request), permitPrefix, now];
      const rows = await database.read<FoundRow>(waitingSql, parameters);
      return rows.map((row) => permitOf(contentOf(row), row.permit_expires_at ?? now));
    },
    async use(namespaceId, permitId) {
      const [permit] = await database.read(permitSql, [columnText(namespaceId), columnText(permitId)]);
      if (permit === undefined) return false;
      const uses = [permitUse({ namespaceId, id: permitId })];
      const outcome = await ledger.submit({ alternatives: [{ uses, entries: [] }] });
      return outcome.kind === "written" && outcome.alternative === 0;
    },
    ask: (context, act) => open(actEscalation(context, act, options.lifetimeMs)),
  };
}

/** Slow when the act is a megabyte, so most readers use the columns instead. */
function contentOf({ content }: FoundRow): EscalationRecord {
  return JSON.parse(content) as EscalationRecord;
}

function permitOf({ id, approval, approvals = [] }: EscalationRecord, expiresAt: string): Permit {
  return { id, grantId: approval?.grantId ?? "", approvedBy: approvals.map(({ by }) => principalKey(by)), expiresAt };
}

function instantOf(text: string): number {
  return parseInstant(text) ?? 0;
}
