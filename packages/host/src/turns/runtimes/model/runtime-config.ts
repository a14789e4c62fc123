import { z } from "zod";
import { EnvironmentNameSchema, isLoopback } from "../../../base/index.ts";

const BaseUrlSchema = z.string().refine(isPlainUrl, "expected an http or https URL without user, query or fragment");

const common = {
  kind: z.literal("model"),
  model: z.string().min(1),
  instructions: z.string().min(1).max(32_768).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
};

const keepsTheKey = {
  path: ["baseUrl"],
  message: "expected https, because the key would cross the network in the clear",
};

const ModelConfigSchema = z.discriminatedUnion("provider", [
  z
    .strictObject({
      ...common,
      provider: z.literal("openai"),
      baseUrl: BaseUrlSchema.default("https://api.openai.com/v1"),
      apiKeyEnv: EnvironmentNameSchema,
    })
    .refine(isKeySafe, keepsTheKey),
  z
    .strictObject({
      ...common,
      provider: z.literal("anthropic"),
      baseUrl: BaseUrlSchema.default("https://api.anthropic.com/v1"),
      apiKeyEnv: EnvironmentNameSchema,
    })
    .refine(isKeySafe, keepsTheKey),
  z
    .strictObject({
      ...common,
      provider: z.literal("openai-compatible"),
      baseUrl: BaseUrlSchema,
      apiKeyEnv: EnvironmentNameSchema.optional(),
    })
    .refine(isKeySafe, keepsTheKey),
]);

export const RuntimeConfigSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("none") }),
  z.strictObject({ kind: z.literal("scripted") }),
  ModelConfigSchema,
]);

/** The runtime of the host's turns. */
export type RuntimeConfig = z.infer<typeof RuntimeConfigSchema>;

/** A model and its provider. */
export type ModelConfig = z.infer<typeof ModelConfigSchema>;

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
