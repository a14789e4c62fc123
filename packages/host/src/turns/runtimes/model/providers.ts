import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import { createModelFetch } from "./model-fetch.ts";
import type { ModelConfig } from "./runtime-config.ts";

/** A model object of the SDK. It is never a bare name, which the SDK would send to a gateway of its makers. */
export type Model = Exclude<LanguageModel, string>;

/** The configured model. The address is always given, so that no variable of the environment can send the key elsewhere. */
export function openModel(config: ModelConfig, apiKey: string | undefined): Model {
  const { model, baseUrl: baseURL } = config;
  const key = apiKey === undefined ? {} : { apiKey };
  const fetch = createModelFetch(apiKey);
  switch (config.provider) {
    case "openai":
      // The chat API stores nothing at the provider. Every request carries the whole conversation.
      return createOpenAI({ ...key, baseURL, fetch }).chat(model);
    case "anthropic":
      return createAnthropic({ ...key, baseURL, fetch })(model);
    case "openai-compatible":
      // Under this name the SDK sends back the marks on calls that Gemini requires. Other providers have none.
      return createOpenAICompatible({ ...key, baseURL, fetch, name: "google", includeUsage: true })(model);
  }
}
