import { expect, test } from "vitest";
import type { GrantEntry } from "turnpike-host/admin-contract";
import { isWanted, queryOf } from "./grant-filter.ts";

const nothing = { subject: "", resource: "", state: "" };

const entry: GrantEntry = {
  state: "live",
  grant: {
    id: "g",
    namespaceId: "demo",
    subject: { kind: "agent", agentId: "assistant" },
    issuer: { kind: "human", userId: "alice" },
    capabilities: [
      { resource: { namespace: "mail", path: [] }, actions: ["send"], scope: "exact" },
      { resource: { namespace: "files", path: ["notes"] }, actions: ["read"], scope: "exact" },
    ],
    constraints: {},
    issuedAt: "2026-01-01T12:00:00Z",
  },
};

test("the host is asked for whole principals and namespaces, and for nothing that it would refuse", () => {
  expect(queryOf(nothing)).toEqual({});
  expect(queryOf({ subject: "agent:ass", resource: "files/notes", state: "live" })).toEqual({
    subject: "agent:ass",
    resource: "files",
    state: "live",
  });
  expect(queryOf({ ...nothing, subject: "ass" })).toEqual({});
});

for (const { filter, wanted } of [
  { filter: {}, wanted: true },
  { filter: { subject: "assist" }, wanted: true },
  { filter: { subject: "human:" }, wanted: false },
  { filter: { resource: "files/no" }, wanted: true },
  { filter: { resource: "notes" }, wanted: false },
  { filter: { state: "live" }, wanted: true },
  { filter: { state: "revoked" }, wanted: false },
  { filter: { subject: "assist", resource: "files", state: "revoked" }, wanted: false },
]) {
  test(`a grant is ${wanted ? "" : "not "}wanted by ${JSON.stringify(filter)}`, () => {
    expect(isWanted({ ...nothing, ...filter }, entry)).toBe(wanted);
  });
}
