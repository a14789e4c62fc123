import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { samePrincipal, type AccessContext, type AuthorizationRequest, type Grant } from "../src/contracts/index.ts";
import { createKernel, type GrantSource, type HostPolicy, type UsageStore } from "../src/kernel/index.ts";
import { memoryPermits } from "../src/testing/index.ts";

/** A decision as data: everything that it depends on, and how it comes out. `conformance/README.md` describes the fields. */
interface Case {
  shows: string;
  context: AccessContext;
  grants: Grant[];
  used?: Record<string, number>;
  host?: {
    policy?: "keeps" | "refuses" | "fails";
    usage?: "fails" | "absent";
    grants?: "fail";
    parents?: "fail";
  };
  request: AuthorizationRequest;
  expected: { allowed: boolean; reasonCode: string; matchedGrantId?: string };
}

interface CaseFile {
  format: string;
  rule: string;
  /** What the contexts of its cases have in common. */
  context: Partial<AccessContext>;
  cases: (Omit<Case, "context"> & { context?: Partial<AccessContext> })[];
}

const folder = new URL("../../../conformance/decisions/", import.meta.url);
const files = readdirSync(folder)
  .toSorted()
  .map((name) => {
    const { context, cases, ...file } = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as CaseFile;
    return {
      name,
      ...file,
      cases: cases.map((one) => ({ ...one, context: { ...context, ...one.context } }) as Case),
    };
  });

function fail(): never {
  throw new Error("out of order");
}

function grantsOf({ grants, host }: Case): GrantSource {
  return {
    load: ({ namespaceId, actor, authority }) =>
      host?.grants === "fail"
        ? fail()
        : Promise.resolve(
            grants.filter(
              (grant) =>
                grant.namespaceId === namespaceId &&
                samePrincipal(grant.subject, actor) &&
                (authority === undefined || samePrincipal(grant.issuer, authority)),
            ),
          ),
    find: (namespaceId, id) =>
      host?.parents === "fail"
        ? fail()
        : Promise.resolve(grants.find((grant) => grant.namespaceId === namespaceId && grant.id === id)),
  };
}

function usageOf({ used = {}, host }: Case): { usage?: UsageStore } {
  if (host?.usage === "absent") return {};
  const count = (id: string): number => (host?.usage === "fails" ? fail() : (used[id] ?? 0));
  return {
    usage: {
      used: (_namespaceId, id) => Promise.resolve(count(id)),
      consume: (_namespaceId, id, max) => Promise.resolve(count(id) < max),
    },
  };
}

function policyOf({ host }: Case): { policy?: HostPolicy } {
  if (host?.policy === undefined) return {};
  const { policy } = host;
  return { policy: { narrow: () => (policy === "fails" ? fail() : policy === "refuses" ? {} : undefined) } };
}

for (const { name, rule, format, cases } of files) {
  describe(`${name}: ${rule}`, () => {
    test("is of the format that is described", () => {
      expect(format).toBe("turnpike-decisions/2");
    });
    for (const one of cases)
      test(one.shows, async () => {
        const kernel = createKernel({
          grants: grantsOf(one),
          ...usageOf(one),
          ...policyOf(one),
          permits: memoryPermits(),
          audit: "none",
          tools: [],
        });
        const { allowed, reasonCode, matchedGrantId } = await kernel.authorize(one.context, one.request);
        expect({ allowed, reasonCode, ...(matchedGrantId !== undefined && { matchedGrantId }) }).toEqual(one.expected);
      });
  });
}

test("there are hundreds of them, and a third to two thirds are allowed", () => {
  const all = files.flatMap(({ cases }) => cases);
  const allowed = all.filter(({ expected }) => expected.allowed).length / all.length;
  expect(all.length).toBeGreaterThanOrEqual(300);
  expect(allowed).toBeGreaterThan(0.3);
  expect(allowed).toBeLessThan(0.6);
});
