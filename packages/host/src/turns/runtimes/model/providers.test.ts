import { expect, test } from "vitest";
import { configOf, modelKey, providers, settingsOf } from "../../../../test/model-server.ts";
import { ConfigError } from "../../../shared/index.ts";
import type { Backend } from "../../../../test/model-protocols.ts";
import { openModel, type ConfiguredModel } from "./providers.ts";

const env = { MODEL_KEY: modelKey };

function placed(backend: Backend): ConfiguredModel {
  return { place: "runtime.fallbacks.1", settings: configOf(settingsOf(backend, "https://a.b/v1")) };
}

for (const { provider, install } of [
  { provider: "openai", install: "npm install @ai-sdk/openai@3" },
  { provider: "openai-chat", install: "npm install @ai-sdk/openai@3" },
  { provider: "anthropic", install: "npm install @ai-sdk/anthropic@3" },
  { provider: "google", install: "npm install @ai-sdk/google@3" },
  { provider: "openai-compatible", install: "npm install @ai-sdk/openai-compatible@2" },
] as const) {
  test(`without the package for ${provider} nothing starts, and it is said which one to install`, async () => {
    const missing = Object.assign(new Error(`Cannot find package. ${modelKey}`), { code: "ERR_MODULE_NOT_FOUND" });
    const opening = openModel(placed(provider), env, () => Promise.reject(missing));
    await expect(opening).rejects.toThrow(ConfigError);
    await expect(opening).rejects.toThrow(`is not installed. Run: ${install}`);
    await expect(opening).rejects.toThrow("runtime.fallbacks.1.provider: ");
    await expect(opening).rejects.not.toThrow(modelKey);
  });
}

test("another failure of a package is not taken for a missing one", async () => {
  const broken = new SyntaxError("It broke.");
  const opening = openModel(placed("google"), env, () => Promise.reject(broken));
  await expect(opening).rejects.toBe(broken);
});

test("the journal tells models of one name apart by their places, and the first one has its name alone", async () => {
  const fallback = await openModel(placed("openai"), env);
  const first = await openModel({ ...placed("openai"), place: "runtime" }, env);
  expect([first, fallback].map(({ name, id }) => [name, id])).toEqual([
    ["openai/model-1", "openai/model-1"],
    ["openai/model-1", "openai/model-1 of runtime.fallbacks.1"],
  ]);
});

for (const provider of providers) {
  test(`a model of ${provider} is an object of the SDK, never a name for a gateway`, async () => {
    const { model } = await openModel(placed(provider), env);
    expect(model).toMatchObject({ modelId: "model-1", specificationVersion: "v3" });
  });
}
