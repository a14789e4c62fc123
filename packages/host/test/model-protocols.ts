import { anthropic } from "./model-protocol-anthropic.ts";
import { openaiChat } from "./model-protocol-chat.ts";
import { google } from "./model-protocol-google.ts";
import { openaiResponses } from "./model-protocol-responses.ts";
import type { Protocol } from "./model-protocol.ts";

/** A provider by its protocol: OpenAI has two. */
export type Backend = "openai" | "openai-chat" | "anthropic" | "google" | "openai-compatible";

/** The protocol of each, as far as a server needs it: what a request may look like, and a reply. */
export const protocols: Record<Backend, Protocol> = {
  openai: openaiResponses,
  "openai-chat": openaiChat,
  anthropic,
  google,
  "openai-compatible": openaiChat,
};

/** Every provider that can be configured, with each of its APIs. */
export const providers: readonly Backend[] = ["openai", "openai-chat", "anthropic", "google", "openai-compatible"];

/** The providers whose protocol this run tries: `unit` the first one, `protocols` the others, and a run without projects all. */
export const triedProviders: readonly Backend[] = tried(process.env["TEST_PROTOCOLS"]);

function tried(which = "all"): readonly Backend[] {
  if (which === "all") return providers;
  if (which === "first") return providers.slice(0, 1);
  if (which === "others") return providers.slice(1);
  throw new Error("TEST_PROTOCOLS takes first, others or all.");
}
