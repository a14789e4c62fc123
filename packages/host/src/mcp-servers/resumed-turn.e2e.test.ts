import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { capability, grantOf, callOf } from "../../../turnpike/test/deployment.ts";
import { journalWorld, resumable } from "../../../turnpike/test/journal-turns.ts";
import { runGrant } from "../../../turnpike/test/turns.ts";
import { memoryTurnJournal } from "../../../turnpike/src/testing/index.ts";
import { temporaryFolder } from "../../test/databases.ts";
import { memoryPins } from "../../test/mcp/pins.ts";
import { mcpWorld, testServer } from "../../test/mcp/servers.ts";

const grants = [runGrant, grantOf("echo", { capabilities: [capability("mcp.test", ["echo"], "call")] })];
const context = { enabledToolNamespaces: ["mcp.test"] };

test("a turn that resumes before its server has started again has its tools, and its call waits for the server", async () => {
  const [pins, journal] = [memoryPins(), memoryTurnJournal()];
  let onFirst = (): void => {};
  const first = new Promise<void>((resolve) => (onFirst = resolve));
  const offered: string[][] = [];
  let hasStarted = (): void => {};
  const runtime = resumable(async (turn, host, signal) => {
    offered.push(turn.tools.map(({ name }) => name));
    const echo = (id: string) => host.invokeTool(callOf({ id, tool: "mcp.test.echo", arguments: { words: id } }));
    await echo("one");
    if (offered.length === 1) {
      onFirst();
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    }
    hasStarted();
    const { status } = await echo("two");
    return { type: "complete", output: status };
  });
  const before = mcpWorld({ test: { command: testServer() } }, { pins });
  const began = journalWorld(runtime, { journal, grants, tools: [], toolProviders: before.pool.providers });
  const running = began.run({ context }, { isAsync: true }).catch(() => {});
  await first;
  await before.pool.close();

  const file = join(temporaryFolder(), "started");
  hasStarted = () => writeFileSync(file, "");
  const after = mcpWorld({ test: { command: testServer("--start-after", file) } }, { pins });
  const goesOn = journalWorld(runtime, { journal, grants, tools: [], toolProviders: after.pool.providers });
  const result = await goesOn.resume({ context: { context } });
  expect(result).toMatchObject({ status: "succeeded", output: "succeeded" });
  expect(offered).toEqual([["mcp.test.echo"], ["mcp.test.echo"]]);
  await running;
});
