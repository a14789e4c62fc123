import { ServiceHttpError } from "turnpike/http";
import { createOperator } from "../access/index.ts";
import { operatorsTenant } from "../management/index.ts";
import type { PinStore, ToolDefinition } from "../mcp-servers/index.ts";
import type { Log } from "../observe/index.ts";
import type { Stores } from "./stores.ts";

const host = { kind: "service", serviceId: "host" } as const;

interface FirstPinsOptions {
  stores: Pick<Stores, "audit"> & { mcpPins: PinStore };
  log: Log;
  onAuditError(error: unknown): void;
}

/** Nothing was pinned, because another host was first. */
class PinnedBeforeError extends ServiceHttpError {
  constructor() {
    super(409, "conflict", "Another host was first.");
  }
}

/**
 * Pins the first list of a server, which nobody has reviewed: it is on the operators' trail before it counts, and in the log
 * afterwards. Rejects when it cannot be recorded or kept.
 */
export function recordFirstPins({ stores, log, onAuditError }: FirstPinsOptions) {
  return async (server: string, tools: readonly ToolDefinition[]): Promise<void> => {
    const who = { id: "host", actor: host, role: "admin", requestId: crypto.randomUUID() } as const;
    const self = createOperator(who, stores.audit, onAuditError);
    const metadata = { server, tools: tools.map(({ tool, hash }) => ({ tool, hash })) };
    try {
      await self.change({ namespaceId: operatorsTenant, action: "mcp.pin", metadata }, async () => {
        if (!(await stores.mcpPins.pinFirst(server, tools, "service:host"))) throw new PinnedBeforeError();
      });
      log.warn(
        { server, tools: tools.map(({ tool }) => tool) },
        "tools of an MCP server pinned as they are, because nothing of it was accepted before",
      );
    } catch (error) {
      if (!(error instanceof PinnedBeforeError)) throw error;
    }
  };
}
