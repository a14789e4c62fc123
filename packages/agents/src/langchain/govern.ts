import type { Gate } from "turnpike/client";
import { createGovernor, ToolRefusedError, type AgentCall, type Governor, type GovernOptions } from "../core/index.ts";

/** How the tools of a LangChain agent are governed. */
export interface LangChainOptions extends GovernOptions {
  /** Stops the graph with LangGraph's `interrupt` when a person has to approve a call at the gate. */
  interrupt?: boolean;
}

/** What LangChain gives a tool beside its input. */
interface CallConfig {
  toolCall?: { id?: string };
  toolCallId?: string;
  configurable?: { thread_id?: unknown };
  signal?: AbortSignal;
}

/** What of a LangChain tool is governed: what it does once its input is parsed. */
export interface StructuredTool {
  name: string;
  responseFormat?: string;
  _call(input: unknown, manager: unknown, config?: CallConfig): Promise<unknown>;
}

/** The same tools, each of whose calls is carried out only if the gate allows it, and recorded. */
export function govern<Tools extends readonly object[]>(
  tools: Tools,
  gate: Gate,
  options: LangChainOptions = {},
): Tools {
  const structured = tools as unknown as readonly StructuredTool[];
  const governor = createGovernor(
    gate,
    structured.map(({ name }) => name),
    options,
  );
  return structured.map((tool) => governTool(tool, governor, options)) as unknown as Tools;
}

/** A copy that is of the same class, so that LangChain parses its input as before. */
export function governTool(
  tool: StructuredTool,
  governor: Governor,
  { interrupt = false }: LangChainOptions,
): StructuredTool {
  if (typeof tool._call !== "function")
    throw new TypeError(
      `The tool ${tool.name} is not carried out by LangChain: what is carried out elsewhere is governed there.`,
    );
  const copy = Object.create(
    Object.getPrototypeOf(tool) as object,
    Object.getOwnPropertyDescriptors(tool),
  ) as StructuredTool;
  copy._call = async (input, manager, config = {}) => {
    const call = callOf(tool.name, input, config);
    if (interrupt && (await governor.asks(call))) await interruptFor(call);
    try {
      return await governor.run(call, () => tool._call(input, manager, config));
    } catch (error) {
      if (!(error instanceof ToolRefusedError)) throw error;
      return tool.responseFormat === "content_and_artifact" ? [error.message, undefined] : error.message;
    }
  };
  return copy;
}

function callOf(tool: string, input: unknown, config: CallConfig): AgentCall {
  const { toolCall, toolCallId, configurable, signal } = config;
  const thread = configurable?.thread_id;
  return {
    tool,
    id: toolCall?.id ?? toolCallId,
    run: typeof thread === "string" ? thread : undefined,
    arguments: input,
    signal,
  };
}

/** LangGraph runs the call again when the graph is resumed. Whatever it is resumed with, the gate decides then. */
async function interruptFor({ tool, id, arguments: input }: AgentCall): Promise<void> {
  const name = "@langchain/langgraph";
  const { interrupt } = (await import(name)) as { interrupt(value: unknown): unknown };
  interrupt({ reason: "A person has to approve it at the gate.", tool, id, arguments: input });
}
