import type { Pin, PinStore, ToolDefinition } from "../../src/mcp-servers/pin-store.ts";

/** A store of pins in memory, which can be made to fail. */
export interface MemoryPins extends PinStore {
  /** What every reading and every writing throws from now on. */
  failure: Error | undefined;
  /** How often hashes were read. */
  reads: number;
}

const at = "2026-01-01T12:00:00.000Z";

interface MarkedPin extends Pin {
  withdrawnHash?: string;
}

export function memoryPins(): MemoryPins {
  const servers = new Map<string, Map<string, MarkedPin>>();
  const of = (server: string): Map<string, MarkedPin> => {
    if (store.failure !== undefined) throw store.failure;
    const pins = servers.get(server) ?? new Map<string, MarkedPin>();
    servers.set(server, pins);
    return pins;
  };
  const put = (server: string, tools: readonly ToolDefinition[], by: string): void => {
    for (const tool of tools) of(server).set(tool.tool, { ...tool, by, pinnedAt: at });
  };
  const store: MemoryPins = {
    failure: undefined,
    reads: 0,
    async hashes(server) {
      store.reads += 1;
      return new Map([...of(server)].map(([tool, { hash }]) => [tool, hash]));
    },
    list: async (server) => [...of(server).values()].toSorted((one, other) => (one.tool < other.tool ? -1 : 1)),
    async pinFirst(server, tools, by) {
      if (of(server).size > 0) return false;
      put(server, tools, by);
      return tools.length > 0;
    },
    pin: async (server, tools, by) => put(server, tools, by),
    listWithdrawn: async (names) =>
      names.flatMap((server) =>
        [...of(server).values()].flatMap(({ tool, withdrawnHash }) =>
          withdrawnHash === undefined ? [] : [{ server, tool, hash: withdrawnHash, at }],
        ),
      ),
    async withdraw(server, tools) {
      return tools.filter(({ tool, hash }) => {
        const pin = of(server).get(tool);
        if (pin === undefined || pin.hash === hash || pin.withdrawnHash === hash) return false;
        of(server).set(tool, { ...pin, withdrawnHash: hash, withdrawnAt: at });
        return true;
      });
    },
    async restore(server, tools) {
      for (const { tool, hash } of tools) {
        const { withdrawnHash, withdrawnAt: _at, ...pin } = of(server).get(tool) ?? {};
        if (withdrawnHash === hash) of(server).set(tool, pin as Pin);
      }
    },
  };
  return store;
}
