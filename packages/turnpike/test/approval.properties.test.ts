import { expect, test } from "vitest";
import { z } from "zod";
import type { AccessContext, Grant, JsonObject, PrincipalRef, ToolResult } from "../src/contracts/index.ts";
import { createKernel, defineTool } from "../src/kernel/index.ts";
import { memoryGrants, memoryPermits } from "../src/testing/index.ts";
import { createRandom, type Random } from "./random.ts";
import { timesOf } from "../../../tests/support/size.ts";

const now = "2026-01-01T12:00:00Z";
const people: readonly [PrincipalRef, PrincipalRef] = [
  { kind: "human", userId: "x" },
  { kind: "agent", agentId: "x" },
];

/** One of two, mostly the first: so equal acts are frequent. */
function mostly<T>(random: Random, [usual, other]: readonly [T, T]): T {
  return random.chance(0.8) ? usual : other;
}

/** Everything that an approval is bound to. */
function drawAct(random: Random): { context: AccessContext; tool: string; args: JsonObject } {
  const context: AccessContext = {
    namespaceId: mostly(random, ["home", "work"]),
    actor: mostly(random, people),
    authority: mostly(random, people),
    owner: mostly(random, people),
    purpose: mostly(random, ["help", "helper"]),
    enabledToolNamespaces: ["bank"],
    now,
    traceId: random.pick(["trace-1", "trace-2"]),
  };
  const to = random.pick<JsonObject>([{ to: "a" }, { to: "b" }]);
  const amount = random.pick<JsonObject>([{ amount: 1 }, { amount: 10 }, { amount: "1" }, {}]);
  const args = random.chance(0.5) ? { ...to, ...amount } : { ...amount, ...to };
  return { context, tool: mostly(random, ["bank.pay", "bank.lend"]), args };
}

/** What has to be equal, written down once more: nothing here is the kernel's. */
function contentOf({ context, tool, args }: ReturnType<typeof drawAct>): string {
  const { namespaceId, actor, authority, owner, purpose } = context;
  return JSON.stringify([namespaceId, actor, authority, owner, purpose, tool, args["to"], args["amount"] ?? null]);
}

const grants: Grant[] = ["home", "work"].flatMap((namespaceId) =>
  people.flatMap((subject, one) =>
    people.map((issuer, other): Grant => {
      const resource = { namespace: "bank", path: [] };
      return {
        id: `grant-${one}-${other}`,
        namespaceId,
        subject,
        issuer,
        capabilities: [{ resource, actions: ["pay", "lend"], scope: "descendants", approval: "each" }],
        constraints: {},
        issuedAt: "2026-01-01T00:00:00Z",
      };
    }),
  ),
);

test("of random acts those of equal content, and no others, share an escalation, an approval and a denial", async () => {
  const seen = { new: 0, asked: 0, approved: 0, denied: 0 };
  const seeds = timesOf(20, 1_000);
  for (let seed = 1; seed <= seeds; seed += 1) {
    const random = createRandom(seed);
    const permits = memoryPermits({ maxOpen: 10_000 });
    const ran: string[] = [];
    const tools = ["pay", "lend"].map((action) =>
      defineTool({
        name: `bank.${action}`,
        description: "Moves money.",
        namespace: "bank",
        readWrite: "write",
        input: z.strictObject({ to: z.string(), amount: z.union([z.number(), z.string()]).optional() }),
        requires: { action, resource: { namespace: "bank", path: [] } },
        run(args, { context, call }) {
          ran.push(contentOf({ context, tool: call.tool, args: call.arguments }));
          return args.to;
        },
      }),
    );
    const kernel = createKernel({ grants: memoryGrants(grants), permits, tools, audit: "none" });
    /** The approval of each content; absent when no person was asked. */
    const said = new Map<string, { state: "asked" | "approved" | "denied"; escalation: string }>();
    const [actual, expected]: [unknown[], unknown[]] = [[], []];
    for (let step = 0; step < 80; step += 1) {
      const act = drawAct(random);
      const content = contentOf(act);
      const known = said.get(content);
      const { tool, args, context } = act;
      const call = { id: `call-${step}`, tool, arguments: args, requestedAt: now, traceId: context.traceId };
      const result: ToolResult = await kernel.invokeTool(context, call);
      const asked = known?.escalation ?? permits.asked.at(-1)?.id ?? "";
      actual.push([step, result.status === "succeeded" ? ran.at(-1) : result.error.code, escalationIn(result)]);
      expected.push([step, ...outcomeOf(known?.state, content, asked)]);
      if (known === undefined) said.set(content, { state: "asked", escalation: asked });
      if (known?.state === "approved") said.delete(content);
      seen[known?.state ?? "new"] += 1;
      const answered = random.pickFrom([...said].filter(([, { state }]) => state === "asked"));
      if (answered === undefined || random.chance(0.5)) continue;
      const [about, { escalation }] = answered;
      const isApproved = random.chance(0.7);
      if (isApproved) permits.approve(escalation, { by: "human:carol", at: now });
      else permits.deny(escalation, { at: now });
      said.set(about, { escalation, state: isApproved ? "approved" : "denied" });
    }
    expect({ seed, steps: actual }).toEqual({ seed, steps: expected });
  }
  // A world in which nothing ever meets would show nothing.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(seeds);
});

/** What comes of an act, by what was said about its content. */
function outcomeOf(state: "asked" | "approved" | "denied" | undefined, content: string, escalation: string): unknown[] {
  if (state === "approved") return [content, undefined];
  return state === "denied" ? ["approval_denied", undefined] : ["approval_required", escalation];
}

function escalationIn(result: ToolResult): unknown {
  return result.status === "succeeded" ? undefined : result.error.details?.["escalationId"];
}
