import type { AuditEvent, PrincipalRef } from "turnpike/contracts";
import type { AuditSink } from "turnpike/kernel";
import { ServiceHttpError } from "turnpike/http";
import type { CredentialAccess, OperatorRole } from "../admin-contract/index.ts";

/** A change as the audit log records it. */
type OperatorChange = Pick<AuditEvent, "namespaceId"> & { action: string } & Partial<
    Pick<AuditEvent, "grantId" | "receiver" | "metadata">
  >;

/** What an operator may do, and where. */
export interface OperatorScope {
  role: OperatorRole;
  /** The one tenant that they are an operator of; of all tenants without it. */
  tenant?: string;
}

/** The operator behind a request. Operators change things only through `change`. */
export interface Operator extends OperatorScope {
  /** The id of their credential. */
  id: string;
  /** The person. */
  actor: PrincipalRef;
  /** The trace id of what they do, in the audit log. */
  traceId: string;
  /** Records the change in the audit log, makes it, and records the outcome. Throws when it cannot be recorded first. */
  change<T>(change: OperatorChange, make: () => Promise<T>): Promise<T>;
  /** The same for changes that are made together or not at all: each is recorded as if it were made alone. */
  changeAll<T>(changes: readonly OperatorChange[], make: () => Promise<T>): Promise<T>;
  /** Records what a change caused, after the fact: it has happened, whether it can be recorded or not. */
  recordMade(changes: readonly OperatorChange[]): Promise<void>;
}

/** What the bearer of a credential may do as an operator; undefined for other callers. */
export function operatorScope({ admin, role = "admin", tenant }: CredentialAccess): OperatorScope | undefined {
  if (admin !== true) return undefined;
  return { role, ...(tenant !== undefined && { tenant }) };
}

/** Whether an operator is an admin of all tenants, who alone decides who is an operator. */
export function isAdminOfAll(scope: OperatorScope | undefined): boolean {
  return scope?.role === "admin" && scope.tenant === undefined;
}

const recordedAtOnce = 100;

/** An operator whose changes are recorded in the audit log of the tenant they concern. */
export function createOperator(
  who: OperatorScope & { id: string; actor: PrincipalRef; requestId: string },
  audit: AuditSink,
  onAuditError: (error: unknown) => void,
): Operator {
  const eventOf = (change: OperatorChange, outcome: AuditEvent["outcome"], reason?: string): AuditEvent => ({
    id: crypto.randomUUID(),
    version: 1,
    type: "operator.changed",
    outcome,
    at: new Date().toISOString(),
    traceId: who.requestId,
    actor: who.actor,
    owner: who.actor,
    purpose: "operate",
    ...change,
    ...(reason !== undefined && { reason }),
    metadata: { ...change.metadata, operator: who.id },
  });
  /** Records the events of several changes together. */
  const recordEach = async (
    changes: readonly OperatorChange[],
    record: (change: OperatorChange) => Promise<void>,
  ): Promise<void> => {
    for (let start = 0; start < changes.length; start += recordedAtOnce)
      await Promise.all(changes.slice(start, start + recordedAtOnce).map(record));
  };
  const recordMade: Operator["recordMade"] = (changes) =>
    recordEach(changes, (change) => audit.record(eventOf(change, "succeeded")).catch(onAuditError));
  const changeAll: Operator["changeAll"] = async (changes, make) => {
    const recordOutcome = (outcome: AuditEvent["outcome"], reason?: string): Promise<void> =>
      recordEach(changes, (change) => audit.record(eventOf(change, outcome, reason)).catch(onAuditError));
    try {
      await recordEach(changes, (change) => audit.record(eventOf(change, "allowed")));
    } catch (cause) {
      const message = "The change could not be recorded, so it was not made.";
      // Of several events, some may be in the audit log.
      if (changes.length > 1) await recordOutcome("failed", "audit_unavailable");
      throw new ServiceHttpError(503, "audit_unavailable", message, { cause });
    }
    try {
      const made = await make();
      await recordOutcome("succeeded");
      return made;
    } catch (error) {
      await recordOutcome("failed", error instanceof ServiceHttpError ? error.code : "internal_error");
      throw error;
    }
  };
  return {
    id: who.id,
    actor: who.actor,
    traceId: who.requestId,
    role: who.role,
    ...(who.tenant !== undefined && { tenant: who.tenant }),
    change: (change, make) => changeAll([change], make),
    changeAll,
    recordMade,
  };
}
