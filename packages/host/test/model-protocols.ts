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
