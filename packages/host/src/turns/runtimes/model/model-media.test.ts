import { expect, test } from "vitest";
import { modelWorldOf } from "../../../../test/model-server.ts";
import { agent, alice, envelopeOf } from "../../../../../turnpike/test/deployment.ts";

test("a kind of file that a provider does not take is refused in our words", async () => {
  const files = [{ mediaType: "video/mp4", data: "AAAA" }];
  const message = envelopeOf({ sender: alice, receiver: agent, payload: { files } });
  const world = await modelWorldOf("openai-chat", []);
  const result = await world.run({ message });
  expect(result).toMatchObject({ status: "failed", error: { code: "model_rejected_request", retryable: false } });
  expect(world.server.requests).toStrictEqual([]);
});
