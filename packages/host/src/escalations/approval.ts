import { parseInstant, samePrincipal, type Grant, type PrincipalRef } from "turnpike/contracts";
import { InstantSchema, type EscalationRecord } from "../admin-contract/index.ts";
import { approvedGrant, earlier, isLater } from "./approved-grant.ts";

/** What a reviewer who approves may narrow. */
export interface ApprovalTerms {
  /** When the grant, or the permit, ends; after the usual time unless given. */
  expiresAt?: string | undefined;
  /** How often a grant may be used. A permit is for one use. */
  maxUses?: number | undefined;
}

/** The approval of one reviewer. */
export interface GivenApproval {
  person: PrincipalRef;
  /** The credential that it is given with. */
  credential: string;
  at: string;
  terms: ApprovalTerms;
}

/** The rules of every approval. */
export interface ApprovalRules {
  /** How many different people have to approve. */
  approvals: number;
  /** How long a permit lasts unless the answer says when it ends. */
  permitMs: number;
  /** How long a permit lasts at most, and a grant that was requested without an end. */
  maxPermitMs: number;
}

/** What an approval makes of an escalation. */
export type Approval =
  /** Still pending while another reviewer has to approve, too. */
  | { kind: "done"; record: EscalationRecord; grant?: Grant }
  | { kind: "own-request" }
  /** They approved before; another reviewer has to. */
  | { kind: "same-person"; record: EscalationRecord }
  | { kind: "invalid"; problem: string };

/** How long the grant of an approval lasts unless the answer says when it ends. */
const grantMs = 3_600_000;

/**
 * What an approval comes to. No person approves what they asked for themselves, and none counts twice, whatever credentials they
 * have. Where two people approve, the narrower terms of both hold. `carrier` is the grant that carries an act.
 */
export function approve(
  record: EscalationRecord,
  given: GivenApproval,
  rules: ApprovalRules,
  carrier: Grant | undefined,
): Approval {
  const { person, credential, at, terms } = given;
  if (samePrincipal(person, record.requester)) return { kind: "own-request" };
  const others = (record.approvals ?? []).filter(({ by }) => !samePrincipal(by, person));
  const isEnough = others.length + 1 >= rules.approvals;
  if (!isEnough && others.length < (record.approvals ?? []).length) return { kind: "same-person", record };
  const approvals = [...others, { by: person, credential, at, ...definedOf(terms) }];
  const usualMs = record.approval === undefined ? Math.min(grantMs, rules.maxPermitMs) : rules.permitMs;
  const narrowest = narrowestOf(approvals, after(at, usualMs));
  const approved = { ...record, approvals, status: "approved" as const };
  const isTooLong = terms.expiresAt !== undefined && isLater(terms.expiresAt, after(at, rules.maxPermitMs));
  const most = `${rules.maxPermitMs / 60_000} minutes at most`;
  if (record.approval === undefined) {
    // An approval may narrow what was requested. A request without an end has no end that could be narrowed.
    if (isTooLong && record.requestedAuthority?.constraints?.expiresAt === undefined)
      return { kind: "invalid", problem: `it was requested without an end, so it can last for ${most}` };
    const made = approvedGrant(record, { at, ...narrowest });
    if (!made.ok) return { kind: "invalid", problem: made.problem };
    const { grant } = made;
    return isEnough ? done({ ...approved, grantId: grant.id }, grant) : done({ ...record, approvals });
  }
  if (terms.maxUses !== undefined)
    return { kind: "invalid", problem: "the approval of one act is for one use, so leave the number of uses out" };
  if (isTooLong) return { kind: "invalid", problem: `it can be used for ${most}` };
  const ends = earlier(carrier?.constraints.expiresAt, narrowest.expiresAt);
  if (!isLater(ends, at)) return { kind: "invalid", problem: "it would have expired already" };
  // As the host writes instants, so that they can be compared as texts.
  return done(isEnough ? { ...approved, permitExpiresAt: InstantSchema.parse(ends) } : { ...record, approvals });
}

function done(record: EscalationRecord, grant?: Grant): Approval {
  return { kind: "done", record, ...(grant && { grant }) };
}

type Given = NonNullable<EscalationRecord["approvals"]>;

/** Terms without an end have the usual one. */
function narrowestOf(approvals: Given, usualEnd: string): { expiresAt: string; maxUses?: number } {
  const ends = approvals.map(({ expiresAt = usualEnd }) => expiresAt);
  const expiresAt = ends.reduce((one, other) => earlier(one, other));
  const maxUses = Math.min(...approvals.map(({ maxUses: most = Infinity }) => most));
  return { expiresAt, ...(maxUses !== Infinity && { maxUses }) };
}

function definedOf({ expiresAt, maxUses }: ApprovalTerms): { expiresAt?: string; maxUses?: number } {
  return { ...(expiresAt !== undefined && { expiresAt }), ...(maxUses !== undefined && { maxUses }) };
}

function after(at: string, ms: number): string {
  return new Date((parseInstant(at) ?? 0) + ms).toISOString();
}
