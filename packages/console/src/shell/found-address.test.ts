import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

test("each kind that is found leads to its screen", async () => {
  vi.stubGlobal("location", { origin: "http://host.test", pathname: "/console/acme/now", search: "" });
  vi.stubGlobal("addEventListener", () => {});
  const { foundAddress } = await import("./found-address.ts");
  const actor = { kind: "agent", agentId: "a/b" } as const;
  expect(
    [
      { kind: "principal", id: "agent:a" } as const,
      { kind: "grant", id: "g/1" } as const,
      { kind: "turn", id: "t1", actor } as const,
      { kind: "escalation", id: "q1" } as const,
      { kind: "credential", id: "c1" } as const,
      { kind: "tool", id: "files.read" } as const,
      { kind: "resource", id: "files/notes" } as const,
      { kind: "trace", id: "trace 1" } as const,
    ].map(foundAddress),
  ).toEqual([
    "/console/acme/grants/reach?actor=agent%3Aa",
    "/console/acme/grants/g%2F1",
    "/console/acme/turns/t1?of=agent%3Aa%2Fb",
    "/console/acme/questions/q1",
    "/console/acme/access/c1",
    "/console/acme/trail?tool=files.read",
    "/console/acme/grants/who?resource=files%2Fnotes",
    "/console/acme/trail/trace/trace%201",
  ]);
});
