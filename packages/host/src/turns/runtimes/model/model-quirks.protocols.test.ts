import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, says, triedProviders } from "../../../../test/model-server.ts";
import { saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";

describe.each(triedProviders)("a model of %s that ends its reply with an unknown reason", (provider) => {
  // A reply of the Responses API has a reason only when it is not complete.
  const isIncomplete = provider === "openai";

  test("has ended it, if it said something and does not call it incomplete", async () => {
    const world = await modelWorldOf(provider, [{ ...says("Hello."), finish: "unknown" }]);
    expect(saidOf(await world.run())).toBe(isIncomplete ? "model_output_truncated" : "succeeded");
  });

  test("has not ended it, if it said nothing", async () => {
    const world = await modelWorldOf(provider, [{ ...says(), finish: "unknown" }]);
    expect(saidOf(await world.run())).toBe(isIncomplete ? "model_output_truncated" : "model_response_invalid");
  });
});

describe.each(triedProviders)("several calls of a model of %s in one reply", (provider) => {
  test("all reach the gate, with their own arguments, and are all answered", async () => {
    const { read } = toolsOf();
    const calls = ["a", "b", "c"].map((note) => ({ id: `id_${note}`, name: "files_read", arguments: { note } }));
    const world = await modelWorldOf(provider, [callsTools(...calls), says("Done.")], { world: { tools: [read] } });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(read.calls.map((call) => call.arguments["note"])).toStrictEqual(["a", "b", "c"]);
    expect(world.server.requests[1]?.messages.at(-1)?.results?.map(({ id }) => id)).toStrictEqual([
      "id_a",
      "id_b",
      "id_c",
    ]);
    expect(world.server.problems).toStrictEqual([]);
  });
});
