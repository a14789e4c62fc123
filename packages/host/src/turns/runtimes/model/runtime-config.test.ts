import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/databases.ts";
import { ConfigError } from "../../../shared/config.ts";
import { loadConfig, withoutSecrets } from "../../../compose/config.ts";
import { openRuntimes } from "../open-runtime.ts";
import type { RuntimeConfig } from "./runtime-config.ts";

function load(runtime: unknown, env: NodeJS.ProcessEnv = {}): RuntimeConfig {
  const file = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(file, JSON.stringify({ runtime }));
  return loadConfig({ file, env, flags: {} }).runtime;
}

const openai = { kind: "model", provider: "openai", model: "model-1", apiKeyEnv: "MODEL_KEY" };
const anthropic = { ...openai, provider: "anthropic" };
const compatible = {
  kind: "model",
  provider: "openai-compatible",
  model: "model-1",
  baseUrl: "http://models.internal:8000/v1",
};
const withoutKind = ({ kind: _kind, ...settings }: { kind: string }): object => settings;
const key = "sk-hidden-0123456789";

describe("a runtime is taken as it is written:", () => {
  const rows: { name: string; runtime: unknown; taken: object }[] = [
    { name: "none", runtime: undefined, taken: { kind: "none" } },
    { name: "the scripted one", runtime: { kind: "scripted" }, taken: { kind: "scripted" } },
    { name: "openai", runtime: openai, taken: { ...openai, api: "responses", baseUrl: "https://api.openai.com/v1" } },
    { name: "anthropic", runtime: anthropic, taken: { ...anthropic, baseUrl: "https://api.anthropic.com/v1" } },
    { name: "the chat API of openai", runtime: { ...openai, api: "chat" }, taken: { api: "chat" } },
    {
      name: "google",
      runtime: { ...openai, provider: "google" },
      taken: { provider: "google", baseUrl: "https://generativelanguage.googleapis.com/v1beta" },
    },
    { name: "a server without a key", runtime: compatible, taken: compatible },
    {
      name: "a server with a key, over TLS",
      runtime: { ...compatible, apiKeyEnv: "KEY", baseUrl: "https://models.example/v1" },
      taken: { apiKeyEnv: "KEY" },
    },
    {
      name: "a server with a key, on this machine",
      runtime: { ...openai, baseUrl: "http://127.0.0.1:8080/v1" },
      taken: { baseUrl: "http://127.0.0.1:8080/v1" },
    },
    {
      name: "models that replace it",
      runtime: { ...openai, retries: 0, fallbacks: [anthropic, { ...compatible, retries: 5 }].map(withoutKind) },
      taken: {
        retries: 0,
        fallbacks: [
          { provider: "anthropic", apiKeyEnv: "MODEL_KEY", baseUrl: "https://api.anthropic.com/v1", retries: 2 },
          { provider: "openai-compatible", retries: 5 },
        ],
      },
    },
    {
      name: "prices and a budget",
      runtime: { ...openai, prices: { currency: "USD", input: 0.25, output: 2 }, tokenBudget: 50_000 },
      taken: { prices: { currency: "USD", input: 0.25, output: 2 }, tokenBudget: 50_000 },
    },
    {
      name: "the rest",
      runtime: { ...openai, instructions: "Be brief.", maxOutputTokens: 500, temperature: 0.2 },
      taken: { instructions: "Be brief.", maxOutputTokens: 500, temperature: 0.2 },
    },
  ];
  for (const { name, runtime, taken } of rows) {
    test(name, () => {
      expect(load(runtime)).toMatchObject(taken);
    });
  }

  test("from the environment alone", () => {
    const env = {
      TURNPIKE_RUNTIME_KIND: "model",
      TURNPIKE_RUNTIME_PROVIDER: "anthropic",
      TURNPIKE_RUNTIME_MODEL: "5",
      TURNPIKE_RUNTIME_API_KEY_ENV: "MODEL_KEY",
      TURNPIKE_RUNTIME_TEMPERATURE: "0.25",
      TURNPIKE_RUNTIME_MAX_OUTPUT_TOKENS: "100",
    };
    const taken = { provider: "anthropic", model: "5", temperature: 0.25, maxOutputTokens: 100 };
    expect(load(undefined, env)).toMatchObject(taken);
  });
});

