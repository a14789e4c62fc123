import type { ToolResult } from "../contracts/index.ts";
import type { JournalEntry } from "../runtime/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";
import {
  answer,
  askedAbout,
  begin,
  keyOf,
  progressOf,
  refusedCall,
  turnOf,
  waiting,
  waitingForYes,
  type Open,
} from "./turn-journal-turns.ts";

const key = keyOf("turn-1");

/** Whether a turn can wait for several people, and no answer is lost. */
export function questionCases(open: Open): PortCase[] {
  return [
    {
      name: "a turn that waits for several questions shows the first, and goes on with any answer to one of them",
      async run() {
        const { journal, take, answer: answerTurn } = await open();
        const questions = [waitingForYes(2), waiting, waitingForYes(3)];
        const denial = refusedCall(3);
        const rows: { name: string; callId: string; result?: ToolResult; entries: JournalEntry[] }[] = [
          { name: "a yes to a call", callId: "call-2", entries: [] },
          {
            name: "a no to a call",
            callId: "call-3",
            result: denial,
            entries: [{ kind: "result", callId: "call-3", result: denial }],
          },
          {
            name: "the answer to a call that asks",
            callId: "call-1",
            result: answer,
            entries: [{ kind: "answered", callId: "call-1", result: answer }],
          },
        ];
        let pen = await begin(journal, turnOf("turn-1"));
        const kept: JournalEntry[] = [];
        for (const { name, callId, result, entries } of rows) {
          await pen.write(questions, progressOf(1, 1, 3));
          const state = await journal.find(key);
          expectSame(state?.status, "waiting", `the status before ${name}`);
          expectSame(state?.escalation?.reason, "files.write needs a person's yes (2).", `the question before ${name}`);
          await answerTurn(key, callId, result);
          expectSame((await journal.find(key))?.status, "running", `the status after ${name}`);
          expectSame((await journal.find(key))?.escalation ?? "none", "none", `the question after ${name}`);
          pen = await take(key);
          kept.push(...questions, ...entries);
          expectSame(pen.kept, kept, `what is kept after ${name}`);
          expectSame(pen.progress.toolCalls, 3, `the calls after ${name}`);
        }
      },
    },
    {
      name: "an answer that comes after the asking and before the waiting is not lost",
      async run() {
        const { journal, take, answer: answerTurn } = await open();
        for (const { id, result, entries } of [
          { id: "yes", result: undefined, entries: [] },
          { id: "no", result: refusedCall(2), entries: [{ kind: "result", callId: "call-2", result: refusedCall(2) }] },
        ] as { id: string; result: ToolResult | undefined; entries: JournalEntry[] }[]) {
          const pen = await begin(journal, turnOf(id));
          const before = [...askedAbout(2), ...askedAbout(3)];
          await pen.write(before, progressOf(1));
          await answerTurn(keyOf(id), "call-2", result);
          const waits = [waitingForYes(2), waitingForYes(3)];
          await pen.write(waits, progressOf(1));
          const next = await take(keyOf(id));
          expectSame(next.kept, [...before, ...waits, ...entries], `what is kept of the turn with an early ${id}`);
        }
      },
    },
  ];
}
