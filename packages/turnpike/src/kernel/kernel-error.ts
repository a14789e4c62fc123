import { errorCodes, type ErrorCode, type ErrorObject, type JsonObject } from "../contracts/index.ts";
import type { Decision } from "./decide.ts";

/** Thrown by operations whose answer has no room for a code. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, options?: ErrorOptions) {
    super(errorCodes[code].meaning, options);
    this.code = code;
  }
}

/** The error object of a result: the code's own words, so that equal codes read alike to every caller. */
export function errorObject(
  code: ErrorCode,
  message: string = errorCodes[code].meaning,
  details?: JsonObject,
): ErrorObject {
  return { code, message, retryable: errorCodes[code].retry, ...(details && { details }) };
}

/** The error object of an act that a decision denied. */
export function denialError({ reason, details, isDivided }: Decision & { kind: "deny" }): ErrorObject {
  if (isDivided === true) return { ...errorObject(reason, dividedApproval), retryable: false };
  const isUnasked = reason === "approval_required" && details !== undefined && details["escalationId"] === undefined;
  return errorObject(reason, isUnasked ? tooManyQuestions : undefined, details);
}

const dividedApproval =
  "The act needs a person's yes under more than one grant, and nobody was asked: one grant has to cover all that needs it.";

const tooManyQuestions =
  "The act needs a person's yes, and nobody was asked: the actor has as many open questions as it may have.";
