import type { LanguageModel, streamText } from "ai";
import { ConfigError } from "../../../shared/index.ts";
import { markChangedArguments } from "./gemini-arguments.ts";
import { createModelFetch } from "./model-fetch.ts";
import type { OutputSchema } from "./output-schema.ts";
import type { ModelConfig, ModelSettings } from "./runtime-config.ts";

/** A model object of the SDK. It is never a bare name, which the SDK would send to a gateway of its makers. */
type Model = Extract<LanguageModel, { specificationVersion: "v3" }>;

/** Settings that only one provider understands. */
export type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]["providerOptions"]>;

/** A model that can be asked. */
export interface OpenModel {
  /** `provider/model`: how metadata names it. Two that are configured may have the same, such as one behind two addresses. */
  name: string;
  /** One for each that is configured: how the journal names it. */
  id: string;
  settings: ModelSettings;
  model: Model;
}

/** The package of each provider, of the release line that fits `ai` 6 and Node 20. */
const packages: Record<ModelSettings["provider"], string> = {
  openai: "@ai-sdk/openai@3",
  anthropic: "@ai-sdk/anthropic@3",
  google: "@ai-sdk/google@3",
  "openai-compatible": "@ai-sdk/openai-compatible@2",
};

/** A model and its place in the configuration. */
export interface ConfiguredModel {
  place: string;
  settings: ModelSettings;
}

/** The model and its fallbacks, in the order in which they are asked. */
export function modelsIn(config: ModelConfig): ConfiguredModel[] {
  const { fallbacks = [] } = config;
  return [
    { place: "runtime", settings: config },
    ...fallbacks.map((settings, index) => ({ place: `runtime.fallbacks.${index}`, settings })),
  ];
}

/** Opens a model. Throws `ConfigError` when its key is not set, or the package of its provider is not installed. */
export async function openModel(
  { place, settings }: ConfiguredModel,
  env: NodeJS.ProcessEnv,
  create: typeof createModel = createModel,
): Promise<OpenModel> {
  const { provider, model } = settings;
  const name = `${provider}/${model}`;
  const id = place === "runtime" ? name : `${name} of ${place}`;
  const apiKey = readApiKey(`${place}.apiKeyEnv`, settings.apiKeyEnv, env);
  try {
    return { name, id, settings, model: await create(settings, apiKey) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new ConfigError(
      `${place}.provider: the package for ${provider} is not installed. Run: npm install ${packages[provider]}`,
      { cause: error },
    );
  }
}

/** The key in the variable of this name, if there is a name. */
function readApiKey(place: string, name: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (name === undefined) return undefined;
  const key = env[name];
  if (key === undefined || key === "") {
    throw new ConfigError(`${place}: the variable ${name} is not set. Put the key of the model there.`);
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new ConfigError(`${place}: the variable ${name} holds something that is no key.`);
}

/**
 * A model object. Only the package of its provider is loaded. The address is always given, so that no variable of the
 * environment can send the key elsewhere.
 */
async function createModel(settings: ModelSettings, apiKey: string | undefined): Promise<Model> {
  const { model, baseUrl: baseURL } = settings;
  const options = { ...(apiKey !== undefined && { apiKey }), baseURL, fetch: createModelFetch(apiKey) };
  switch (settings.provider) {
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI(options);
      return settings.api === "chat" ? openai.chat(model) : openai.responses(model);
    }
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic(options)(model);
    }
    case "google": {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      const fetch: typeof options.fetch = async (input, init) => {
        const { body, status, headers } = await options.fetch(input, init);
        return new Response(body?.pipeThrough(markChangedArguments()) ?? null, { status, headers });
      };
      return createGoogleGenerativeAI({ ...options, fetch })(model);
    }
    case "openai-compatible": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      // Under this name the SDK sends back the marks on calls that Gemini requires. Other providers have none.
      return createOpenAICompatible({ ...options, name: "google", includeUsage: true })(model);
    }
  }
}

/**
 * Nothing is stored at OpenAI: every request carries the whole conversation, and the model's own thoughts are sent back
 * encrypted. The other APIs store nothing.
 */
export function optionsFor(settings: ModelSettings, schema?: Pick<OutputSchema, "isStrict">): ProviderOptions {
  if (settings.provider !== "openai") return {};
  const storage = isResponsesApi(settings) ? { store: false } : {};
  return { openai: { ...storage, ...(schema && { strictJsonSchema: schema.isStrict }) } };
}

/** The Responses API rewrites a tool's schema to be strict unless it is told not to. */
export function isResponsesApi(settings: ModelSettings): boolean {
  return settings.provider === "openai" && settings.api === "responses";
}

/** Whether a result of a tool may contain images. The chat protocol has only text there. */
export function showsImages(settings: ModelSettings): boolean {
  return settings.provider === "anthropic" || settings.provider === "google" || isResponsesApi(settings);
}

/**
 * Whether the provider accepts the schema of the output. Google accepts none beside tools, and compatible servers often none at
 * all: their models are asked in words.
 */
export function takesSchema({ provider }: ModelSettings, hasTools: boolean): boolean {
  return provider === "google" ? !hasTools : provider !== "openai-compatible";
}
