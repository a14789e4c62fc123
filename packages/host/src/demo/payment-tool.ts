import { principalId } from "turnpike/contracts";
import { defineTool, type ToolHandler } from "turnpike/kernel";
import { z } from "zod";
import type { FileStore } from "../files/index.ts";

/**
 * The demo's bank, in which a payment is a file of its owner: `payments/<receiver>/<call id>.json`. `files` is asked for when
 * a payment is made, because the host that has the files gets the tool first.
 */
export function paymentTool(files: () => Pick<FileStore, "create">): ToolHandler {
  return defineTool({
    name: "payments.pay",
    description: "Pays somebody from the owner's account.",
    namespace: "payments",
    source: "demo",
    readWrite: "write",
    input: z.strictObject({
      to: z.string().regex(/^[a-z0-9-]{1,64}$/),
      amount: z.number().positive().max(1_000_000),
      reference: z.string().max(140).optional(),
    }),
    output: z.strictObject({ receipt: z.string() }),
    requires: {
      ceiling: { action: "pay", resource: { namespace: "payments", path: [] } },
      of: ({ to }) => ({ action: "pay", resource: { namespace: "payments", path: [to] } }),
    },
    async run({ to, amount, reference }, { context, call, signal }) {
      const { namespaceId, owner } = context;
      const receipt = `payments/${to}/${encodeURIComponent(call.id)}.json`;
      const content = JSON.stringify({ from: principalId(owner), to, amount, reference, at: context.now });
      await files().create({ namespaceId, owner }, receipt.split("/"), `${content}\n`, signal);
      return { receipt };
    },
  });
}
