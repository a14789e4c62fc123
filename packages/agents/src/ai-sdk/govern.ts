import type { Gate } from "turnpike/client";
import { createGovernor, type AgentCall, type Governor, type GovernOptions } from "../core/index.ts";

/** What the AI SDK gives a tool beside its input. */
interface Execution {
  toolCallId?: string;
  abortSignal?: AbortSignal;
  messages?: readonly { content?: unknown }[];
}

/** What of a tool of the AI SDK is governed, in all of its versions. */
interface ExecutableTool {
  execute?: (input: unknown, execution: Execution) => unknown;
  needsApproval?: boolean | ((input: unknown, execution: Execution) => boolean | PromiseLike<boolean>);
}

const governors = new WeakMap<object, Governor>();

/** The governor of a tool that `govern` returned. */
export function governorOf(tool: object | undefined): Governor | undefined {
  return tool && governors.get(tool);
}

/** The same tools, each of whose calls is carried out only if the gate allows it, and recorded. */
export function govern<Tools extends object>(
  tools: Tools,
  gate: Gate,
  options: GovernOptions<Extract<keyof Tools, string>> = {},
): Tools {
  const entries = Object.entries(tools as Record<string, ExecutableTool>);
  const governor = createGovernor(
    gate,
    entries.map(([name]) => name),
    options,
  );
  return Object.fromEntries(entries.map(([name, tool]) => [name, governTool(name, tool, governor)])) as Tools;
}

function governTool(name: string, tool: ExecutableTool, governor: Governor): ExecutableTool {
  const { execute, needsApproval } = tool;
  if (execute === undefined)
    throw new TypeError(`The tool ${name} has no execute: what is carried out elsewhere is governed there.`);
  const callOf = (input: unknown, { toolCallId, abortSignal }: Execution): AgentCall => ({
    tool: name,
    id: toolCallId,
    arguments: input,
    signal: abortSignal,
  });
  const governed: ExecutableTool = {
    ...tool,
    execute: (input, execution) => governor.run(callOf(input, execution), () => lastOf(execute(input, execution))),
    async needsApproval(input, execution) {
      const isNeeded = typeof needsApproval === "function" ? await needsApproval(input, execution) : needsApproval;
      return isNeeded === true || wasAsked(execution) || governor.asks(callOf(input, execution));
    },
  };
  governors.set(governed, governor);
  return governed;
}

/**
 * Whether the run has stopped for this call before. The AI SDK asks again when it goes on, and takes a call that needs no approval
 * any more for one that was never asked about.
 */
function wasAsked({ messages = [], toolCallId }: Execution): boolean {
  return messages.some(
    ({ content }) =>
      Array.isArray(content) &&
      content.some(
        (part: { type?: unknown; toolCallId?: unknown }) =>
          part.type === "tool-approval-request" && part.toolCallId === toolCallId,
      ),
  );
}

/** The last value of a tool that yields preliminary ones: an effect has one output. */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const part of output as AsyncIterable<unknown>) last = part;
  return last;
}
