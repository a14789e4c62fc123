import { describe, expect, test } from "vitest";
import { toolOf, turnWorldOf, typesOf, saidOf } from "../../test/turns.ts";
import { standardRuntime } from "../runtime/index.ts";
import type { TurnResult } from "../contracts/index.ts";
import { scriptedDriver, type ScriptedStep } from "./index.ts";

const read = { type: "tools", calls: [{ tool: "files.read" }] } as const;

function play(steps: readonly ScriptedStep[], tools = [toolOf("files.read")]): Promise<TurnResult> {
  return turnWorldOf(standardRuntime(scriptedDriver(steps)), { tools }).run();
}

describe("a scripted driver", () => {
  test("names itself", async () => {
    expect((await play([])).metadata).toStrictEqual({ runtime: { id: "scripted", version: "1" } });
  });

  const rows: { name: string; steps: ScriptedStep[]; result: object }[] = [
    { name: "an empty script completes with nothing", steps: [], result: { status: "succeeded", output: [] } },
    {
      name: "a decision is taken as it is written",
      steps: [{ type: "complete", output: 7 }],
      result: { status: "succeeded", output: 7 },
    },
    {
      name: "a failure is taken as it is written",
      steps: [{ type: "fail", error: { code: "mine", message: "x" } }],
      result: { status: "failed", error: { code: "mine" } },
    },
    {
      name: "a script that is over completes with the last outputs",
      steps: [read, read],
      result: { status: "succeeded", output: ["call-2-1"] },
    },
    {
      name: "calls that were refused are completed with their codes",
      steps: [{ type: "tools", calls: [{ tool: "files.read" }, { tool: "files.none" }] }],
      result: { status: "succeeded", output: ["call-1-1", { code: "tool_unavailable" }] },
    },
    {
      name: "a step can be worked out from the results before it and from the turn",
      steps: [
        read,
        (results, turn) => ({ type: "complete", output: [...results.map(({ callId }) => callId), turn.executionId] }),
      ],
      result: { status: "succeeded", output: ["call-1-1", "turn-1"] },
    },
    {
      name: "a step that is worked out can be worked out again",
      steps: [() => () => ({ type: "complete", output: "deep" })],
      result: { status: "succeeded", output: "deep" },
    },
    {
      name: "an escalation that is not offered fails",
      steps: [{ type: "escalate", reason: "May I?" }],
      result: { status: "failed" },
    },
  ];
  for (const { name, steps, result } of rows) {
    test(name, async () => {
      expect(await play(steps)).toMatchObject(result);
    });
  }

  test("fills in what a call leaves out, and changes nothing that it says", async () => {
    const tool = toolOf("files.read");
    const own = { tool: "files.read", id: "mine", arguments: { note: "a" }, requestedAt: "2026-01-01T13:00:00Z" };
    await play([{ type: "tools", calls: [{ tool: "files.read" }, own] }], [tool]);
    expect(tool.calls).toStrictEqual([
      { id: "call-1-1", tool: "files.read", arguments: {}, requestedAt: "2026-01-01T12:00:00Z", traceId: "trace-1" },
      { ...own, traceId: "trace-1" },
    ]);
  });

  test("starts over in every turn, also in turns at once", async () => {
    const world = turnWorldOf(standardRuntime(scriptedDriver([read, { type: "complete", output: "done" }])), {
      tools: [toolOf("files.read")],
    });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, place) => world.run({ executionId: `turn-${place}` })),
    );
    expect(new Set(results.map(saidOf))).toStrictEqual(new Set(["succeeded"]));
    for (const result of results)
      expect(typesOf(result)).toStrictEqual(["turn.started", "tool.requested", "tool.completed", "turn.completed"]);
  });
});
