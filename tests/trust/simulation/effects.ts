import { z } from "zod";
import type { JsonValue } from "turnpike/contracts";
import { defineTool, type ToolHandler } from "turnpike/kernel";
import { standardRuntime, type DriverDecision, type RuntimePlugin } from "turnpike/runtime";
import type { Random } from "../../../packages/turnpike/test/random.ts";
import { items, keyOfCall, type Item, type Model } from "./model.ts";
import type { Scheduler } from "./scheduler.ts";

/** What a turn is to do, step by step. */
export interface TurnPlan {
  steps: readonly ({ calls: readonly PlannedCall[] } | { asks: true })[];
}

export interface PlannedCall {
  tool: string;
  item: Item;
  tag: string;
}

interface EffectParts {
  scheduler: Scheduler;
  random: Random;
  model: Model;
}

const names = Object.keys(items) as [Item, ...Item[]];
const input = z.strictObject({ item: z.enum(names), tag: z.string(), slot: z.string().default("") });
const forever = new Promise<never>(() => {});

/** Described once: that takes longer than a whole world. What they do is given to each host. */
const described = [toolOf("add", "write"), toolOf("put", "write", { idempotent: true }), toolOf("read", "read")];

function toolOf(name: string, readWrite: "read" | "write", annotations = {}): ToolHandler {
  return defineTool({
    name: `effects.${name}`,
    description: "Has an effect that is counted.",
    namespace: "effects",
    readWrite,
    input,
    annotations,
    requires: {
      ceiling: { action: "have", resource: { namespace: "effects", path: [] } },
      of: ({ item }) => ({ action: "have", resource: { namespace: "effects", path: [item] } }),
    },
    run: () => forever,
  });
}

/** Tools whose effects are counted outside the storage. A host that is gone has none any more. */
export function effectTools({ scheduler, random, model }: EffectParts, isGone: () => boolean): ToolHandler[] {
  const invoke: ToolHandler["invoke"] = async (context, { id: callId, tool, arguments: args, traceId }) => {
    const { item, tag, slot } = args as z.output<typeof input>;
    await scheduler.pause("tool");
    // Longer than it takes until another host resumes the turns of a host that cannot be seen.
    if (random.chance(0.05)) await scheduler.wait(random.below(9000));
    if (isGone()) return forever;
    const { namespaceId: tenant, executionId } = context;
    if (tool !== "effects.read") model.effect({ tenant, item, tool, tag, traceId, executionId, callId, slot });
    if (random.chance(0.5)) await scheduler.pause("tool ends");
    if (isGone()) return forever;
    if (random.chance(0.05)) throw new Error("The tool failed when it had had its effect.");
    return { status: "succeeded", callId, tool, completedAt: new Date().toISOString(), output: { item, tag } };
  };
  return described.map((tool) => ({ ...tool, invoke }));
}

/** Decides turns as their messages plan it, and names its calls differently each time that it is asked, as models do. */
export function plannedRuntime({ scheduler, random, model }: EffectParts, isGone: () => boolean): RuntimePlugin {
  return standardRuntime({
    manifest: { id: "planned", version: "1" },
    resumes: () => true,
    isPure: random.chance(0.5),
    open({ executionId, message }) {
      const { steps, tenant } = message.payload as unknown as TurnPlan & { tenant: string };
      let place = 0;
      const decide = (): DriverDecision => {
        const step = steps[place];
        if (step === undefined) return { type: "complete", output: { place } as JsonValue };
        place += 1;
        if ("asks" in step)
          return {
            type: "escalate",
            reason: `${tenant} wants to go on.`,
            requestedAuthority: { capabilities: [later] },
          };
        const calls = step.calls.map(({ tool, item, tag }, index) => {
          const id = `${executionId}-${place}-${index}-${random.below(1_000_000)}`;
          model.sent(keyOfCall(tenant, executionId, id));
          const args = { item, tag, slot: `${place}-${index}` };
          return { id, tool, arguments: args, requestedAt: message.createdAt, traceId: message.traceId };
        });
        return { type: "tools", calls };
      };
      return Promise.resolve({
        memory: () => place,
        recall: (_input: unknown, memory: unknown) => void (place = memory as number),
        async next() {
          await scheduler.pause("driver");
          return isGone() ? forever : decide();
        },
      });
    },
  });
}

/** What turns ask for. */
const later = {
  resource: { namespace: "effects", path: ["later"] },
  actions: ["have"],
  scope: "exact" as const,
};
