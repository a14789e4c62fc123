import { expect, test } from "vitest";
import { z } from "zod";
import { callOf, contextOf, grantOf, needs, noteTool, untyped, worldOf } from "../../test/deployment.ts";
import type { ToolProgress } from "./ports.ts";
import { defineTool } from "./tool.ts";

const grants = [grantOf("grant-1")];

function reporting(...reports: unknown[]): ReturnType<typeof noteTool> {
  return noteTool({
    invoke(_context, { id: callId, tool }, _signal, report) {
      for (const one of reports) report?.(untyped<ToolProgress>(one));
      return Promise.resolve({ status: "succeeded", callId, tool, completedAt: "2026-01-01T12:00:00Z", output: null });
    },
  });
}

test("what a tool reports reaches the caller that waits, in its order, and nothing but progress", async () => {
  const tool = reporting(
    { progress: 1, total: 3, message: "one", token: "secret" },
    { progress: 2, message: "x".repeat(5000) },
    { progress: Number.NaN },
    { progress: 3, total: Infinity },
    { progress: "4" },
    null,
    { progress: 3, message: 7 },
  );
  const seen: ToolProgress[] = [];
  const { kernel } = worldOf({ grants, tools: [tool] });
  const result = await kernel.invokeTool(contextOf(), callOf(), { onProgress: (said) => seen.push(said) });
  expect(result.status).toBe("succeeded");
  expect(seen).toStrictEqual([
    { progress: 1, total: 3, message: "one" },
    { progress: 2, message: "x".repeat(4096) },
    { progress: 3 },
  ]);
});

test("a listener that throws or rejects changes nothing", async () => {
  const { kernel } = worldOf({ grants, tools: [reporting({ progress: 1 }, { progress: 2 })] });
  const thrown = (): never => {
    throw new Error("listener");
  };
  const rejected = (): void => untyped<void>(Promise.reject(new Error("listener")));
  for (const onProgress of [thrown, rejected]) {
    expect((await kernel.invokeTool(contextOf(), callOf(), { onProgress })).status).toBe("succeeded");
  }
});

test("a report that comes after the end reaches no caller", async () => {
  let late: ((progress: ToolProgress) => void) | undefined;
  const tool = noteTool({
    invoke(_context, { id: callId, tool: name }, _signal, report) {
      late = report;
      return Promise.resolve({
        status: "succeeded",
        callId,
        tool: name,
        completedAt: "2026-01-01T12:00:00Z",
        output: null,
      });
    },
  });
  const seen: ToolProgress[] = [];
  const { kernel } = worldOf({ grants, tools: [tool] });
  await kernel.invokeTool(contextOf(), callOf(), { onProgress: (said) => seen.push(said) });
  late?.({ progress: 9 });
  expect(seen).toStrictEqual([]);
});

test("a defined tool reports through its run, also without a listener", async () => {
  const tool = defineTool({
    name: "files.read",
    description: "Reads a note.",
    namespace: "files",
    readWrite: "read",
    input: z.object({ note: z.string() }),
    requires: needs("notes"),
    run(_args, { reportProgress }) {
      reportProgress({ progress: 1 });
      return null;
    },
  });
  const seen: ToolProgress[] = [];
  const { kernel } = worldOf({ grants, tools: [tool] });
  const listened = await kernel.invokeTool(contextOf(), callOf(), { onProgress: (said) => seen.push(said) });
  const alone = await kernel.invokeTool(contextOf(), callOf());
  const directly = await tool.invoke(contextOf(), callOf(), new AbortController().signal);
  expect([listened.status, alone.status, directly.status]).toStrictEqual(["succeeded", "succeeded", "succeeded"]);
  expect(seen).toStrictEqual([{ progress: 1 }]);
});

test("a tool is asked for its progress only when the caller wants to know", async () => {
  const asked: boolean[] = [];
  const tool = noteTool({
    invoke(_context, { id: callId, tool: name }, _signal, report) {
      asked.push(report !== undefined);
      const completedAt = "2026-01-01T12:00:00Z";
      return Promise.resolve({ status: "succeeded", callId, tool: name, completedAt, output: null });
    },
  });
  const { kernel } = worldOf({ grants, tools: [tool] });
  await kernel.invokeTool(contextOf(), callOf(), { onProgress: () => {} });
  await kernel.invokeTool(contextOf(), callOf());
  expect(asked).toStrictEqual([true, false]);
});
