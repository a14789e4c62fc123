import type { JsonObject, JsonValue, ToolCall, ToolResult } from "../contracts/index.ts";
import type { DriverDecision, RuntimeTurn, TurnDriver } from "../runtime/index.ts";

/** A call in a script; what is left out is filled in from the turn. */
export type ScriptedCall = { tool: string; arguments?: JsonObject } & Partial<ToolCall>;

/** What the driver decides: written down, or worked out from the results of the step before. */
export type ScriptedStep =
  | Exclude<DriverDecision, { type: "tools" }>
  | { type: "tools"; calls: readonly ScriptedCall[] }
  | ((results: readonly ToolResult[], turn: RuntimeTurn) => ScriptedStep);

/**
 * A driver that follows a script, one step a decision, and completes with the last results when the script is over.
 *
 * @example
 * import { standardRuntime } from "turnpike/runtime";
 * import { scriptedDriver } from "turnpike/testing";
 *
 * const driver = scriptedDriver([{ type: "complete", output: "done" }]);
 * console.log(standardRuntime(driver).manifest.id); // scripted
 */
export function scriptedDriver(steps: readonly ScriptedStep[]): TurnDriver {
  return {
    manifest: { id: "scripted", version: "1" },
    resumes: (version) => version === "1",
    open(turn) {
      let place = 0;
      return Promise.resolve({
        recall() {
          place += 1;
        },
        next(input) {
          const results = input.type === "start" ? [] : input.results;
          const step = steps[place] ?? { type: "complete", output: results.map(outputOf) };
          place += 1;
          return Promise.resolve(decisionOf(step, results, turn, place));
        },
      });
    },
  };
}

function decisionOf(
  step: ScriptedStep,
  results: readonly ToolResult[],
  turn: RuntimeTurn,
  place: number,
): DriverDecision {
  if (typeof step === "function") return decisionOf(step(results, turn), results, turn, place);
  if (step.type !== "tools") return step;
  const { traceId, createdAt: requestedAt } = turn.message;
  const filledIn = (call: ScriptedCall, index: number): ToolCall => ({
    id: `call-${place}-${index + 1}`,
    requestedAt,
    traceId,
    ...call,
    arguments: call.arguments ?? {},
  });
  return { type: "tools", calls: step.calls.map(filledIn) };
}

function outputOf(result: ToolResult): JsonValue {
  return result.status === "succeeded" ? result.output : { code: result.error.code };
}
