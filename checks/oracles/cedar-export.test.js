import { expect, test } from "vitest";
import { cedarOf } from "../../packages/host/src/cedar/index.ts";
import { seed } from "../../tests/support/seed.ts";
import { timesOf } from "../../tests/support/size.ts";
import { cedarExport, cedarExportSuite } from "../../tests/trust/cedar-export.ts";
import { cases } from "../../tests/trust/suite.ts";
import { decideBySchema, openExport } from "./cedar.js";

// 100,000 requests with `TEST_SIZE=large`.
const timeout = timesOf(300_000, 3_600_000);
test("Cedar decides by an export as the kernel does, and validates each one", { timeout }, async () => {
  const { counts, findings } = await cedarExport.run(cases(timesOf(60, 2000), seed));

  expect(findings).toEqual([]);
  expect(counts.decisions).toBe(timesOf(3000, 100_000));
  // Worlds that always refuse, or never, would compare nothing.
  expect(counts.allowed / counts.decisions).toBeGreaterThan(0.2);
  expect(counts.allowed / counts.decisions).toBeLessThan(0.6);
  expect(counts["allowed by delegation"]).toBeGreaterThan(30);
});

const policiesOf = (change) => (grants) => {
  const exported = cedarOf(grants);
  return { ...exported, policies: change(exported.policies) };
};

/** Exports that say other things than the grants. */
const wrongExports = [
  { name: "forgets owners", exportGrants: policiesOf((text) => text.replaceAll(/^ {2}context\.owner .*\n/gm, "")) },
  {
    name: "forgets authorities",
    exportGrants: policiesOf((text) => text.replaceAll(/^ {2}context\.authority .* &&\n/gm, "")),
  },
  { name: "forgets purposes", exportGrants: policiesOf((text) => text.replaceAll(/^ {2}\[.*\n/gm, "")) },
  {
    name: "lets grants end late",
    exportGrants: policiesOf((text) => text.replaceAll("context.now < ", "context.now <= ")),
  },
  {
    name: "lets grants begin late",
    exportGrants: policiesOf((text) => text.replaceAll("context.now >= ", "context.now > ")),
  },
  {
    name: "takes exact places for prefixes",
    exportGrants: policiesOf((text) => text.replaceAll("resource ==", "resource in")),
  },
  {
    name: "takes prefixes for exact places",
    exportGrants: policiesOf((text) => text.replaceAll("resource in", "resource ==")),
  },
  {
    name: "makes policies of comments",
    exportGrants: policiesOf((text) => text.replaceAll(/^\/\/ (?=[@p ){}])/gm, "")),
  },
  {
    name: "does not walk chains",
    exportGrants: (grants) => cedarOf(grants.map((grant) => ({ ...grant, parentId: undefined }))),
  },
];

test.each(wrongExports)("an export that $name is found", async ({ exportGrants }) => {
  const { findings } = await cedarExportSuite(exportGrants).run(cases(60, seed));
  expect(findings).not.toEqual([]);
});

test("an export without policies is valid", () => {
  const { policies, schema } = cedarOf([]);
  expect(openExport(policies, schema).problems).toEqual([]);
});

const grant = {
  id: "reads",
  namespaceId: "home",
  subject: { kind: "agent", agentId: "assistant" },
  issuer: { kind: "human", userId: "alice" },
  capabilities: [
    {
      resource: { namespace: "files", path: ["notes"], owner: { kind: "human", userId: "olivia" } },
      actions: ["read"],
      scope: "descendants",
    },
  ],
  constraints: { purposes: ["demo"] },
  issuedAt: "2026-01-01T00:00:00Z",
};

/** A request that the grant carries, as the schema wants it: what is asked about is all that is added to the exported entities. */
function question({ authority = "human:alice", owner = "human:olivia", entities } = {}) {
  const above = ["files", "files/notes"].map((id) => ({ type: "Place", id }));
  const resource = { type: "Place", id: "files/notes/todo.md" };
  return {
    principal: { type: "Agent", id: "assistant" },
    action: { type: "Action", id: "read" },
    resource,
    context: {
      authority: { __entity: { type: "Party", id: authority } },
      owner: { __entity: { type: "Party", id: owner } },
      purpose: "demo",
      now: { __extn: { fn: "datetime", arg: "2026-06-01T00:00:00Z" } },
    },
    entities: [...entities, { uid: resource, attrs: {}, parents: above }],
  };
}

test.each([
  { name: "that the grant carries", asked: {}, allowed: true },
  { name: "on the authority of another", asked: { authority: "human:mallory" }, allowed: false },
  { name: "about what belongs to another", asked: { owner: "human:alice" }, allowed: false },
])("a request $name is decided when it is held against the schema", ({ asked, allowed }) => {
  const { policies, schema, entities } = cedarOf([grant]);
  expect(decideBySchema(policies, schema, question({ entities, ...asked }))).toBe(allowed);
});

test("the schema refuses a request of another form", () => {
  const { policies, schema, entities } = cedarOf([grant]);
  const { context, ...rest } = question({ entities });
  const { now: _now, ...short } = context;
  expect(() => decideBySchema(policies, schema, { ...rest, context: short })).toThrow(/now/);
});
