import { expect, test } from "vitest";
import { askedBy, questionIn } from "./question.ts";

const address = "actor=agent:assistant&action=read&resource=files/private/diary.md&purpose=demo";
const ask = (query: string) => askedBy(questionIn(new URLSearchParams(query)), "demo");

test("an address that has all of it is a question", () => {
  expect(ask(address)).toEqual({
    route: "explain",
    input: {
      namespaceId: "demo",
      actor: { kind: "agent", agentId: "assistant" },
      action: "read",
      resource: { namespace: "files", path: ["private", "diary.md"] },
      purpose: "demo",
    },
  });
});

test("authority, owner and instant are sent when they are given", () => {
  const more = `${address}&authority=human:alice&owner=human:bob&at=2026-01-01T12:00:00Z`;
  expect(ask(more)).toMatchObject({
    input: {
      authority: { kind: "human", userId: "alice" },
      owner: { kind: "human", userId: "bob" },
      at: "2026-01-01T12:00:00.000Z",
    },
  });
});

test("a trace is asked about by itself, and whatever else the address has of the act is left out", () => {
  expect(ask(`${address}&traceId=t1`)).toEqual({
    route: "explainDenial",
    input: { namespaceId: "demo", traceId: "t1", actor: { kind: "agent", agentId: "assistant" } },
  });
  expect(ask("traceId=t1")).toEqual({ route: "explainDenial", input: { namespaceId: "demo", traceId: "t1" } });
});

for (const { query, fields } of [
  { query: "", fields: ["actor", "action", "resource", "purpose"] },
  { query: address.replace("agent:assistant", "assistant"), fields: ["actor"] },
  { query: `${address}&owner=unreadable`, fields: ["owner"] },
  { query: `${address}&at=soon`, fields: ["at"] },
  { query: "traceId=t1&actor=x", fields: ["actor"] },
]) {
  test(`"${query}" is no question yet: ${fields.join(", ")}`, () => {
    const asked = ask(query);
    expect(asked.route).toBeUndefined();
    expect("problems" in asked && Object.keys(asked.problems)).toEqual(fields);
  });
}
