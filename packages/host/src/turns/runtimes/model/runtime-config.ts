import { z } from "zod";
import { EnvironmentNameSchema, isLoopback } from "../../../shared/index.ts";

const BaseUrlSchema = z.string().refine(isPlainUrl, "expected an http or https URL without user, query or fragment");

const price = z.number().min(0).max(100_000);

/** What a million tokens cost. Cached input costs as much as other input when it has no price of its own. */
const PricesSchema = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, "expected a currency of three capital letters"),
  input: price,
  cachedInput: price.optional(),
  output: price,
});

export type Prices = z.infer<typeof PricesSchema>;

/** The settings of every model, the first one and its fallbacks. */
const ofEveryModel = {
  model: z.string().min(1),
  maxOutputTokens: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  retries: z.int().min(0).max(10).default(2),
  prices: PricesSchema.optional(),
};

const keySafety = {
  path: ["baseUrl"],
  message: "expected https, because the key would cross the network in the clear",
};

const OpenAiSchema = z
  .strictObject({
    ...ofEveryModel,
    provider: z.literal("openai"),
    api: z.enum(["responses", "chat"]).default("responses"),
    baseUrl: BaseUrlSchema.default("https://api.openai.com/v1"),
    apiKeyEnv: EnvironmentNameSchema,
  })
  .refine(isKeySafe, keySafety);

const AnthropicSchema = z
  .strictObject({
    ...ofEveryModel,
    provider: z.literal("anthropic"),
    baseUrl: BaseUrlSchema.default("https://api.anthropic.com/v1"),
    apiKeyEnv: EnvironmentNameSchema,
  })
  .refine(isKeySafe, keySafety);

const GoogleSchema = z
  .strictObject({
    ...ofEveryModel,
    provider: z.literal("google"),
    baseUrl: BaseUrlSchema.default("https://generativelanguage.googleapis.com/v1beta"),
    apiKeyEnv: EnvironmentNameSchema,
  })
  .refine(isKeySafe, keySafety);

const CompatibleSchema = z
  .strictObject({
    ...ofEveryModel,
    provider: z.literal("openai-compatible"),
    baseUrl: BaseUrlSchema,
    apiKeyEnv: EnvironmentNameSchema.optional(),
  })
  .refine(isKeySafe, keySafety);

const ModelSettingsSchema = z.discriminatedUnion("provider", [
  OpenAiSchema,
  AnthropicSchema,
  GoogleSchema,
  CompatibleSchema,
]);

/** The settings for all models of the runtime together. */
const ofTheRuntime = {
  kind: z.literal("model"),
  instructions: z.string().min(1).max(32_768).optional(),
  fallbacks: z.array(ModelSettingsSchema).max(8).optional(),
  tokenBudget: z.int().min(1_000).optional(),
};

const ModelConfigSchema = z.discriminatedUnion("provider", [
  OpenAiSchema.safeExtend(ofTheRuntime),
  AnthropicSchema.safeExtend(ofTheRuntime),
  GoogleSchema.safeExtend(ofTheRuntime),
  CompatibleSchema.safeExtend(ofTheRuntime),
]);

export const RuntimeConfigSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("none") }),
  z.strictObject({ kind: z.literal("scripted") }),
  ModelConfigSchema,
]);

/** The runtime of the host's turns. */
export type RuntimeConfig = z.infer<typeof RuntimeConfigSchema>;

/** A runtime with a model and its fallbacks. */
export type ModelConfig = z.infer<typeof ModelConfigSchema>;

/** One model and its provider. */
export type ModelSettings = z.infer<typeof ModelSettingsSchema>;

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === "";
}

/** A key is sent with every request, so beyond this machine TLS is required. */
function isKeySafe({ baseUrl, apiKeyEnv }: { baseUrl: string; apiKeyEnv?: string | undefined }): boolean {
  if (apiKeyEnv === undefined || !isPlainUrl(baseUrl)) return true;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" || isLoopback(hostname);
}
