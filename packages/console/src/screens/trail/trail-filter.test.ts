import type { AuditEvent } from "turnpike/contracts";
import { expect, test } from "vitest";
import { filterOf, matches } from "./trail-filter.ts";

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
  purpose: "demo",
};

for (const { name, filter, fits } of [
  { name: "no filter lets everything through", filter: {}, fits: true },
  { name: "the first moment is part of the span", filter: { from: event.at }, fits: true },
  { name: "the last moment is not", filter: { until: event.at }, fits: false },
  {
    name: "a moment in another time zone is the same moment",
    filter: { from: "2026-11-16T10:00:00+01:00" },
    fits: true,
  },
  { name: "an actor is told by kind and id", filter: { actor: "agent:assistant" }, fits: true },
  { name: "the same id of another kind is another actor", filter: { actor: "human:assistant" }, fits: false },
  { name: "another type does not fit", filter: { type: "message.sent" }, fits: false },
  { name: "another outcome does not fit", filter: { outcome: "allowed" }, fits: false },
  { name: "the outcome fits", filter: { outcome: "denied" }, fits: true },
  { name: "another trace does not fit", filter: { traceId: "t2" }, fits: false },
]) {
  test(name, () => expect(matches(event, filter)).toBe(fits));
}

test("only filters are read from an address, and none that are empty", () => {
  expect(filterOf(new URLSearchParams("actor=agent:x&outcome=&open=0:1"))).toEqual({ actor: "agent:x" });
});
