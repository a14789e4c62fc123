import type { AuditEvent } from "turnpike/contracts";
import { expect, test } from "vitest";
import { eventFits, type EventFilter } from "./event-filter.ts";

const event: AuditEvent = {
  id: "e1",
  version: 1,
  type: "tool.invoked",
  outcome: "denied",
  at: "2026-11-16T09:00:00.000Z",
  traceId: "t1",
  namespaceId: "demo",
  actor: { kind: "agent", agentId: "assistant" },
  owner: { kind: "human", userId: "alice" },
  receiver: { kind: "group", conversationId: "team" },
  purpose: "demo",
  action: "read",
  resource: { namespace: "files", path: ["notes", "todo.md"], owner: { kind: "human", userId: "Zoë" } },
  tool: "files.read",
  grantId: "g1",
  reason: "no_matching_grant",
  metadata: { parentId: "g0", escalation: "q7" },
};

const rows: { name: string; filter: EventFilter; fits: boolean }[] = [
  { name: "no filter lets everything through", filter: {}, fits: true },
  { name: "the first instant is part of the span", filter: { from: event.at }, fits: true },
  { name: "the last instant is not", filter: { until: event.at }, fits: false },
  { name: "another time zone can name the same instant", filter: { from: "2026-11-16T10:00:00+01:00" }, fits: true },
  { name: "an actor is told by kind and id", filter: { actor: "agent:assistant" }, fits: true },
  { name: "the same id of another kind is another actor", filter: { actor: "human:assistant" }, fits: false },
  { name: "another type does not fit", filter: { type: "message.sent" }, fits: false },
  { name: "the outcome fits", filter: { outcome: "denied" }, fits: true },
  { name: "another outcome does not fit", filter: { outcome: "allowed" }, fits: false },
  { name: "another trace does not fit", filter: { traceId: "t2" }, fits: false },
  { name: "a place fits", filter: { resource: "files/notes/todo.md" }, fits: true },
  { name: "a place covers what is below it", filter: { resource: "files/notes" }, fits: true },
  { name: "a namespace covers all of its places", filter: { resource: "files/" }, fits: true },
  { name: "half of a name is another place", filter: { resource: "files/note" }, fits: false },
  { name: "a place does not cover what is above it", filter: { resource: "files/notes/todo.md/a" }, fits: false },
  { name: "what is no place covers nothing", filter: { resource: "files//notes" }, fits: false },
  { name: "the tool fits", filter: { tool: "files.read" }, fits: true },
  { name: "half of a tool's name does not", filter: { tool: "files" }, fits: false },
  { name: "the grant fits", filter: { grant: "g1" }, fits: true },
  { name: "the grant that it was derived from fits", filter: { grant: "g0" }, fits: true },
  { name: "another grant does not", filter: { grant: "g" }, fits: false },
  { name: "the reason fits", filter: { reason: "no_matching_grant" }, fits: true },
  { name: "another reason does not", filter: { reason: "grant_exhausted" }, fits: false },
  { name: "a text is found in a path as it is shown", filter: { text: "NOTES/todo" }, fits: true },
  { name: "a text is found in a name as it is shown", filter: { text: "group:team" }, fits: true },
  { name: "a text is found in what else was recorded", filter: { text: '"escalation":"Q7"' }, fits: true },
  { name: "a letter is the same however it is composed", filter: { text: "human:ZOE\u0308" }, fits: true },
  { name: "a text does not go from one value into another", filter: { text: "files.readno_matching" }, fits: false },
  { name: "a text that is nowhere does not fit", filter: { text: "payments" }, fits: false },
  { name: "filters hold together", filter: { text: "payments", tool: "files.read" }, fits: false },
];

for (const { name, filter, fits } of rows) {
  test(name, () => expect(eventFits(event, filter)).toBe(fits));
}

test("an event about nothing fits no place, tool, grant and reason", () => {
  const { resource: _resource, tool: _tool, grantId: _grant, reason: _reason, metadata: _more, ...bare } = event;
  for (const filter of [{ resource: "files" }, { tool: "files.read" }, { grant: "g1" }, { reason: "x" }])
    expect(eventFits(bare, filter)).toBe(false);
});
