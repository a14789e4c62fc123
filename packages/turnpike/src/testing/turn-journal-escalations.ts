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
  waitingForApproval,
  type Open,
} from "./turn-journal-turns.ts";

const key = keyOf("turn-1");

/** Whether a turn can wait for several people, and no answer is lost. */
export function escalationCases(open: Open): PortCase[] {
  return [
    {
      name: "a turn that waits for several escalations shows the first, and goes on with any answer to one of them",
      async run() {
        const { journal, take, answer: answerTurn } = await open();
        const escalations = [waitingForApproval(2), waiting, waitingForApproval(3)];
        const denial = refusedCall(3);
        const rows: { name: string; callId: string; result?: ToolResult; entries: JournalEntry[] }[] = [
          { name: "an approval of a call", callId: "call-2", entries: [] },
          {
            name: "a denial of a call",
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
        let writer = await begin(journal, turnOf("turn-1"));
        const stored: JournalEntry[] = [];
        for (const { name, callId, result, entries } of rows) {
          await writer.write(escalations, progressOf(1, 1, 3));
          const state = await journal.find(key);
          expectSame(state?.status, "waiting", `the status before ${name}`);
          expectSame(
            state?.escalation?.reason,
            "files.write needs a person's approval (2).",
            `the escalation before ${name}`,
          );
          await answerTurn(key, callId, result);
          expectSame((await journal.find(key))?.status, "running", `the status after ${name}`);
          expectSame((await journal.find(key))?.escalation ?? "none", "none", `the escalation after ${name}`);
          writer = await take(key);
          stored.push(...escalations, ...entries);
          expectSame(writer.stored, stored, `what is stored after ${name}`);
          expectSame(writer.progress.toolCalls, 3, `the calls after ${name}`);
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
          const writer = await begin(journal, turnOf(id));
          const before = [...askedAbout(2), ...askedAbout(3)];
          await writer.write(before, progressOf(1));
          await answerTurn(keyOf(id), "call-2", result);
          const waits = [waitingForApproval(2), waitingForApproval(3)];
          await writer.write(waits, progressOf(1));
          const next = await take(keyOf(id));
          expectSame(next.stored, [...before, ...waits, ...entries], `what is stored of the turn with an early ${id}`);
        }
      },
    },
  ];
}
