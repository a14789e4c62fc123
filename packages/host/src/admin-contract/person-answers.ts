import type { AuditEvent, Grant, PrincipalRef } from "turnpike/contracts";
import type { EscalationRecord } from "./records.ts";

/** What a person's own page reads: who they are, and until when. */
export interface PersonSession {
  principal: PrincipalRef;
  tenant: string;
  expiresAt: string;
}

/** A user to whom a person has handed on what they may do, and the grants that say so. */
export interface PersonConnection {
  subject: PrincipalRef;
  /** The client, for one that the person let in on the page of consent. Its name is what it says of itself. */
  client?: { name: string; redirect: string; since: string; lastUsedAt?: string };
  grants: Grant[];
}

/** A question that waits for a person's answer, because it would use their authority. */
export type PersonQuestion = Pick<
  EscalationRecord,
  "id" | "ask" | "requester" | "purpose" | "reason" | "requestedAuthority" | "approval" | "requestedAt" | "expiresAt"
> & { approvals: number };

/** The answers of a person's own page, by what is asked. */
export interface PersonAnswers {
  session: PersonSession;
  connections: { connections: PersonConnection[] };
  /** Questions beyond those that are listed come when these have an answer. */
  questions: { questions: PersonQuestion[]; approvalsNeeded: number };
  auditLog: { events: AuditEvent[]; cursor?: string };
  sessions: { sessions: { id: string; createdAt: string; expiresAt: string; isThis: boolean }[] };
}
