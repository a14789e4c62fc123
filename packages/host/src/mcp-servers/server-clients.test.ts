import type { DiscoveryContext } from "turnpike/contracts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { context } from "../../test/records.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { createReconnectingClient } from "./reconnecting-client.ts";
import { ownerClients, type ServerClients } from "./server-clients.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function of(userId: string): DiscoveryContext {
  return context({ owner: { kind: "human", userId } });
}

/** Clients that note what is opened and closed. */
function open(): { clients: ServerClients; events: string[] } {
  const events: string[] = [];
  const keyOf = ({ owner }: DiscoveryContext): string => (owner.kind === "human" ? owner.userId : "");
  const clients = ownerClients({
    keyOf,
    maxClients: 2,
    idleMs: 1000,
    open(whose) {
      const key = keyOf(whose);
      return createReconnectingClient<McpConnection>({
        open(signal) {
          events.push(`open ${key}`);
          const close = (): Promise<void> => {
            events.push(`close ${key}${signal.aborted ? " at once" : ""}`);
            return Promise.resolve();
          };
          return Promise.resolve({ close } as McpConnection);
        },
        onFailure() {},
        clock: () => 0,
      });
    },
  });
  return { clients, events };
}

describe("the connections of owners", () => {
  test("are one for each, which is the same for the next call", async () => {
    const { clients, events } = open();
    const first = await clients.connection(of("alice"));
    expect(await clients.connection(of("alice"))).toBe(first);
    expect(await clients.connection(of("bob"))).not.toBe(first);
    expect(events).toEqual(["open alice", "open bob"]);
  });

  test("are so many at most: the one that was used the longest ago is given up, and lets its calls finish", async () => {
    const { clients, events } = open();
    for (const name of ["alice", "bob", "alice", "carol"]) await clients.connection(of(name));
    await vi.advanceTimersByTimeAsync(0);
    expect(events).toEqual(["open alice", "open bob", "open carol", "close bob"]);
    await clients.connection(of("bob"));
    expect(events.slice(4)).toEqual(["open bob", "close alice"].toSorted().toReversed());
  });

  test("are given up when no call has used them for a while, and made again when one does", async () => {
    const { clients, events } = open();
    await clients.connection(of("alice"));
    await vi.advanceTimersByTimeAsync(999);
    await clients.connection(of("alice"));
    await vi.advanceTimersByTimeAsync(999);
    expect(events).toEqual(["open alice"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(events).toEqual(["open alice", "close alice"]);
    await clients.connection(of("alice"));
    expect(events).toEqual(["open alice", "close alice", "open alice"]);
  });

  test("are all closed at once with the host, and none is made afterwards", async () => {
    const { clients, events } = open();
    for (const name of ["alice", "bob"]) await clients.connection(of(name));
    await clients.close();
    expect(events.slice(2).toSorted()).toEqual(["close alice at once", "close bob at once"]);
    await expect(clients.connection(of("carol"))).rejects.toThrow("The host is closing.");
    expect(events).toHaveLength(4);
  });
});
