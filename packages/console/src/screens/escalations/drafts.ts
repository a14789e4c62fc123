import { signal } from "@preact/signals";
import { type AnswerDraft, firstDraft } from "./answer-draft.ts";

/** The answers that the operator began, by escalation. They are still there when the operator comes back to the screen. */
const drafts = signal<ReadonlyMap<string, AnswerDraft>>(new Map());

export function draftOf(id: string): AnswerDraft {
  return drafts.value.get(id) ?? firstDraft;
}

export function changeDraft(id: string, changes: Partial<AnswerDraft>): void {
  drafts.value = new Map(drafts.value).set(id, { ...draftOf(id), ...changes });
}
