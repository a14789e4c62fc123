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

/**
 * For a `DecisionLedger` to throw when what a call was decided on may be outdated: nothing was stored, and nothing happens. The
 * operation rejects with it, so that the host can try the call again.
 */
export class OutdatedReadsError extends Error {
  override readonly name = "OutdatedReadsError";

  constructor() {
    super("What the call was decided on may be outdated.");
  }
}

/**
 * The error object of a result: the code's own words, so that equal codes read alike to every caller.
 *
 * @example
 * import { errorObject } from "turnpike/kernel";
 *
 * const { code, retryable } = errorObject("authority_unavailable");
 * console.log(code, retryable); // authority_unavailable true
 */
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
  return errorObject(reason, isUnasked ? tooManyEscalations : undefined, details);
}

const dividedApproval =
  "The act needs a person's approval under more than one grant, so none was asked for: one grant has to cover all that needs it.";

const tooManyEscalations =
  "The act needs a person's approval, and none was asked for: the actor has as many open escalations as it may have.";
