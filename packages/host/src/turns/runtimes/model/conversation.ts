import type { JsonObject, JsonValue } from "turnpike/contracts";
import { z } from "zod";

const EntrySchema = z.strictObject({ role: z.enum(["user", "assistant"]), text: z.string().min(1) });
const ConversationSchema = z.array(EntrySchema);

/** One thing that was said, by whoever wrote to the agent or by the agent. What tools returned is not kept. */
export type Entry = z.infer<typeof EntrySchema>;

/** A conversation goes back and forth in requests, so it forgets its beginning. */
const maxCharacters = 131_072;

/** The earlier conversation that a turn's state holds, undefined when what it holds is none. Other keys are the caller's. */
export function readConversation(state: JsonObject = {}): Entry[] | undefined {
  const conversation = ConversationSchema.safeParse(state["conversation"] ?? []);
  return conversation.success ? recent(conversation.data) : undefined;
}

/** The state to send with the next turn. */
export function stateAfter(state: JsonObject = {}, conversation: readonly Entry[]): JsonObject {
  return { ...state, conversation: recent(conversation.filter(({ text }) => text !== "")) };
}

/** What a payload says to a model. */
export function textOf(payload: JsonValue): string {
  return typeof payload === "string" && payload.trim() !== "" ? payload : JSON.stringify(payload);
}

/** The newest entries that fit, from something that was said to the agent on. */
function recent(conversation: readonly Entry[]): Entry[] {
  let size = 0;
  const fits = conversation.toReversed().map(({ text }) => (size += text.length) <= maxCharacters);
  const first = conversation.length - fits.filter(Boolean).length;
  const start = conversation.findIndex(({ role }, place) => place >= first && role === "user");
  return start === -1 ? [] : conversation.slice(start);
}
