import { ServiceHttpError } from "turnpike/http";
import { createOperator, type Operator } from "../access/index.ts";
import { operatorsTenant } from "../admin-contract/index.ts";
import type { ListedHash, PinStore, ToolDefinition } from "../mcp-servers/index.ts";
import type { Log } from "../telemetry/index.ts";
import type { Stores } from "./stores.ts";

const host = { kind: "service", serviceId: "host" } as const;

interface RecordedPinsOptions {
  stores: Pick<Stores, "audit"> & { mcpPins: PinStore };
  log: Log;
  onAuditError(error: unknown): void;
}

/** Records in the operators' audit log what a host does with the tools of MCP servers by itself. */
interface RecordedPins {
  store: PinStore;
  pinFirst(server: string, tools: readonly ToolDefinition[]): Promise<void>;
  withdraw(server: string, tools: readonly ListedHash[]): Promise<void>;
}

/** Nothing was pinned, because another host was first. */
class PinnedBeforeError extends ServiceHttpError {
  constructor() {
    super(409, "conflict", "Another host was first.");
  }
}

/** The pins of a store, and what the host records when it pins or withdraws tools by itself. */
export function recordPins({ stores, log, onAuditError }: RecordedPinsOptions): RecordedPins {
  const { audit, mcpPins: store } = stores;
  const change = (action: string, server: string, tools: readonly ListedHash[], make: () => Promise<void>) => {
    const who = { id: "host", actor: host, role: "admin", requestId: crypto.randomUUID() } as const;
    const self: Operator = createOperator(who, audit, onAuditError);
    const metadata = { server, tools: tools.map(({ tool, hash }) => ({ tool, hash })) };
    return self.change({ namespaceId: operatorsTenant, action, metadata }, make);
  };
  return {
    store,
    /**
     * Pins the first list of a server, which no operator has reviewed: the operators' audit log has it before it counts, and the
     * log afterwards. Rejects when it cannot be recorded or stored.
     */
    async pinFirst(server, tools) {
      try {
        await change("mcp.pin", server, tools, async () => {
          if (!(await store.pinFirst(server, tools, "service:host"))) throw new PinnedBeforeError();
        });
        log.warn(
          { server, tools: tools.map(({ tool }) => tool) },
          "tools of an MCP server pinned as they are, because nothing of it was accepted before",
        );
      } catch (error) {
        if (!(error instanceof PinnedBeforeError)) throw error;
      }
    },
    /**
     * Marks tools that changed. The mark comes first, so that one of several hosts records it; what cannot be recorded is not
     * marked, and is tried again with the next list.
     */
    async withdraw(server, tools) {
      const marked = await store.withdraw(server, tools);
      if (marked.length === 0) return;
      try {
        await change("mcp.withdraw", server, marked, () => Promise.resolve());
      } catch (error) {
        await store.restore(server, marked);
        throw error;
      }
    },
  };
}
