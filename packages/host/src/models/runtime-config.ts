import { z } from "zod";
import { isLoopback } from "../loopback.ts";

/** The name of a variable, so that what is pasted here by mistake is no key. */
const ApiKeyEnvSchema = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, "expected the name of an environment variable, in capitals")
  .refine(
    (name) => !name.startsWith("TURNPIKE_"),
    "expected a name that does not begin with TURNPIKE_, as settings do",
  );

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
      apiKeyEnv: ApiKeyEnvSchema,
    })
    .refine(isKeySafe, keepsTheKey),
  z
    .strictObject({
      ...common,
      provider: z.literal("anthropic"),
      baseUrl: BaseUrlSchema.default("https://api.anthropic.com/v1"),
      apiKeyEnv: ApiKeyEnvSchema,
    })
    .refine(isKeySafe, keepsTheKey),
  z
    .strictObject({
      ...common,
      provider: z.literal("openai-compatible"),
      baseUrl: BaseUrlSchema,
      apiKeyEnv: ApiKeyEnvSchema.optional(),
    })
    .refine(isKeySafe, keepsTheKey),
]);

export const RuntimeConfigSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("none") }),
  z.strictObject({ kind: z.literal("scripted") }),
  ModelConfigSchema,
]);

/** What thinks inside the host's turns. */
export type RuntimeConfig = z.infer<typeof RuntimeConfigSchema>;

/** A model, and who serves it. */
export type ModelConfig = z.infer<typeof ModelConfigSchema>;

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === "";
}

/** A key travels with every request: beyond this machine only over TLS. */
function isKeySafe({ baseUrl, apiKeyEnv }: { baseUrl: string; apiKeyEnv?: string | undefined }): boolean {
  if (apiKeyEnv === undefined || !isPlainUrl(baseUrl)) return true;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" || isLoopback(hostname);
}
