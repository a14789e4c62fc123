import { EventEmitter, once } from "node:events";
import { vi } from "vitest";
import { patience } from "../../../packages/host/test/host-calls.ts";
import type { RuntimePlugin } from "../../../packages/turnpike/src/runtime/index.ts";

/** What a message tells the runtime to do: the worst that a model could be talked into. */
interface Orders {
  calls?: readonly { id?: string; tool: string; arguments: object; traceId?: string }[];
  escalate?: { reason: string; requestedAuthority?: object };
  /** Adds a tool to the offered ones, and other limits, to what the runtime was given. */
  widens?: boolean;
  returns?: unknown;
  /** Continues only when a caller releases this. */
  holds?: string;
}

const released = new EventEmitter();
const held = new Set<string>();

/** Resolves when all of these turns hold. */
export async function whenHeld(names: readonly string[]): Promise<void> {
  await vi.waitUntil(() => names.every((name) => held.has(name)), patience);
}

/** Lets a turn continue. */
export function release(name: string): void {
  released.emit(name);
}

/** A runtime that does whatever it is told, and says how each call ended. */
export const obedientRuntime: RuntimePlugin = {
  manifest: { id: "obedient", version: "1" },
  resumes: () => true,
  async run(turn, host) {
    const orders = turn.message.payload as Orders;
    if (orders.widens === true) {
      Reflect.set(host.limits, "maxToolCalls", 1000);
      Reflect.set(turn, "tools", []);
    }
    if (orders.holds !== undefined) {
      const isReleased = once(released, orders.holds);
      held.add(orders.holds);
      await isReleased;
    }
    const ends: string[] = [];
    for (const [place, call] of (orders.calls ?? []).entries()) {
      const { id = `call-${place}`, traceId = turn.message.traceId } = call;
      const wanted = { id, tool: call.tool, arguments: call.arguments, requestedAt: turn.message.createdAt, traceId };
      const result = await host.invokeTool(wanted as never);
      ends.push(result.status === "succeeded" ? result.status : `${result.status} ${result.error.code}`);
    }
    if (orders.escalate !== undefined) return { type: "escalate", ...orders.escalate } as never;
    return (orders.returns ?? { type: "complete", output: ends.join(", ") }) as never;
  },
};
