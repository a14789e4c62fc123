import { expect, test } from "vitest";
import { shapeRows, testContract } from "../../test/contract-rows.ts";
import * as valid from "../../test/valid-objects.ts";
import {
  AgentRefSchema,
  parsePrincipal,
  PrincipalRefSchema,
  principalId,
  principalKey,
  samePrincipal,
} from "./principal.ts";

testContract("a human", PrincipalRefSchema, shapeRows(valid.human, { required: ["kind", "userId"] }));
testContract("an agent", PrincipalRefSchema, shapeRows(valid.agent, { required: ["kind", "agentId"] }));
testContract("a group", PrincipalRefSchema, shapeRows(valid.group, { required: ["kind", "conversationId"] }));
testContract("a service", PrincipalRefSchema, shapeRows(valid.service, { required: ["kind", "serviceId"] }));

testContract("a principal", PrincipalRefSchema, [
  { name: "with spaces around its id", value: { kind: "human", userId: " alice " } },
  { name: "with an id of white space", value: { kind: "human", userId: "  " }, refusedAt: "/userId" },
  { name: "with an id of 257 characters", value: { kind: "human", userId: "a".repeat(257) }, refusedAt: "/userId" },
  {
    name: "with the id of another kind beside its own",
    value: { ...valid.human, agentId: "a" },
    refusedAt: "/agentId",
  },
  { name: "of an unknown kind", value: { kind: "robot", robotId: "r" }, refusedAt: "/kind" },
  { name: "of a kind in capitals", value: { kind: "Human", userId: "alice" }, refusedAt: "/kind" },
  { name: "that is a string", value: "human:alice", refusedAt: "" },
]);

testContract("the agent of a turn", AgentRefSchema, [
  { name: "that is an agent", value: valid.agent },
  { name: "that is a human under an agent's key", value: { kind: "human", agentId: "assistant" }, refusedAt: "/kind" },
]);

for (const row of [
  { principal: { kind: "human", userId: "alice" }, id: "alice", key: "human:alice" },
  { principal: { kind: "agent", agentId: "assistant" }, id: "assistant", key: "agent:assistant" },
  { principal: { kind: "group", conversationId: "family" }, id: "family", key: "group:family" },
  { principal: { kind: "service", serviceId: "calendar" }, id: "calendar", key: "service:calendar" },
] as const) {
  test(`${row.key} has the id ${row.id} and its kind in its key`, () => {
    expect(principalId(row.principal)).toBe(row.id);
    expect(principalKey(row.principal)).toBe(row.key);
  });
}

const alice = { kind: "human", userId: "alice" } as const;

for (const row of [
  { name: "kind and id are equal", other: { kind: "human", userId: "alice" }, same: true },
  { name: "only the kind is equal", other: { kind: "human", userId: "bob" }, same: false },
  { name: "only the id is equal", other: { kind: "agent", agentId: "alice" }, same: false },
  { name: "the ids differ in case", other: { kind: "human", userId: "Alice" }, same: false },
  { name: "the ids differ in a space", other: { kind: "human", userId: "alice " }, same: false },
] as const) {
  test(`principals are ${row.same ? "the same" : "different"} when ${row.name}`, () => {
    expect(samePrincipal(alice, row.other)).toBe(row.same);
    expect(principalKey(alice) === principalKey(row.other)).toBe(row.same);
  });
}

for (const row of [
  { text: "human:alice", principal: alice },
  { text: "agent:a:b", principal: { kind: "agent", agentId: "a:b" } },
  { text: "group:team", principal: { kind: "group", conversationId: "team" } },
  { text: "service:mail", principal: { kind: "service", serviceId: "mail" } },
]) {
  test(`${row.text} is read as a principal`, () => {
    expect(parsePrincipal(row.text)).toEqual(row.principal);
  });
}

for (const text of ["", "alice", ":alice", "robot:alice", "constructor:alice", "human:", "human: "]) {
  test(`${JSON.stringify(text)} is read as no principal`, () => {
    expect(parsePrincipal(text)).toBeUndefined();
  });
}
