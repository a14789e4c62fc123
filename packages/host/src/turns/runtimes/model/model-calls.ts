import {
  describeIssues,
  EscalationInputSchema,
  IdentifierSchema,
  JsonObjectSchema,
  type ErrorObject,
  type ToolCall,
} from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import { escalationToolName, type RuntimeTurn } from "turnpike/runtime";
import type { ModelCall } from "./model-request.ts";
import type { ToolNames } from "../../../shared/index.ts";

/** A model's call: either it goes to the gate, or it is answered at once because it is not valid. */
export type PlannedCall =
  | { kind: "planned"; made: ModelCall; call: ToolCall }
  | { kind: "answered"; made: ModelCall; error: ErrorObject };

/** What planning the calls of one reply needs. `room` is how many of them may reach the gate. */
export interface CallPlan {
  turn: RuntimeTurn;
  names: ToolNames;
  step: number;
  room: number;
}

/** Plans the calls of one reply, in their order. */
export function planCalls(calls: readonly ModelCall[], { turn, names, step, room }: CallPlan): PlannedCall[] {
  const ids = calls.map(({ toolCallId }) => toolCallId);
  return calls.map((made, place) => {
    const tool = names.fromModel(made.toolName);
    const read = readArguments(tool, made, turn);
    if (place >= room) return { kind: "answered", made, error: errorObject("tool_call_limit_exceeded") };
    if ("error" in read) return { kind: "answered", made, error: read.error };
    const call = {
      // An id that the model used twice in a reply is one id for the gate too, which accepts each id once.
      id: `call-${step + 1}-${ids.indexOf(made.toolCallId) + 1}`,
      tool,
      arguments: read.value,
      requestedAt: new Date().toISOString(),
      traceId: turn.message.traceId,
    };
    return { kind: "planned", made, call };
  });
}

/** The arguments of a call for the gate, which decides whether they are allowed and fit the tool. */
function readArguments(
  tool: string,
  { input, problem }: ModelCall,
  turn: RuntimeTurn,
): { value: ToolCall["arguments"] } | { error: ErrorObject } {
  if (!IdentifierSchema.safeParse(tool).success) return { error: errorObject("tool_unavailable") };
  if (problem !== undefined) return { error: errorObject("invalid_tool_arguments", problem) };
  const read = JsonObjectSchema.safeParse(input);
  if (!read.success) return { error: errorObject("invalid_tool_arguments", "The arguments are no JSON object.") };
  if (tool !== escalationToolName) return { value: read.data };

  // A valid escalation ends the turn. The turn continues when the tool to escalate is not offered or its arguments are not valid.
  const isOffered = turn.tools.some(({ name }) => name === escalationToolName);
  if (!isOffered) return { error: errorObject("tool_unavailable") };
  const escalation = EscalationInputSchema.safeParse(read.data);
  if (escalation.success) return { value: read.data };
  return { error: errorObject("invalid_tool_arguments", describeIssues(escalation.error.issues)) };
}
