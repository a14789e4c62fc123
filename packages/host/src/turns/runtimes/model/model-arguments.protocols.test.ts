import { describe, expect, test } from "vitest";
import { z } from "zod";
import { callsTools, modelWorldOf, says, triedProviders } from "../../../../test/model-server.ts";
import { dataOf, saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";
import { defineTool } from "../../../../../turnpike/src/kernel/index.ts";

describe.each(triedProviders)("arguments of a model of %s", (provider) => {
  const malformed: { name: string; arguments: unknown }[] = [
    { name: "no JSON", arguments: '{"note": "to' },
    { name: "not even text of it", arguments: "today please" },
    { name: "a list", arguments: "[1]" },
    { name: "a number", arguments: "5" },
    { name: "null", arguments: "null" },
    { name: "a text", arguments: '"today"' },
    { name: "nested too deep", arguments: `{"a":${"[".repeat(70)}${"]".repeat(70)}}` },
    { name: "with a key of the prototype", arguments: '{"note":"a","__proto__":{"isAdmin":true}}' },
  ];
  // Google sends arguments as values: one with a key of the prototype spoils the whole event.
  const survivable = malformed.filter(({ name }) => provider !== "google" || !name.includes("prototype"));
  for (const { name, arguments: args } of survivable) {
    test(`that are ${name} reach no tool, cost a step, and the model is told`, async () => {
      const { read } = toolsOf();
      const script = [callsTools({ name: "files_read", arguments: args }), says("I am sorry.")];
      const world = await modelWorldOf(provider, script, { world: { tools: [read] } });
      const result = await world.run({ options: { maxSteps: 2 } });
      expect(result).toMatchObject({ status: "succeeded", output: "I am sorry." });
      expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
        { content: { status: "failed", error: { code: "invalid_tool_arguments", retryable: false } } },
      ]);
      expect(read.calls).toStrictEqual([]);
      expect(dataOf(result, "tool.requested")).toStrictEqual([]);
      expect(world.server.problems).toStrictEqual([]);
    });
  }

  test("that never get better end at the turn's last step", async () => {
    const { read } = toolsOf();
    const script = callsTools({ name: "files_read", arguments: "today please" });
    const world = await modelWorldOf(provider, script, { world: { tools: [read] } });
    expect(saidOf(await world.run({ options: { maxSteps: 3 } }))).toBe("step_limit_exceeded");
    expect(world.server.requests).toHaveLength(3);
  });

  test("that do not fit the tool are refused by the tool, and the model learns what fits", async () => {
    const ran: unknown[] = [];
    const strict = defineTool({
      name: "files.read",
      description: "Reads one note.",
      namespace: "files",
      readWrite: "read",
      input: z.strictObject({ note: z.string() }),
      requires: { action: "read", resource: { namespace: "files", path: ["notes"] } },
      run: ({ note }) => ran.push(note),
    });
    const script = [callsTools({ name: "files_read", arguments: { note: 5, also: true } }), says("I am sorry.")];
    const world = await modelWorldOf(provider, script, { world: { tools: [strict] } });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
      {
        content: {
          status: "failed",
          error: { code: "invalid_tool_arguments", message: "/note: expected string; /also: expected no such key" },
        },
      },
    ]);
    expect(ran).toStrictEqual([]);
  });

  test("that are left out are none", async () => {
    const { read } = toolsOf();
    const world = await modelWorldOf(provider, [callsTools({ name: "files_read", arguments: "" }), says("Done.")], {
      world: { tools: [read] },
    });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(read.calls).toMatchObject([{ arguments: {} }]);
  });

  test("of one call that are broken do not stop the others from reaching the gate", async () => {
    const { read } = toolsOf();
    const script = [
      callsTools(
        { id: "broken", name: "files_read", arguments: "{" },
        { id: "sound", name: "files_read", arguments: { note: "a" } },
      ),
      says("Done."),
    ];
    const world = await modelWorldOf(provider, script, { world: { tools: [read] } });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(world.server.requests[1]?.messages.at(-1)?.results).toMatchObject([
      { id: "broken", content: { status: "failed", error: { code: "invalid_tool_arguments" } } },
      { id: "sound", content: "call-1-2" },
    ]);
    expect(read.calls).toMatchObject([{ id: "call-1-2", arguments: { note: "a" } }]);
    expect(world.server.problems).toStrictEqual([]);
  });
});
