import { describe, expect, test } from "vitest";
import { callsTools, modelWorldOf, providers, says, type ModelReply } from "../../../../test/model-server.ts";
import { saidOf, toolsOf } from "../../../../../turnpike/test/turns.ts";
import { markChangedArguments } from "./gemini-arguments.ts";

/** A reply that calls the tool with arguments of exactly this text. */
function calls(provider: (typeof providers)[number], args: string): ModelReply {
  if (provider !== "google") return callsTools({ id: "id_a", name: "files_read", arguments: args });
  const call = `{"functionCall":{"id":"id_a","name":"files_read","args":${args}}}`;
  const event = `{"candidates":[{"content":{"role":"model","parts":[${call}]},"finishReason":"STOP"}]}`;
  return { type: "send", body: `data: ${event}\r\n\r\n` };
}

describe.each(providers)("a call of a model of %s", (provider) => {
  for (const number of ["9007199254740993", "-12345678901234567890", "1e-400", "1e999"]) {
    test(`with ${number} is answered as invalid_tool_arguments, and never reaches the tool`, async () => {
      const { read } = toolsOf();
      const replies = [calls(provider, `{"note":"a","n":[0,${number}]}`), says("Done.")];
      const world = await modelWorldOf(provider, replies, { world: { tools: [read] } });
      expect(saidOf(await world.run())).toBe("succeeded");
      expect(read.calls).toEqual([]);
      expect(JSON.stringify(world.server.requests[1]?.body)).toContain("invalid_tool_arguments");
      expect(world.server.problems).toEqual([]);
    });
  }

  test("with numbers that stay what they are reaches the tool", async () => {
    const { read } = toolsOf();
    const replies = [calls(provider, '{"note":"a","n":[9007199254740991,1e21,-0.5,0e5]}'), says("Done.")];
    const world = await modelWorldOf(provider, replies, { world: { tools: [read] } });
    expect(saidOf(await world.run())).toBe("succeeded");
    expect(read.calls.map((call) => call.arguments)).toEqual([{ note: "a", n: [9007199254740991, 1e21, -0.5, 0] }]);
  });
});

test("the place of the number is told to a model that sends its arguments as a text", async () => {
  const world = await modelWorldOf("anthropic", [calls("anthropic", '{"n":[0,1e-400]}'), says("Done.")]);
  await world.run();
  expect(JSON.stringify(world.server.requests[1]?.body)).toContain(
    "/n/1: expected a number that is not rounded to 0; send it as a string",
  );
});

describe("the events of Gemini", () => {
  const bad = 'data: {"parts":[{"functionCall":{"args":{"n":1e-400}}},{"functionCall":{"args":{"m":1}}}]}\r';
  const good = 'data: {"parts":[{"functionCall":{"args":{"n":"ä 1e-400"}}}]}\r';
  const mark =
    'data: {"parts":[{"functionCall":{"args":{"arguments":9007199254740992}}},{"functionCall":{"args":{"arguments":9007199254740992}}}]}';

  for (const size of [1, 7, 10_000]) {
    test(`are marked where a number would change, and pass as they are otherwise, in chunks of ${size} bytes`, async () => {
      const bytes = Buffer.from(`: a comment\n${good}\n\n${bad}\n\ndata: {"n":1e-400\n\n${good}`);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, place) =>
        bytes.subarray(place * size, (place + 1) * size),
      );
      const source = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk);
          controller.close();
        },
      });
      expect(await new Response(source.pipeThrough(markChangedArguments())).text()).toBe(
        `: a comment\n${good}\n\n${mark}\n\ndata: {"n":1e-400\n\n${good}`,
      );
    });
  }
});
