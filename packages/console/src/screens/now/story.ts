import type { CredentialRecord } from "turnpike-host/admin-contract";
import type { JsonObject } from "turnpike/contracts";
import { principalText } from "../../shared/words.ts";

/** One part of the demo's story: a turn that the assistant is given. */
export interface StoryPart {
  name: string;
  title: string;
  button: string;
  about: string;
  payload: JsonObject;
}

export const storyAgent = "assistant";

export const story: readonly StoryPart[] = [
  {
    name: "notes",
    title: "1. What is allowed",
    button: "Read the notes",
    about: "It reads notes/todo.md. A grant allows that, and its turn runs through.",
    payload: { read: "notes/todo.md" },
  },
  {
    name: "diary",
    title: "2. What is denied",
    button: "Ask for the diary",
    about: "It reads private/diary.md. No grant allows that: its turn asks, and waits for your answer.",
    payload: { read: "private/diary.md" },
  },
  {
    name: "pay",
    title: "3. What needs an approval",
    button: "Pay Bob 20",
    about: "A grant allows paying with an approval each time: you see exactly what would be paid.",
    payload: { pay: { to: "bob", amount: 20, reference: "The book" } },
  },
];

/** The credential that the assistant acts with: one that still counts. */
export function assistantCredential(
  credentials: readonly CredentialRecord[],
  now: number,
): CredentialRecord | undefined {
  return credentials.find(
    ({ access, revokedAt, expiresAt }) =>
      access.admin !== true &&
      principalText(access.actor) === `agent:${storyAgent}` &&
      revokedAt === undefined &&
      (expiresAt === undefined || Date.parse(expiresAt) > now),
  );
}

/** What a turn of the story came to, in a few words. */
export function endText(output: unknown): string {
  const [first] = Array.isArray(output) ? (output as unknown[]) : [output];
  const content = (first as { content?: unknown } | undefined)?.content;
  const said = typeof content === "string" ? content.trim() : first;
  const text = typeof said === "string" ? said : (JSON.stringify(said) ?? "");
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
