import type { AuditEvent, PrincipalRef } from "turnpike/contracts";
import type { AuditSink } from "turnpike/kernel";
import { ServiceHttpError } from "turnpike/http";
import type { CredentialAccess, OperatorRole } from "../management/index.ts";

/** A change as the audit trail records it. */
type Change = Pick<AuditEvent, "namespaceId"> & { action: string } & Partial<
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
  /** Records the change on the trail, makes it, and records the outcome. Throws when it cannot be recorded first. */
  change<T>(change: Change, make: () => Promise<T>): Promise<T>;
}

/** What the bearer of a credential may do as an operator; undefined for anybody else. */
export function operatorScope({ admin, role = "admin", tenant }: CredentialAccess): OperatorScope | undefined {
  if (admin !== true) return undefined;
  return { role, ...(tenant !== undefined && { tenant }) };
}

/** Whether an operator is an admin of all tenants, who alone decides who is an operator. */
export function isAdminOfAll(scope: OperatorScope | undefined): boolean {
  return scope?.role === "admin" && scope.tenant === undefined;
}

/** An operator whose changes go to the trail of the tenant they concern. */
export function createOperator(
  who: OperatorScope & { id: string; actor: PrincipalRef; requestId: string },
  audit: AuditSink,
  onAuditError: (error: unknown) => void,
): Operator {
  const eventOf = (change: Change, outcome: AuditEvent["outcome"], reason?: string): AuditEvent => ({
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
  return {
    id: who.id,
    actor: who.actor,
    role: who.role,
    ...(who.tenant !== undefined && { tenant: who.tenant }),
    async change(change, make) {
      try {
        await audit.record(eventOf(change, "allowed"));
      } catch (cause) {
        throw new ServiceHttpError(503, "audit_unavailable", "The change could not be recorded, so it was not made.", {
          cause,
        });
      }
      const record = (outcome: AuditEvent["outcome"], reason?: string): Promise<void> =>
        audit.record(eventOf(change, outcome, reason)).catch(onAuditError);
      try {
        const made = await make();
        await record("succeeded");
        return made;
      } catch (error) {
        await record("failed", error instanceof ServiceHttpError ? error.code : "internal_error");
        throw error;
      }
    },
  };
}
