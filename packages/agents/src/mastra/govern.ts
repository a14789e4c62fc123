import type { Gate } from "turnpike/client";
import { createGovernor, type AgentCall, type Governor, type GovernOptions } from "../core/index.ts";

/** What Mastra gives a tool beside its input. */
interface ExecutionContext {
  runId?: string;
  toolCallId?: string;
  abortSignal?: AbortSignal;
  agent?: { toolCallId?: string };
  workflow?: { runId?: string };
}

/** What of a Mastra tool is governed. */
interface MastraTool {
  id: string;
  execute?(input: unknown, context?: ExecutionContext): Promise<unknown>;
  inputSchema?: { "~standard": { validate(input: unknown): { issues?: unknown } | Promise<{ issues?: unknown }> } };
  requireApproval?: boolean | ((input: unknown, context?: unknown) => boolean | Promise<boolean>);
}

/** The same tools, each of whose calls is carried out only if the gate allows it, and recorded. */
export function govern<Tools extends object>(
  tools: Tools,
  gate: Gate,
  options: GovernOptions<Extract<keyof Tools, string>> = {},
): Tools {
  const entries = Object.entries(tools as Record<string, MastraTool>);
  const governor = createGovernor(
    gate,
    entries.map(([name]) => name),
    options,
  );
  return Object.fromEntries(entries.map(([name, tool]) => [name, governTool(name, tool, governor)])) as Tools;
}

/** A copy that is of the same class, because Mastra looks at that. */
function governTool(name: string, tool: MastraTool, governor: Governor): MastraTool {
  const { execute, requireApproval } = tool;
  if (execute === undefined)
    throw new TypeError(`The tool ${name} has no execute: what is carried out elsewhere is governed there.`);
  const copy = Object.create(
    Object.getPrototypeOf(tool) as object,
    Object.getOwnPropertyDescriptors(tool),
  ) as MastraTool;
  copy.execute = (input, context) =>
    governor.run(callOf(name, input, context), () => execute.call(tool, input, context));
  copy.requireApproval = async (input, context) => {
    const isNeeded = typeof requireApproval === "function" ? await requireApproval(input, context) : requireApproval;
    // Mastra asks before it has checked the arguments; wrong ones are no question for a person.
    const { issues } = (await tool.inputSchema?.["~standard"].validate(input)) ?? {};
    return isNeeded === true || (issues === undefined && governor.asks(callOf(name, input, undefined)));
  };
  return copy;
}

function callOf(tool: string, input: unknown, context: ExecutionContext | undefined): AgentCall {
  return {
    tool,
    id: context?.agent?.toolCallId ?? context?.toolCallId,
    run: context?.runId ?? context?.workflow?.runId,
    arguments: input,
    signal: context?.abortSignal,
  };
}
