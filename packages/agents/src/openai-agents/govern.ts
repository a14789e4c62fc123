import type { Gate } from "turnpike/client";
import type { JsonValue } from "turnpike/contracts";
import { createGovernor, ToolRefusedError, type AgentCall, type Governor, type GovernOptions } from "../core/index.ts";
import { findMismatch } from "./find-mismatch.ts";

interface CallDetails {
  toolCall?: { callId?: string };
  signal?: AbortSignal;
}

/** What of a function tool of the OpenAI Agents SDK is governed. */
interface FunctionTool {
  type: string;
  name: string;
  parameters?: unknown;
  invoke(runContext: never, input: string, details?: CallDetails): Promise<unknown>;
  needsApproval(runContext: never, input: never, callId?: string): Promise<boolean>;
}

/** What the SDK answers for a tool that threw, unless the tool has words of its own. */
const failureText = "An error occurred while running the tool. Please try again.";

/** The same tools, each of whose calls is carried out only if the gate allows it, and recorded. */
export function govern<Tools extends readonly object[]>(tools: Tools, gate: Gate, options: GovernOptions = {}): Tools {
  const functions = (tools as unknown as readonly FunctionTool[]).map(toFunctionTool);
  const governor = createGovernor(
    gate,
    functions.map(({ name }) => name),
    options,
  );
  return functions.map((tool) => governTool(tool, governor)) as unknown as Tools;
}

function toFunctionTool(tool: FunctionTool): FunctionTool {
  if (tool.type === "function") return tool;
  throw new TypeError(`The tool ${tool.name} is no function tool: what is carried out elsewhere is governed there.`);
}

function governTool(tool: FunctionTool, governor: Governor): FunctionTool {
  const callOf = (input: unknown, id: string | undefined, signal?: AbortSignal): AgentCall => ({
    tool: tool.name,
    id,
    arguments: input,
    signal,
  });
  return {
    ...tool,
    async invoke(runContext, input, details) {
      const read = readArguments(tool, input);
      if ("mismatch" in read) return `Invalid arguments: ${read.mismatch}. Correct them, and call it again.`;
      let failure: { text: unknown } | undefined;
      try {
        return await governor.run(callOf(read.args, details?.toolCall?.callId, details?.signal), async () => {
          const output = await tool.invoke(runContext, input, details);
          if (output !== failureText) return output;
          // The SDK has caught what the tool threw: it is a failure for the gate, and these words for the model.
          failure = { text: output };
          throw new Error("The tool failed.");
        });
      } catch (error) {
        if (failure !== undefined) return failure.text;
        if (error instanceof ToolRefusedError) return error.message;
        throw error;
      }
    },
    async needsApproval(runContext, input, callId) {
      if (await tool.needsApproval(runContext, input, callId)) return true;
      return findMismatch(tool.parameters, input) === undefined && governor.asks(callOf(input, callId));
    },
  };
}

/** The SDK checks arguments where it carries the call out, which is too late for a gate. */
function readArguments({ parameters }: FunctionTool, input: string): { args: JsonValue } | { mismatch: string } {
  let args: JsonValue;
  try {
    args = JSON.parse(input === "" ? "{}" : input) as JsonValue;
  } catch {
    return { mismatch: "expected JSON" };
  }
  const mismatch = findMismatch(parameters, args);
  return mismatch === undefined ? { args } : { mismatch };
}