describe("a mistake is named, and what was written is not repeated:", () => {
  const rows: { name: string; runtime: unknown; says: string }[] = [
    {
      name: "another kind",
      runtime: { kind: key },
      says: 'runtime.kind: found a text, expected "none" or "scripted" or "model".',
    },
    {
      name: "another provider",
      runtime: { ...openai, provider: key },
      says: 'runtime.provider: found a text, expected "openai" or "anthropic" or "google" or "openai-compatible".',
    },
    {
      name: "no model",
      runtime: { ...openai, model: undefined },
      says: "runtime.model: found nothing, expected a text.",
    },
    {
      name: "no variable",
      runtime: { ...openai, apiKeyEnv: undefined },
      says: "runtime.apiKeyEnv: found nothing, expected a text.",
    },
    { name: "no address", runtime: { ...compatible, baseUrl: undefined }, says: "runtime.baseUrl: found nothing" },
    {
      name: "the key where its variable's name belongs",
      runtime: { ...openai, apiKeyEnv: key },
      says: "runtime.apiKeyEnv: found a text, expected the name of an environment variable, in capitals.",
    },
    {
      name: "the key as a key",
      runtime: { ...openai, apiKey: key },
      says: "runtime.apiKey: there is no such key.",
    },
    {
      name: "a variable that the host would refuse",
      runtime: { ...openai, apiKeyEnv: "TURNPIKE_MODEL_KEY" },
      says: "runtime.apiKeyEnv: found a text, expected a name that does not begin with TURNPIKE_, as settings do.",
    },
    {
      name: "a key across the network in the clear",
      runtime: { ...compatible, apiKeyEnv: "MODEL_KEY" },
      says: "runtime.baseUrl: found a text, expected https, because the key would cross the network in the clear.",
    },
    { name: "the same to openai", runtime: { ...openai, baseUrl: "http://10.0.0.1/v1" }, says: "expected https" },
    {
      name: "an address that only looks local",
      runtime: { ...openai, baseUrl: "http://127.0.0.1.example.com/v1" },
      says: "expected https",
    },
    {
      name: "an address with a user",
      runtime: { ...compatible, baseUrl: `https://${key}@a.b/v1` },
      says: "without user",
    },
    {
      name: "an address with a query",
      runtime: { ...compatible, baseUrl: `https://a.b/v1?key=${key}` },
      says: "query",
    },
    { name: "no address at all", runtime: { ...compatible, baseUrl: "models" }, says: "expected an http or https URL" },
    { name: "another scheme", runtime: { ...compatible, baseUrl: "file:///etc/passwd" }, says: "http or https" },
    { name: "a scheme like it", runtime: { ...compatible, baseUrl: "shttp://a.b/v1" }, says: "http or https" },
    {
      name: "the key of a fallback across the network in the clear",
      runtime: { ...openai, fallbacks: [{ ...withoutKind(compatible), apiKeyEnv: "MODEL_KEY" }] },
      says: "runtime.fallbacks.0.baseUrl: found a text, expected https",
    },
    {
      name: "the key of a fallback where its variable's name belongs",
      runtime: { ...openai, fallbacks: [{ ...withoutKind(anthropic), apiKeyEnv: key }] },
      says: "runtime.fallbacks.0.apiKeyEnv: found a text",
    },
    {
      name: "a fallback of a fallback",
      runtime: { ...openai, fallbacks: [{ ...withoutKind(anthropic), fallbacks: [] }] },
      says: "runtime.fallbacks.0.fallbacks: there is no such key.",
    },
    {
      name: "a price without a currency",
      runtime: { ...openai, prices: { input: 1, output: 2 } },
      says: "runtime.prices.currency: found nothing",
    },
    ...["dollars USD", "USD dollars"].map((currency) => ({
      name: `a currency such as ${currency}`,
      runtime: { ...openai, prices: { currency, input: 1, output: 2 } },
      says: "runtime.prices.currency: found a text, expected a currency of three capital letters",
    })),
    {
      name: "a price below nothing",
      runtime: { ...openai, prices: { currency: "USD", input: -1, output: 2 } },
      says: "runtime.prices.input",
    },
    { name: "a budget for nothing", runtime: { ...openai, tokenBudget: 10 }, says: "runtime.tokenBudget" },
    { name: "too many retries", runtime: { ...openai, retries: 11 }, says: "runtime.retries" },
    { name: "another API", runtime: { ...openai, api: key }, says: "runtime.api: found a text" },
    {
      name: "an API of another provider",
      runtime: { ...anthropic, api: "chat" },
      says: "runtime.api: found something that does not go with the other settings there",
    },
    { name: "a temperature too high", runtime: { ...openai, temperature: 3 }, says: "runtime.temperature" },
    { name: "half a token", runtime: { ...openai, maxOutputTokens: 0.5 }, says: "runtime.maxOutputTokens" },
    { name: "a model's setting without a model", runtime: { kind: "none", model: "m" }, says: "runtime.model: found" },
    { name: "a word", runtime: key, says: "runtime: found a text, expected an object" },
  ];
  for (const { name, runtime, says } of rows) {
    test(name, () => {
      expect(() => load(runtime)).toThrow(ConfigError);
      expect(() => load(runtime)).toThrow(says);
      expect(() => load(runtime)).not.toThrow("hidden");
    });
  }
});

