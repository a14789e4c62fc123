import type { JsonObject, JsonValue } from "turnpike/contracts";
import { z } from "zod";

const EntrySchema = z.strictObject({ role: z.enum(["user", "assistant"]), text: z.string().min(1) });
const ConversationSchema = z.array(EntrySchema);

/** One message to the agent or from the agent. Results of tools are not stored. */
export type Entry = z.infer<typeof EntrySchema>;

/** A conversation travels in requests and results, so its beginning is forgotten beyond this size. */
const maxCharacters = 131_072;

/** The earlier conversation in a turn's state; undefined when it is not valid. Other keys of the state are the caller's. */
export function readConversation(state: JsonObject = {}): Entry[] | undefined {
  const conversation = ConversationSchema.safeParse(state["conversation"] ?? []);
  return conversation.success ? recent(conversation.data) : undefined;
}

/** The state to send with the next turn. */
export function stateAfter(state: JsonObject = {}, conversation: readonly Entry[]): JsonObject {
  return { ...state, conversation: recent(conversation.filter(({ text }) => text !== "")) };
}

/** A payload as text for a model. */
export function textOf(payload: JsonValue): string {
  return typeof payload === "string" && payload.trim() !== "" ? payload : JSON.stringify(payload);
}

/** The newest entries that fit. They begin with a message to the agent. */
function recent(conversation: readonly Entry[]): Entry[] {
  let size = 0;
  const fits = conversation.toReversed().map(({ text }) => (size += text.length) <= maxCharacters);
  const first = conversation.length - fits.filter(Boolean).length;
  const start = conversation.findIndex(({ role }, place) => place >= first && role === "user");
  return start === -1 ? [] : conversation.slice(start);
}
