import { expect, test } from "vitest";
import { ServiceClientError } from "turnpike/client";
import type { TurnEvent, TurnState } from "turnpike/contracts";
import { eachEvent } from "./turn-follow.ts";

function event(sequence: number, type: TurnEvent["type"], tool?: string): TurnEvent {
  const ids = { version: 1, eventId: `e${sequence}`, executionId: "turn-1", traceId: "t", sequence } as const;
  return { ...ids, type, data: tool === undefined ? {} : { tool }, occurredAt: "2026-01-01T12:00:00Z" };
}

const waiting = { status: "waiting" } as TurnState;

/** Follows a turn whose escalation is answered once it is known to wait, if it ever is; what was shown, in order. */
async function shown(events: readonly TurnEvent[], states: readonly (TurnState | Error)[]): Promise<string[]> {
  const said: string[] = [];
  const answers = [...states];
  let answer: () => void = () => {};
  const client = {
    async *turnEvents() {
      for (const one of events) {
        yield one;
        const isAsking = one.type === "tool.requested" && JSON.stringify(one.data).includes("service.escalate");
        if (isAsking && answers.length > 0) await new Promise<void>((resolve) => (answer = resolve));
      }
    },
    turn() {
      const state = answers.shift();
      return state instanceof Error ? Promise.reject(state) : Promise.resolve(state as TurnState);
    },
  };
  await eachEvent(client, "turn-1", {
    onEvent: ({ type }) => void said.push(type),
    onWaiting({ status }) {
      said.push(status);
      answer();
    },
  });
  return said;
}

const asks = [
  event(0, "turn.started"),
  event(1, "tool.requested", "service.escalate"),
  event(2, "tool.completed", "service.escalate"),
];

test("that a turn waits is shown once, between its escalation and the answer, also when the host was away", async () => {
  const away = new ServiceClientError("No answer.", { status: 0, code: "request_failed" });
  const running = { status: "running" } as TurnState;
  expect(await shown(asks, [away, running, waiting])).toEqual([
    "turn.started",
    "tool.requested",
    "waiting",
    "tool.completed",
  ]);
});

test("an escalation that is answered at once is not waited for, and the command does not ask about other tools", async () => {
  expect(await shown(asks, [])).toEqual(["turn.started", "tool.requested", "tool.completed"]);
  const reads = [event(0, "tool.requested", "files.read"), event(1, "turn.completed")];
  expect(await shown(reads, [waiting])).toEqual(["tool.requested", "turn.completed"]);
});
