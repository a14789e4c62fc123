import {
  AuthorityRequestInputSchema,
  ErrorObjectSchema,
  EscalationInputSchema,
  JsonObjectSchema,
  JsonValueSchema,
  type ErrorCode,
  type ErrorObject,
  type Escalation,
  type EscalationInput,
  type JsonObject,
  type JsonValue,
  type TurnEventType,
} from "../contracts/index.ts";
import { accept, check, isAccepted } from "../internal/index.ts";
import { errorObject } from "../kernel/index.ts";

/** How a turn ends. The result for the caller is made from it. */
export type Ending =
  | { status: "succeeded"; output: JsonValue; metadata?: JsonObject }
  | { status: "denied" | "failed" | "cancelled"; error: ErrorObject; metadata?: JsonObject }
  | { status: "escalated"; escalation: Escalation; metadata?: JsonObject };

/** A plugin's checked outcome: it ends the turn, or asks for an escalation, which the kernel may refuse. */
export type ReadOutcome =
  | { kind: "ending"; ending: Ending }
  | { kind: "escalate"; input: EscalationInput; metadata?: JsonObject };

/** The terminal event of each ending. */
export const terminalEvents: Record<Ending["status"], TurnEventType> = {
  succeeded: "turn.completed",
  denied: "turn.denied",
  failed: "turn.failed",
  cancelled: "turn.cancelled",
  escalated: "turn.escalated",
};

/** An ending with one of our own codes. */
export function endWith(status: "denied" | "failed" | "cancelled", code: ErrorCode): Ending {
  return { status, error: errorObject(code) };
}

/** Reads a plugin's outcome. An invalid outcome, or one that throws when it is read, ends the turn as failed. */
export function readOutcome(outcome: unknown): ReadOutcome {
  try {
    return meaningOf(outcome);
  } catch {
    return invalidOutcome;
  }
}

function meaningOf(outcome: unknown): ReadOutcome {
  const parts = partsOf(outcome);
  const metadata = parts.metadata === undefined ? undefined : check(JsonObjectSchema, parts.metadata);
  if (metadata?.ok === false) return invalidOutcome;
  const extra = metadata && { metadata: metadata.value };
  switch (parts.type) {
    case "complete": {
      const output = check(JsonValueSchema, parts.output);
      return output.ok
        ? { kind: "ending", ending: { status: "succeeded", output: output.value, ...extra } }
        : invalidOutcome;
    }
    case "fail": {
      const error = accept(ErrorObjectSchema, parts.error);
      return error.ok ? { kind: "ending", ending: { status: "failed", error: error.value, ...extra } } : invalidOutcome;
    }
    case "escalate": {
      const input = readEscalationInput(parts);
      return input === undefined ? invalidOutcome : { kind: "escalate", input, ...extra };
    }
    default:
      return invalidOutcome;
  }
}

const invalidOutcome: ReadOutcome = { kind: "ending", ending: endWith("failed", "invalid_runtime_outcome") };

type Part = "type" | "output" | "error" | "reason" | "requestedAuthority" | "metadata" | "capabilities" | "constraints";
type Parts = Partial<Record<Part, unknown>>;

function partsOf(outcome: unknown): Parts {
  return typeof outcome === "object" && outcome !== null ? (outcome as Parts) : {};
}

/** Reads the input of an escalation without any identity that it claims; undefined when it does not fit the contract. */
export function readEscalationInput({ reason, requestedAuthority }: Parts): EscalationInput | undefined {
  const said = check(EscalationInputSchema.shape.reason, reason);
  if (!said.ok) return undefined;
  if (requestedAuthority === undefined) return { reason: said.value };
  const wanted = accept(AuthorityRequestInputSchema, withoutIdentity(requestedAuthority));
  return wanted.ok ? { reason: said.value, requestedAuthority: wanted.value } : undefined;
}

/** A request for authority without its identity. What the reference runtime has accepted is returned unchanged. */
function withoutIdentity(requested: unknown): unknown {
  if (isAccepted(AuthorityRequestInputSchema, requested)) return requested;
  const { capabilities, constraints, metadata } = partsOf(requested);
  return { capabilities, constraints, metadata };
}

/** Makes `retryable` depend on what may have happened in the turn, and not on what the plugin says. */
export function withTruthfulRetry(ending: Ending, isSpent: boolean): Ending {
  if (!("error" in ending) || !isSpent) return ending;
  return { ...ending, error: { ...ending.error, retryable: false } };
}
