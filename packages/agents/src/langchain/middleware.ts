import type { Gate } from "turnpike/client";
import { createGovernor } from "../core/index.ts";
import { governTool, type LangChainOptions, type StructuredTool } from "./govern.ts";

interface ToolCallRequest {
  tool?: unknown;
}

/** A middleware of `createAgent`, as `createMiddleware` of LangChain makes them. */
export interface GovernedMiddleware {
  readonly name: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- LangChain's own types of it depend on the agent's state
  wrapToolCall(request: any, handler: (request: any) => any): any;
}

/** Governs every tool of an agent. Put it last, so that no other middleware replaces a governed tool. */
export function governed(gate: Gate, options: LangChainOptions = {}): GovernedMiddleware {
  const names = [options.needs, options.write, options.spends].flatMap((named) => Object.keys(named ?? {}));
  const governor = createGovernor(gate, names, options);
  const known = new WeakMap<object, StructuredTool>();
  const governedTool = (tool: StructuredTool): StructuredTool => {
    const found = known.get(tool) ?? governTool(tool, governor, options);
    known.set(tool, found);
    return found;
  };
  return Object.assign(
    {
      name: "turnpike",
      wrapToolCall: (request: ToolCallRequest, handler: (request: ToolCallRequest) => unknown) =>
        handler(
          request.tool === undefined ? request : { ...request, tool: governedTool(request.tool as StructuredTool) },
        ),
    },
    { [Symbol.for("AgentMiddleware")]: true },
  );
}
