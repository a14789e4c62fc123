import { expect, test } from "vitest";
import { createKernel } from "../../packages/turnpike/src/kernel/index.ts";
import { instant } from "../../packages/turnpike/test/differential/naive-authorizer.ts";
import { seed } from "../../tests/support/seed.ts";
import { cedar, cedarSuite } from "../../tests/trust/cedar.ts";
import { cases } from "../../tests/trust/suite.ts";

test("the kernel and Cedar agree on thousands of decisions", async () => {
  const { counts, findings } = await cedar.run(cases(12, seed));

  expect(findings).toEqual([]);
  expect(counts.decisions).toBeGreaterThan(2500);
  // Worlds that always refuse, or never, would compare nothing.
  expect(counts.allowed / counts.decisions).toBeGreaterThan(0.3);
  expect(counts.allowed / counts.decisions).toBeLessThan(0.6);
  expect(counts["allowed by delegation"]).toBeGreaterThan(100);
});

/** Kernels that decide as ours does, but about another question or other grants than they were given. */
const wrongKernels = [
  {
    name: "takes a name for a place below the name it begins with",
    make: asking((context, { action, resource }) => {
      const path = resource.path.flatMap((segment) => (segment === "ab" ? ["a", "b"] : [segment]));
      return [context, { action, resource: { ...resource, path } }];
    }),
  },
  {
    name: "lets a grant end a microsecond late",
    make: asking((context, request) => [{ ...context, now: aMicrosecondBefore(context.now) }, request]),
  },
  {
    name: "ignores the purpose",
    make: holding((grant) => ({ ...grant, constraints: { ...grant.constraints, purposes: undefined } })),
  },
  {
    name: "does not walk the chain",
    make: holding((grant) => ({ ...grant, parentId: undefined })),
  },
  {
    name: "gives what one owner has to every owner",
    make: holding((grant) => ({ ...grant, capabilities: grant.capabilities.map(ofAnyOwner) })),
  },
];

test.each(wrongKernels)("Cedar finds a kernel that $name, and shows it in a few grants", async ({ make }) => {
  const { findings } = await cedarSuite(make).run(cases(10, seed));

  expect(findings).not.toEqual([]);
  const lines = findings.map(({ what }) => what.split("\n").length);
  // The world, a grant and the one above it, the question, the complaint.
  expect(Math.min(...lines)).toBeLessThanOrEqual(5);
});

function asking(change) {
  return (options) => {
    const kernel = createKernel(options);
    return { ...kernel, authorize: (context, request) => kernel.authorize(...change(context, request)) };
  };
}

function holding(change) {
  return ({ grants, ...options }) =>
    createKernel({
      ...options,
      grants: { ...grants, load: async (scope, signal) => (await grants.load(scope, signal)).map(change) },
    });
}

function ofAnyOwner(capability) {
  return { ...capability, resource: { ...capability.resource, owner: undefined } };
}

function aMicrosecondBefore(text) {
  const before = instant(text) - 1;
  const digits = String(before % 1_000_000).padStart(6, "0");
  return `${new Date(Math.floor(before / 1000)).toISOString().slice(0, 19)}.${digits}Z`;
}