describe("the key comes from the variable that is named,", () => {
  const baseUrl = "https://api.openai.com/v1";
  const config = {
    kind: "model",
    provider: "openai",
    api: "responses",
    model: "model-1",
    apiKeyEnv: "MODEL_KEY",
    baseUrl,
    retries: 2,
  } as const;

  for (const { name, env, says } of [
    { name: "and when it is not set nothing starts", env: {}, says: "the variable MODEL_KEY is not set" },
    { name: "and an empty one is not set", env: { MODEL_KEY: "" }, says: "the variable MODEL_KEY is not set" },
    { name: "and one with a line break is no key", env: { MODEL_KEY: `${key}\nx` }, says: "MODEL_KEY holds something" },
    { name: "and one with a space is no key", env: { MODEL_KEY: `${key} x` }, says: "MODEL_KEY holds something" },
    { name: "and no other is read", env: { OPENAI_API_KEY: key }, says: "the variable MODEL_KEY is not set" },
  ]) {
    test(name, async () => {
      await expect(openRuntimes(config, env)).rejects.toThrow(ConfigError);
      await expect(openRuntimes(config, env)).rejects.toThrow(says);
      await expect(openRuntimes(config, env)).rejects.not.toThrow("hidden");
    });
  }

  test("and a fallback has a variable of its own", async () => {
    const fallback = { ...config, provider: "anthropic", apiKeyEnv: "OTHER_KEY" } as const;
    const { kind: _kind, api: _api, ...settings } = fallback;
    const opening = openRuntimes({ ...config, fallbacks: [settings] }, { MODEL_KEY: key });
    await expect(opening).rejects.toThrow("runtime.fallbacks.0.apiKeyEnv: the variable OTHER_KEY is not set.");
  });

  test("and is nowhere in what the runtime shows of itself", async () => {
    const runtimes = await openRuntimes(config, { MODEL_KEY: key });
    const manifest = { id: "model", version: "1" };
    expect(runtimes).toMatchObject({ runtime: { manifest }, runtimeOfVerifiedSenders: { manifest } });
    expect(JSON.stringify(runtimes)).not.toContain("hidden");
  });

  test("and the configuration that may be shown names the variable alone", () => {
    const flags = Object.fromEntries(Object.entries(config).map(([name, value]) => [`runtime.${name}`, String(value)]));
    const shown = withoutSecrets(loadConfig({ file: undefined, env: { MODEL_KEY: key }, flags }));
    expect(shown.runtime).toEqual(config);
    expect(JSON.stringify(shown)).not.toContain("hidden");
  });
});
