import type { AccessContext, AuthorizationRequest } from "../contracts/index.ts";
import { parseInstant } from "../internal/index.ts";
import { callPort, type Answer, type Ports } from "./call-port.ts";
import type { CompiledGrant } from "./active.ts";
import type { Permit, PermitState, EscalationRef } from "./ports.ts";
import type { Refusal } from "./refusal.ts";

/** The approval of an act under one grant: an unused permit, or why there is none. */
export type Approval = { kind: "permitted"; permit: Permit } | Lacking;

interface Lacking {
  kind: "lacking";
  refusal: Extract<Refusal, `approval_${string}` | "permit_store_unavailable">;
  escalation?: EscalationRef | undefined;
}

/** Reads approvals. It is asked only about grants that lack nothing but an approval to carry the act. */
export interface Approver {
  approve(grant: CompiledGrant): Promise<Approval>;
}

export const required: Lacking = { kind: "lacking", refusal: "approval_required" };
export const unavailable: Lacking = { kind: "lacking", refusal: "permit_store_unavailable" };

/**
 * For decisions without an act: unused permits for this resource and action count, for any act. They are read at most once.
 */
export function approverOfAnyAct(
  ports: Ports,
  context: AccessContext,
  request: AuthorizationRequest,
  signal: AbortSignal,
): Approver {
  let waiting: Promise<Answer<readonly Permit[]>> | undefined;
  const approve: Approver["approve"] = async ({ grant }) => {
    const { permits } = ports;
    if (permits === undefined) return required;
    const read = (): Promise<readonly Permit[]> => permits.waiting(context, request);
    waiting ??= callPort(ports, { port: "permits" }, signal, read, readPermits);
    const answer = await waiting;
    if (!answer.ok) return unavailable;
    const permit = answer.value.find((one) => isFor(one, grant.id, context));
    return permit === undefined ? required : { kind: "permitted", permit };
  };
  return { approve };
}

/** INVARIANT: a permit counts only under the grant that it was given for, and only until it expires. */
export function isFor({ grantId, expiresAt }: Permit, id: string, { now }: AccessContext): boolean {
  // An invalid time is NaN, for which the comparison is false.
  return grantId === id && (parseInstant(expiresAt) ?? Number.NaN) > (parseInstant(now) ?? Number.NaN);
}

/** Reads the store's answer about an act. Throws when it is unusable. */
export function readState(state: PermitState | undefined): PermitState | undefined {
  switch (state?.kind) {
    case undefined:
      if (state === undefined) return undefined;
      break;
    case "asked":
      return { kind: "asked", escalation: asReference(state.escalation) };
    case "permitted":
      return { kind: "permitted", permit: readPermit(state.permit) };
    case "refused":
      if (state.reason === "approval_denied" || state.reason === "approval_expired") return state;
      break;
    default:
  }
  throw unusable();
}

/** Reads the store's answer about an escalation. Throws when it is unusable. */
export function readReference(answer: EscalationRef | "full"): EscalationRef | "full" {
  return answer === "full" ? answer : asReference(answer);
}

function asReference(answer: EscalationRef | undefined): EscalationRef {
  if (typeof answer?.id === "string" && typeof answer.expiresAt === "string") return answer;
  throw unusable();
}

function readPermits(permits: readonly Permit[]): readonly Permit[] {
  if (Array.isArray(permits)) return permits.map(readPermit);
  throw unusable();
}

function readPermit(permit: Permit | undefined): Permit {
  const { id, grantId, expiresAt, approvedBy } = permit ?? {};
  const isWhole = [id, grantId, expiresAt].every((part) => typeof part === "string");
  if (permit !== undefined && isWhole && Array.isArray(approvedBy)) return permit;
  throw unusable();
}

function unusable(): TypeError {
  return new TypeError("The permit store gave no usable answer.");
}
