import { expect, test } from "vitest";
import { endedText, remainingId, remainingText } from "./remaining-text.ts";

const [at, until] = ["2026-01-01T12:00:00.000Z", "2026-01-02T00:00:00.000Z"];
const assistant = { kind: "agent", agentId: "assistant" } as const;
const oona = { kind: "human", userId: "oona" } as const;
const turn = { kind: "turn", executionId: "turn-1", actor: assistant, status: "waiting", startedAt: at } as const;

for (const { one, id, text } of [
  {
    one: { kind: "session", id: "s1", createdAt: at, expiresAt: until },
    id: "s1",
    text: `since ${at}, until ${until}`,
  },
  { one: turn, id: "turn-1", text: `waiting, of agent:assistant since ${at}` },
  {
    one: { ...turn, triedBy: { actor: oona, credential: "c1" } },
    id: "turn-1",
    text: `waiting, of agent:assistant since ${at}, tried by human:oona`,
  },
  {
    one: { kind: "approval", escalationId: "q1", expiresAt: until },
    id: "q1",
    text: `waits for another approval until ${until}`,
  },
  { one: { kind: "permit", escalationId: "q1", expiresAt: until }, id: "q1", text: `not used, until ${until}` },
  { one: { kind: "grant", grantId: "g1", subject: oona }, id: "g1", text: "to human:oona" },
  {
    one: { kind: "grant", grantId: "g1", subject: oona, expiresAt: until },
    id: "g1",
    text: `to human:oona, until ${until}`,
  },
] as const) {
  test(`what a credential left behind is told in a few words: ${text}`, () => {
    expect([remainingId(one), remainingText(one)]).toEqual([id, text]);
  });
}

const nothing = { sessions: 0, turns: 0, approvals: 0, permits: 0, grants: 0 };

for (const { ended, text } of [
  { ended: nothing, text: "" },
  { ended: { ...nothing, grants: 1 }, text: "1 grant" },
  {
    ended: { sessions: 1, turns: 2, approvals: 3, permits: 1, grants: 1000 },
    text: "1 session, 2 turns, 3 approvals that waited, 1 unused permit, 1000 grants",
  },
]) {
  test(`what ended is counted: ${text === "" ? "nothing" : text}`, () => {
    expect(endedText(ended)).toBe(text);
  });
}
