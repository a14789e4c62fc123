import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { boundaryViolations } from "../support/boundaries.ts";
import { repository } from "../support/repository.ts";

const fixtures = join(repository, "tests/support/fixtures/boundaries");
const library = "packages/turnpike/src";
const host = "packages/host/src";

test("the packages import each other only as the architecture draws it", { timeout: 90_000 }, () => {
  expect(boundaryViolations(repository)).toEqual([]);
});

const agents = "packages/agents/src";

const rows = [
  {
    fixture: "agents-framework",
    violations: [`${agents}/ai-sdk/govern.ts: agents may import no framework ("ai")`],
  },
  {
    fixture: "agents-rooms-meet",
    violations: [
      `${agents}/ai-sdk/index.ts: core is imported as "../core/index.ts", not as "../core/governor.ts"`,
      `${agents}/mastra/govern.ts: agents/mastra may not import agents/ai-sdk ("../ai-sdk/index.ts")`,
    ],
  },
  { fixture: "allowed", violations: [] },
  {
    fixture: "arrow",
    violations: [`${library}/kernel/decide.ts: kernel may not import http ("../http/index.ts")`],
  },
  {
    fixture: "arrow-in-a-dynamic-import",
    violations: [`${library}/contracts/grant.ts: contracts may not import kernel ("../kernel/index.ts")`],
  },
  {
    fixture: "arrow-in-a-re-export",
    violations: [`${library}/runtime/index.ts: runtime may not import http ("../http/index.ts")`],
  },
  {
    fixture: "arrow-in-a-star-re-export",
    violations: [`${library}/runtime/index.ts: runtime may not import http ("../http/index.ts")`],
  },
  {
    fixture: "arrow-in-a-type",
    violations: [`${library}/client/send.ts: client may not import kernel ("../kernel/index.ts")`],
  },
  {
    fixture: "arrow-in-a-type-import",
    violations: [`${library}/contracts/grant.ts: contracts may not import kernel ("../kernel/index.ts")`],
  },
  {
    fixture: "computed-import",
    violations: [`${library}/runtime/plugin.ts: the library may not import "name"`],
  },
  {
    fixture: "console-arrow",
    violations: [`packages/console/src/page.tsx: console may not import kernel ("turnpike/kernel")`],
  },
  {
    fixture: "cycle",
    violations: [
      `cycle: ${library}/kernel/decide.ts -> ${library}/kernel/match.ts -> ${library}/kernel/reach.ts -> ${library}/kernel/decide.ts`,
    ],
  },
  {
    fixture: "deep-import",
    violations: [
      `${library}/kernel/decide.ts: contracts is imported as "../contracts/index.ts", not as "../contracts/grant.ts"`,
    ],
  },
  {
    fixture: "deep-import-from-host",
    violations: [
      `packages/host/src/serve.ts: contracts is imported as "turnpike/contracts", not as "turnpike/contracts/grant"`,
    ],
  },
  {
    fixture: "display-imports-more",
    violations: [`${host}/display/names.ts: display may import types alone ("turnpike/contracts")`],
  },
  {
    fixture: "host-arrow",
    violations: [`${host}/storage/database.ts: storage may not import grants ("../grants/index.ts")`],
  },
  {
    fixture: "host-deep-import",
    violations: [
      `${host}/grants/grant-store.ts: storage is imported as "../storage/index.ts", not as "../storage/open-database.ts"`,
    ],
  },
  {
    fixture: "host-features-meet",
    violations: [`${host}/escalations/answer.ts: escalations may not import grants ("../grants/index.ts")`],
  },
  {
    fixture: "host-loose-file",
    violations: [`${host}/serve.ts: the top folder may not import storage ("./storage/index.ts")`],
  },
  {
    fixture: "host-protocols-meet",
    violations: [
      `${host}/protocols/mcp/handler.ts: protocols/mcp may not import protocols/admin ("../admin/index.ts")`,
    ],
  },
  {
    fixture: "host-unknown-room",
    violations: [`${host}/helpers/text.ts: helpers may not import shared ("../shared/index.ts")`],
  },
  {
    fixture: "imported-test",
    violations: [`${library}/kernel/decide.ts: source may not import the test "./match.test.ts"`],
  },
  {
    fixture: "internal-arrow",
    violations: [`${library}/internal/accept.ts: internal may not import contracts ("../contracts/index.ts")`],
  },
  {
    fixture: "internal-from-host",
    violations: [`${host}/shared/text.ts: host may not import internal ("turnpike/internal")`],
  },
  {
    fixture: "library-imports-host",
    violations: [`${library}/http/handler.ts: http may not import host ("turnpike-host/version")`],
  },
  {
    fixture: "node-builtin",
    violations: [`${library}/client/send.ts: the library may not import "node:http"`],
  },
  {
    fixture: "relative-import-from-host",
    violations: [
      `packages/host/src/serve.ts: contracts is imported as "turnpike/contracts", not as "../../turnpike/src/contracts/index.ts"`,
    ],
  },
  {
    fixture: "self-reference",
    violations: [
      `${library}/kernel/decide.ts: contracts is imported as "../contracts/index.ts", not as "turnpike/contracts"`,
    ],
  },
  {
    fixture: "third-party",
    violations: [`${library}/http/handler.ts: the library may not import "hono"`],
  },
  {
    fixture: "unknown-room",
    violations: [`${library}/shared/text.ts: shared may not import contracts ("../contracts/index.ts")`],
  },
  {
    fixture: "zod",
    violations: [`${library}/kernel/match.ts: only internal, contracts and kernel/tool.ts may import "zod"`],
  },
];

for (const { fixture, violations } of rows) {
  test(`the "${fixture}" tree has ${violations.length === 0 ? "no violation" : "its violation reported"}`, () => {
    expect(boundaryViolations(join(fixtures, fixture))).toEqual(violations);
  });
}

test("every fixture tree has its row", () => {
  expect(rows.map((row) => row.fixture)).toEqual(readdirSync(fixtures).toSorted());
});
