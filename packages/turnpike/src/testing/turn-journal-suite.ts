import type { PrincipalRef } from "../contracts/index.ts";
import { TurnPause, type JournalEntry } from "../runtime/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";
import { escalationCases } from "./turn-journal-escalations.ts";
import { readCases } from "./turn-journal-reads.ts";
import {
  answer,
  at,
  begin,
  beginAndEnd,
  endEntry,
  escalation,
  eventEntries,
  eventOf,
  keyOf,
  noAbort,
  progressOf,
  reasonOf,
  rejectionOf,
  sequencesOf,
  turnOf,
  waiting,
  type Open,
} from "./turn-journal-turns.ts";

const admitted: JournalEntry = {
  kind: "admitted",
  admission: { at: "2026-01-01T12:00:00Z", grantId: "run", grants: ["grant-1"], namespaces: [] },
};

/**
 * Whether a journal stores turns as its port says, also when many write at once.
 *
 * @example
 * import { memoryTurnJournal, turnJournalSuite } from "turnpike/testing";
 *
 * const [first] = turnJournalSuite(async () => {
 *   const journal = memoryTurnJournal();
 *   return { journal, take: journal.take, answer: journal.answer };
 * });
 * await first?.run();
 * console.log(first?.name); // takes an id once, when forty begin the same turn at once
 */
export function turnJournalSuite(open: Open): PortCase[] {
  return [...idCases(open), ...stateCases(open), ...runCases(open), ...escalationCases(open), ...readCases(open)];
}

function idCases(open: Open): PortCase[] {
  return [
    {
      name: "takes an id once, when forty begin the same turn at once",
      async run() {
        const { journal } = await open();
        const begun = await Promise.all(Array.from({ length: 40 }, () => journal.begin(turnOf("turn-1"), {})));
        const known = begun.flatMap((one) => (one.kind === "known" ? [one] : []));
        expectSame(known.length, 39, "those who found the id taken");
        const told = known.map(({ isSame, isAsync, state }) => ({ isSame, isAsync, status: state.status }));
        const expected = known.map(() => ({ isSame: true, isAsync: true, status: "running" }));
        expectSame(told, expected, "what they were told");
      },
    },
    {
      name: "a turn is the same when the request and who asks are, whenever its message was written",
      async run() {
        const { journal } = await open();
        const { request } = turnOf("turn-1");
        await begin(journal, turnOf("turn-1", { isAsync: false }));
        const bob: PrincipalRef = { kind: "human", userId: "bob" };
        for (const { name, turn, isSame } of [
          {
            name: "the same, written later, asked for in another trace",
            turn: turnOf("turn-1", {
              request: { message: { ...request.message, createdAt: at(5) } },
              context: { now: at(5), traceId: "trace-2" },
            }),
            isSame: true,
          },
          {
            name: "another message",
            turn: turnOf("turn-1", { request: { message: { ...request.message, payload: "other" } } }),
            isSame: false,
          },
          { name: "other options", turn: turnOf("turn-1", { request: { options: { maxSteps: 2 } } }), isSame: false },
          { name: "another authority", turn: turnOf("turn-1", { context: { authority: bob } }), isSame: false },
          { name: "another owner", turn: turnOf("turn-1", { context: { owner: bob } }), isSame: false },
          { name: "another purpose", turn: turnOf("turn-1", { context: { purpose: "other" } }), isSame: false },
        ]) {
          const known = await journal.begin(turn, {});
          const told = known.kind === "known" ? { isSame: known.isSame, isAsync: known.isAsync } : known.kind;
          expectSame(told, { isSame, isAsync: false }, name);
        }
      },
    },
    {
      name: "a turn that was refused before it was admitted leaves its id free, and no other does",
      async run() {
        const { journal } = await open();
        const refusal = endEntry("refused", "denied", "no_matching_grant");
        await beginAndEnd(journal, turnOf("refused"), refusal);
        expectSame((await journal.find(keyOf("refused")))?.status, "denied", "the state until it is begun again");
        const again = await begin(journal, turnOf("refused", { request: { metadata: { attempt: 2 } } }));
        expectSame(again.stored, [], "what is stored of the turn that was begun again");
        expectSame((await journal.find(keyOf("refused")))?.status, "running", "its state");

        for (const { id, entries } of [
          { id: "admitted", entries: [admitted, endEntry("admitted", "denied", "no_matching_grant")] },
          { id: "revoked", entries: [endEntry("revoked", "denied", "credential_revoked")] },
          { id: "failed", entries: [endEntry("failed", "failed", "audit_unavailable")] },
          { id: "succeeded", entries: [endEntry("succeeded", "succeeded")] },
        ]) {
          await (await begin(journal, turnOf(id))).write(entries, progressOf(9));
          expectSame((await journal.begin(turnOf(id), {})).kind, "known", `a turn that ended otherwise (${id})`);
        }
      },
    },
    {
      name: "separates actors and tenants",
      async run() {
        const { journal } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        await writer.write([...eventEntries("turn-1", 0, 2)], progressOf(1));
        for (const { name, key } of [
          { name: "another tenant", key: keyOf("turn-1", { namespaceId: "tenant-2" }) },
          { name: "another actor", key: keyOf("turn-1", { actor: { kind: "agent", agentId: "other" } }) },
          { name: "a namesake", key: keyOf("turn-1", { actor: { kind: "service", serviceId: "assistant" } }) },
          { name: "another id", key: keyOf("turn-2") },
        ]) {
          expectSame((await journal.find(key)) ?? "nothing", "nothing", `the state for ${name}`);
          expectSame(await journal.events(key, -1), [], `the events for ${name}`);
          expectSame(await sequencesOf(journal.follow(key, -1, noAbort())), [], `the events that ${name} follows`);
          expectSame((await journal.cancel(key)) ?? "nothing", "nothing", `the state when ${name} cancels`);
          const isOwner = name === "another id";
          expectSame((await journal.list(key, { limit: 10 })).turns.length, isOwner ? 1 : 0, `the list of ${name}`);
        }
        expectSame(writer.stop.aborted, false, "whether the turn was stopped by another actor");
        await begin(journal, turnOf("turn-1", { context: { namespaceId: "tenant-2" } }));
        await begin(journal, turnOf("turn-1", { context: { actor: { kind: "agent", agentId: "other" } } }));
        expectSame((await journal.events(keyOf("turn-1"), -1)).length, 2, "the events after others took the same id");
      },
    },
  ];
}

