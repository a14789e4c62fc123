import { defineTool, type ToolHandler } from "turnpike/kernel";
import { z } from "zod";

/** A tool that pays: what was paid, to whom, is in the list. */
export function payTool(paid: string[]): ToolHandler {
  return defineTool({
    name: "bank.pay",
    description: "Pays.",
    namespace: "bank",
    readWrite: "write",
    input: z.strictObject({ to: z.string() }),
    output: z.strictObject({ count: z.int() }),
    requires: { action: "pay", resource: { namespace: "bank", path: [] } },
    run: ({ to }) => ({ count: paid.push(to) }),
  });
}
