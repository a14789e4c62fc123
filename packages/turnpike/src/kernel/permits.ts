import type { AccessContext, AuthorizationRequest } from "../contracts/index.ts";
import { parseInstant } from "../internal/index.ts";
import { callPort, type Answer, type Ports } from "./call-port.ts";
import type { CompiledGrant } from "./active.ts";
import type { Permit, PermitState, Question } from "./ports.ts";
import type { Refusal } from "./refusal.ts";

/** What people said about an act under one grant: a permit that waits to be used, or why there is none. */
export type Approval = { kind: "permitted"; permit: Permit } | Lacking;

interface Lacking {
  kind: "lacking";
  refusal: Extract<Refusal, `approval_${string}` | "permit_store_unavailable">;
  question?: Question | undefined;
}

/** Says what people said. Asked about grants that need a yes to carry the act, and lack nothing else. */
export interface Approver {
  approve(grant: CompiledGrant): Promise<Approval>;
}

export const required: Lacking = { kind: "lacking", refusal: "approval_required" };
export const unavailable: Lacking = { kind: "lacking", refusal: "permit_store_unavailable" };

/**
 * For decisions that know no act: what waits to be used on this resource and action, whatever the act is. Read at most once.
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
    const look = (): Promise<readonly Permit[]> => permits.waiting(context, request);
    waiting ??= callPort(ports, { port: "permits" }, signal, look, readPermits);
    const answer = await waiting;
    if (!answer.ok) return unavailable;
    const permit = answer.value.find((one) => isFor(one, grant.id, context));
    return permit === undefined ? required : { kind: "permitted", permit };
  };
  return { approve };
}

/** INVARIANT: a permit is good under the grant it was given for alone, and not past its end. */
export function isFor({ grantId, expiresAt }: Permit, id: string, { now }: AccessContext): boolean {
  // Written so that a time that is no number is never within it.
  return grantId === id && (parseInstant(expiresAt) ?? Number.NaN) > (parseInstant(now) ?? Number.NaN);
}

/** What the store said about an act. Throws when that cannot be used. */
export function readState(state: PermitState | undefined): PermitState | undefined {
  switch (state?.kind) {
    case undefined:
      if (state === undefined) return undefined;
      break;
    case "asked":
      return { kind: "asked", question: asQuestion(state.question) };
    case "permitted":
      return { kind: "permitted", permit: readPermit(state.permit) };
    case "refused":
      if (state.reason === "approval_denied" || state.reason === "approval_expired") return state;
      break;
    default:
  }
  throw unusable();
}

/** What the store said of a question. Throws when that cannot be used. */
export function readQuestion(answer: Question | "full"): Question | "full" {
  return answer === "full" ? answer : asQuestion(answer);
}

function asQuestion(question: Question | undefined): Question {
  if (typeof question?.id === "string" && typeof question.expiresAt === "string") return question;
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