function stateCases(open: Open): PortCase[] {
  const agent = { kind: "agent", agentId: "assistant" };
  const common = { version: 1, executionId: "turn-1", traceId: "trace-1", agent, startedAt: at(0) };
  return [
    {
      name: "a state says where the turn is: it runs, it waits with its escalation, it has ended with its result",
      async run() {
        const { journal, answer: answerTurn } = await open();
        const key = keyOf("turn-1");
        const writer = await begin(journal, turnOf("turn-1"));
        const running = { ...common, status: "running", updatedAt: at(0), steps: 0, toolCalls: 0 };
        expectSame(await journal.find(key), running, "the state of a turn that has begun");

        await writer.write([...eventEntries("turn-1", 0, 1), waiting], progressOf(1, 2, 1));
        const waits = { ...running, status: "waiting", updatedAt: at(1), steps: 2, toolCalls: 1, escalation };
        expectSame(await journal.find(key), waits, "the state of a turn that waits");

        await answerTurn(key, "call-1", answer);
        expectSame((await journal.find(key))?.status, "running", "the status of a turn that was answered");
        expectSame(
          (await journal.find(key))?.escalation ?? "none",
          "none",
          "the escalation of a turn that was answered",
        );
      },
    },
    {
      name: "the state of an ended turn has its result, with all its events",
      async run() {
        const { journal } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        await writer.write(eventEntries("turn-1", 0, 2), progressOf(1));
        await writer.write([waiting, endEntry("turn-1", "succeeded")], progressOf(9, 3, 2));
        const times = { startedAt: at(0), completedAt: at(9) };
        const events = [eventOf("turn-1", 0), eventOf("turn-1", 1)];
        const ids = { version: 1, executionId: "turn-1", traceId: "trace-1" };
        const result = { ...ids, ...times, events, status: "succeeded", output: "done" };
        const state = { ...common, ...times, status: "succeeded", updatedAt: at(9), steps: 3, toolCalls: 2, result };
        expectSame(await journal.find(keyOf("turn-1")), state, "the state");
        const known = await journal.begin(turnOf("turn-1"), {});
        expectSame(known.kind === "known" && known.state, state, "the state that who begins it again is told");
      },
    },
    {
      name: "cancelling stops the run, and every later run, and changes no turn that has ended",
      async run() {
        const { journal, take } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        expectSame((await journal.cancel(keyOf("turn-1")))?.status, "running", "the state when it was cancelled");
        expectSame((await reasonOf(writer.stop)) instanceof TurnPause, false, "whether the run is only paused");
        const next = await take(keyOf("turn-1"));
        expectSame((await reasonOf(next.stop)) instanceof TurnPause, false, "whether the next run is only paused");
        await next.write([endEntry("turn-1", "failed", "runtime_failed")], progressOf(9));
        const ended = await journal.find(keyOf("turn-1"));
        expectSame(await journal.cancel(keyOf("turn-1")), ended, "the state of an ended turn that is cancelled");
      },
    },
  ];
}

