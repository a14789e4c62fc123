import { describe, expect, test } from "vitest";
import { deferred, fails, grantOf, later, portSecret, refusingAudit, runAgent } from "../../test/deployment.ts";
import {
  escalateTool,
  calling,
  callsInTurn,
  completed,
  escalationGrant,
  runGrant,
  saidOf,
  ticks,
  toolGrant,
  toolOf,
  toolsOf,
  turnWorldOf,
  typesOf,
} from "../../test/turns.ts";
import { AuditEventSchema, type AuditEvent, type Grant } from "../contracts/index.ts";
import type { RuntimeOutcome } from "./plugin.ts";

function auditLog(events: readonly AuditEvent[]): string[] {
  return events.map(({ type, outcome, reason }) => [type, outcome, ...(reason ? [reason] : [])].join(" "));
}

test("the end of a turn is in the audit log at the instant of its end", async () => {
  const world = turnWorldOf(() => {
    world.time.now = later;
    return Promise.resolve(completed());
  });
  await world.run();
  expect(world.events.at(-1)).toMatchObject({ type: "turn.ended", at: later });
});

describe("the audit log of a turn", () => {
  const start = ["authorization.checked allowed", "turn.started allowed"];

  const rows: {
    name: string;
    outcome: RuntimeOutcome | "throws";
    grants?: Grant[];
    calls?: string[];
    auditLog: string[];
  }[] = [
    { name: "succeeded", outcome: completed(), auditLog: [...start, "turn.ended succeeded"] },
    {
      name: "failed",
      outcome: { type: "fail", error: { code: "mine", message: "x" } },
      auditLog: [...start, "turn.ended failed mine"],
    },
    { name: "failed by throwing", outcome: "throws", auditLog: [...start, "turn.ended failed runtime_failed"] },
    {
      name: "escalated",
      outcome: { type: "escalate", reason: "May I?" },
      auditLog: [...start, "authorization.checked allowed", "escalation.requested escalated", "turn.ended escalated"],
    },
    {
      name: "failed because no escalation was offered",
      outcome: { type: "escalate", reason: "May I?" },
      grants: [runGrant, toolGrant],
      auditLog: [...start, "turn.ended failed tool_unavailable"],
    },
    {
      name: "denied",
      outcome: completed(),
      grants: [],
      auditLog: ["authorization.checked denied no_matching_grant", "turn.ended denied no_matching_grant"],
    },
    {
      name: "succeeded after calls, refused ones included",
      outcome: completed(),
      calls: ["files.read", "files.none"],
      auditLog: [
        ...start,
        "authorization.checked allowed",
        "tool.invoked succeeded",
        "tool.invoked denied tool_unavailable",
        "turn.ended succeeded",
      ],
    },
  ];
  for (const { name, outcome, grants, calls = [], auditLog: expected } of rows) {
    test(`of one that ${name}`, async () => {
      const world = turnWorldOf(async (_turn, host) => {
        for (const [place, tool] of calls.entries()) await host.invokeTool(calling(`call-${place}`, tool));
        if (outcome === "throws") throw new Error(portSecret);
        return outcome;
      }, grants && { grants });
      await world.run();
      expect(auditLog(world.events)).toStrictEqual(expected);
      for (const event of world.events) {
        expect(AuditEventSchema.safeParse(event)).toMatchObject({ success: true });
        expect(event).toMatchObject({ executionId: "turn-1", traceId: "trace-1", namespaceId: "demo" });
      }
    });
  }

  test("holds no payload, argument, output or reason of an escalation", async () => {
    const world = turnWorldOf(async (_turn, host) => {
      await host.invokeTool({ ...calling("call-1"), arguments: { note: "marker-argument" } });
      host.emit({ type: "marker-emit", data: "marker-data" });
      return { type: "escalate", reason: "marker-reason", metadata: { note: "marker-metadata" } };
    });
    const { events, ...result } = await world.run({ state: { note: "marker-state" } });
    expect(JSON.stringify([events, result])).toContain("marker");
    expect(JSON.stringify(world.events)).not.toContain("marker");
  });

  const outages: {
    name: string;
    refuses: (event: AuditEvent) => boolean;
    run?: RuntimeOutcome;
    types: string[];
    calls: number;
    code?: string;
  }[] = [
    { name: "the decision to admit", refuses: ({ action }) => action === "invoke", types: ["turn.failed"], calls: 0 },
    { name: "the start", refuses: ({ type }) => type === "turn.started", types: ["turn.failed"], calls: 0 },
    {
      name: "the decision on a call",
      refuses: ({ type, tool }) => type === "authorization.checked" && tool !== undefined,
      types: ["turn.started", "tool.requested", "tool.completed", "turn.failed"],
      calls: 0,
    },
    {
      name: "the decision to escalate",
      refuses: ({ action }) => action === "request",
      types: ["turn.started", "tool.requested", "tool.completed", "turn.failed"],
      calls: 1,
    },
    {
      name: "the escalation",
      refuses: ({ type }) => type === "escalation.requested",
      types: ["turn.started", "tool.requested", "tool.completed", "turn.failed"],
      calls: 1,
    },
    {
      name: "everything",
      refuses: () => true,
      types: ["turn.failed"],
      calls: 0,
    },
    {
      name: "the outcome of a call, which is recorded after its effect",
      refuses: ({ type }) => type === "tool.invoked",
      types: ["turn.started", "tool.requested", "tool.completed", "turn.escalated"],
      calls: 1,
      code: "escalated",
    },
    {
      name: "the end, which is recorded after everything",
      refuses: ({ type }) => type === "turn.ended",
      types: ["turn.started", "tool.requested", "tool.completed", "turn.escalated"],
      calls: 1,
      code: "escalated",
    },
  ];
  for (const { name, refuses, types, calls, code = "audit_unavailable" } of outages) {
    test(`a sink that refuses ${name}: ${code}`, async () => {
      const read = toolOf("files.read");
      const audit = refusingAudit(refuses);
      const world = turnWorldOf(
        async (_turn, host) => {
          await host.invokeTool(calling("call-1"));
          return { type: "escalate", reason: "May I?" };
        },
        { tools: [read, escalateTool], audit, grants: [runGrant, toolGrant, escalationGrant] },
      );
      const result = await world.run();
      expect(saidOf(result)).toBe(code);
      expect(result.status).toBe(code === "escalated" ? "escalated" : "failed");
      expect(typesOf(result)).toStrictEqual(types);
      expect(read.calls).toHaveLength(calls);
      expect(JSON.stringify(result)).not.toContain(portSecret);
      expect(world.auditErrors.length).toBeGreaterThan(0);
    });
  }

  test("after a decision that could not be recorded the plugin gets nothing done, even if it continues", async () => {
    const { read, write, put } = toolsOf();
    const audit = refusingAudit(({ type, tool }) => type === "authorization.checked" && tool === "files.read");
    const world = turnWorldOf(
      async (_turn, host) => {
        await host.invokeTool(calling("call-1"));
        for (const tool of ["files.write", "files.put"]) await host.invokeTool(calling(tool, tool));
        return completed();
      },
      { tools: [read, write, put], audit },
    );
    expect(await world.run()).toMatchObject({
      status: "failed",
      error: { code: "audit_unavailable", retryable: true },
    });
    expect([read, write, put].flatMap((tool) => tool.calls)).toStrictEqual([]);
  });

  test("a plugin that completes while the outcome of an unrecorded decision is still being recorded has failed", async () => {
    const read = toolOf("files.read");
    const gate = deferred<void>();
    const audit = {
      record({ type, tool }: AuditEvent): Promise<void> {
        if (type === "authorization.checked" && tool !== undefined) return fails();
        return type === "tool.invoked" ? gate.promise : Promise.resolve();
      },
    };
    const world = turnWorldOf(
      async (_turn, host) => {
        void host.invokeTool(calling("call-1"));
        await ticks(100);
        return completed();
      },
      { tools: [read], audit },
    );
    expect(await world.run()).toMatchObject({ status: "failed", error: { code: "audit_unavailable" } });
    expect(read.calls).toStrictEqual([]);
    gate.resolve();
  });

  test("a tool that fails with the code audit_unavailable is a tool that failed, not an outage", async () => {
    const own = toolOf("files.read", {
      result: ({ id, tool }) => ({
        status: "failed",
        callId: id,
        tool,
        completedAt: later,
        error: { code: "audit_unavailable", message: "A remote service has lost its own audit log." },
      }),
    });
    const world = turnWorldOf(callsInTurn(calling("call-1")), { tools: [own] });
    expect(await world.run()).toMatchObject({ status: "succeeded", output: ["audit_unavailable"] });
  });

  test("admission is counted even when its grant is bounded and the audit log then refuses the start", async () => {
    const bounded = grantOf("run", { capabilities: [runAgent], constraints: { maxUses: 1 } });
    const world = turnWorldOf(() => Promise.resolve(completed()), {
      grants: [bounded],
      audit: refusingAudit(({ type }) => type === "turn.started"),
    });
    expect(saidOf(await world.run())).toBe("audit_unavailable");
    expect(await world.usage.used("demo", "run")).toBe(1);
  });
});
