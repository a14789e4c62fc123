import { ActDeniedError, ActFailedError, ActInterruptedError } from "turnpike/client";
import { ArgumentRuleError } from "turnpike/contracts";

/** A call that was not carried out. Its message is for the model: it says why, and what to do. */
export class ToolRefusedError extends Error {
  override readonly name = "ToolRefusedError";
  readonly code: string;

  constructor(code: string, message: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

const whenDenied =
  "Do not call it again with the same arguments. Do something that is allowed, or say what was denied.";
const whenUnknown = "Do not call it again. Find out whether it happened, or ask the user.";
const whenAway = "Nothing was done. Say so, and try later.";

/** What a model is told when the gate did not carry out its call. */
export function refusalOf(error: unknown): ToolRefusedError {
  if (error instanceof ActDeniedError) {
    const advice = error.escalationId === undefined ? ` ${whenDenied}` : "";
    return new ToolRefusedError(error.code, `Denied (${error.code}): ${error.message}${advice}`, error);
  }
  if (error instanceof ActFailedError)
    return new ToolRefusedError(error.code, `This call failed before (${error.code}): ${error.message}`, error);
  if (error instanceof ActInterruptedError)
    return new ToolRefusedError(error.code, `Not repeated (${error.code}): ${error.message} ${whenUnknown}`, error);
  if (error instanceof ArgumentRuleError) {
    const code = "invalid_tool_arguments";
    return new ToolRefusedError(code, `Denied (${code}): ${error.message}`, error);
  }
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return new ToolRefusedError(code, `Denied (${code}): the gate did not decide. ${message} ${whenAway}`, error);
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "gate_unavailable";
}