function runCases(open: Open): PortCase[] {
  return [
    {
      name: "a new run gets all that was stored, in its order, and how far the turn had come",
      async run() {
        const { journal, take, answer: answerTurn } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        expectSame(writer.stored, [], "what is stored of a turn that begins");
        expectSame(writer.turn, turnOf("turn-1"), "the turn that the writer is for");
        const call = { id: "call-0", tool: "files.read", arguments: {}, requestedAt: at(0), traceId: "trace-1" };
        const entries: JournalEntry[] = [
          admitted,
          ...eventEntries("turn-1", 0, 1),
          { kind: "step", name: "decision 1", value: { list: [1, null, { ä: "\n" }] } },
          { kind: "call", call, step: 1, repeatable: true },
          ...eventEntries("turn-1", 1, 2),
          { kind: "result", callId: "call-0", result: { ...answer, callId: "call-0" } },
          waiting,
        ];
        await writer.write(entries.slice(0, 3), progressOf(1, 1));
        await writer.write(entries.slice(3), progressOf(2, 1, 1));
        await answerTurn(keyOf("turn-1"), "call-1", answer);
        const next = await take(keyOf("turn-1"));
        const answered: JournalEntry = { kind: "answered", callId: "call-1", result: answer };
        expectSame(next.stored, [...entries, answered], "what is stored");
        expectSame(next.turn, turnOf("turn-1"), "the turn");
        const { steps, toolCalls, ranMs } = next.progress;
        expectSame({ steps, toolCalls, ranMs }, { steps: 1, toolCalls: 1, ranMs: 2000 }, "the progress");
      },
    },
    {
      name: "a run that lost its turn is told to pause, and writes nothing any more",
      async run() {
        const { journal, take } = await open();
        const first = await begin(journal, turnOf("turn-1"));
        await first.write(eventEntries("turn-1", 0, 1), progressOf(1));
        const second = await take(keyOf("turn-1"));
        const lost = await rejectionOf(first.write(eventEntries("turn-1", 1, 2), progressOf(2)));
        expectSame(lost instanceof TurnPause, true, "whether its write is refused with a pause");
        expectSame((await reasonOf(first.stop)) instanceof TurnPause, true, "whether it is told to pause");
        await second.write(eventEntries("turn-1", 1, 3), progressOf(3));
        const lostEnd = await rejectionOf(first.write([endEntry("turn-1", "succeeded")], progressOf(9)));
        expectSame(lostEnd instanceof TurnPause, true, "whether its end is refused with a pause");
        expectSame((await journal.find(keyOf("turn-1")))?.status, "running", "the state");
        expectSame((await journal.events(keyOf("turn-1"), -1)).length, 3, "the stored events");
      },
    },
    {
      name: "nothing is written behind the end",
      async run() {
        const { journal } = await open();
        const writer = await begin(journal, turnOf("turn-1"));
        await writer.write([...eventEntries("turn-1", 0, 1), endEntry("turn-1", "succeeded")], progressOf(9));
        const late = await rejectionOf(writer.write(eventEntries("turn-1", 1, 2), progressOf(10)));
        expectSame(late === undefined, false, "whether a write behind the end is refused");
        expectSame((await journal.events(keyOf("turn-1"), -1)).length, 1, "the stored events");
      },
    },
  ];
}
