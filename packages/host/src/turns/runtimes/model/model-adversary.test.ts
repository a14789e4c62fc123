import { describe, expect, test } from "vitest";
import { callsTools, says, modelWorldOf } from "../../../../test/model-server.ts";
import { grantOf, runAgent } from "../../../../../turnpike/test/deployment.ts";
import { dataOf, escalationGrant, saidOf, toolGrant, toolsOf } from "../../../../../turnpike/test/turns.ts";

describe("an id that is used twice", () => {
  test("in one reply runs once, and the provider sees one call", async () => {
    const { write } = toolsOf();
    const calls = [1, 2].map((amount) => ({ id: "same", name: "files_write", arguments: { amount } }));
    const world = await modelWorldOf("anthropic", [callsTools(...calls), says("Done.")], { world: { tools: [write] } });
    const result = await world.run();
    expect(saidOf(result)).toBe("succeeded");
    expect(write.calls).toMatchObject([{ arguments: { amount: 1 } }]);
    expect(dataOf(result, "tool.completed")).toContainEqual({
      callId: "call-1-1",
      tool: "files.write",
      status: "denied",
      code: "duplicate_call_id",
    });
    expect(world.server.requests[1]?.messages.at(-1)?.results).toStrictEqual([{ id: "same", content: "call-1-1" }]);
    expect(world.server.problems).toStrictEqual([]);
  });

  test("in two replies is two calls, as providers that count anew in each reply mean it", async () => {
    const { write } = toolsOf();
    const call = callsTools({ id: "call_0", name: "files_write" });
    const world = await modelWorldOf("openai-compatible", [call, call, says("Done.")], { world: { tools: [write] } });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(write.calls.map(({ id }) => id)).toStrictEqual(["call-1-1", "call-2-1"]);
  });
});

test("a model without any grant but to run is offered nothing, and reaches nothing", async () => {
  const world = await modelWorldOf("openai", [callsTools({ name: "files_read" }), says("Nothing.")], {
    world: { grants: [grantOf("run", { capabilities: [runAgent] })] },
  });
  expect(await world.run()).toMatchObject({ status: "succeeded", output: "Nothing." });
  expect(world.server.requests[0]?.tools).toStrictEqual([]);
  expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
    { content: { status: "denied", error: { code: "tool_unavailable" } } },
  ]);
});

test("a turn without a grant asks no model", async () => {
  const world = await modelWorldOf("openai", [], { world: { grants: [toolGrant, escalationGrant] } });
  expect(await world.run()).toMatchObject({ status: "denied", error: { code: "no_matching_grant" } });
  expect(world.server.requests).toStrictEqual([]);
});

test("hundreds of invented tools in every step end at the last step, not in the machinery", async () => {
  const calls = Array.from({ length: 130 }, (_, place) => ({ id: `id_${place}`, name: `tool_${place}` }));
  const world = await modelWorldOf("openai-compatible", callsTools(...calls));
  const result = await world.run({ options: { maxSteps: 5, maxToolCalls: 10_000 } });
  expect(saidOf(result)).toBe("step_limit_exceeded");
  expect(world.turnErrors).toStrictEqual([]);
  expect(world.server.requests).toHaveLength(5);
  expect(dataOf(result, "tool.requested")).toHaveLength(512);
  // Seconds on a machine of its own, so more than others on a busy one.
}, 120_000);
