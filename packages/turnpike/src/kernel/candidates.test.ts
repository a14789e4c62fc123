import { describe, expect, test } from "vitest";
import { ask, assistant, capability, child, context, grant, now, parent, world } from "../../test/decisions.ts";
import { memoryGrants, type MemoryGrants } from "../testing/index.ts";
import type { Budget, Grant } from "../contracts/index.ts";
import { compileAuthority, type Authority } from "./authority.ts";
import type { AdmittedAuthority } from "./authority.ts";
import { candidates, coversWithin, instantOf } from "./candidates.ts";
import type { ToolHandler } from "./ports.ts";

const later = "2026-01-01T12:00:02Z";

function admittedWith(authority: Authority): AdmittedAuthority {
  return { authority, instant: instantOf(context()), excluded: new Set() };
}

describe("inside a turn the candidates for an act", () => {
  const rows: { name: string; admitted: Grant[]; current: Grant[]; found: string[] }[] = [
    { name: "are those admitted that are still there", admitted: [grant()], current: [grant()], found: ["grant-1"] },
    { name: "are without those that are gone", admitted: [grant()], current: [], found: [] },
    {
      name: "are without those that are revoked",
      admitted: [grant()],
      current: [grant({ revokedAt: now })],
      found: [],
    },
    { name: "are without those issued since", admitted: [], current: [grant()], found: [] },
    {
      name: "are those admitted, in the order of now, without those issued since",
      admitted: [grant({ id: "a" }), grant({ id: "b" })],
      current: [grant({ id: "new" }), grant({ id: "b" }), grant({ id: "a" })],
      found: ["b", "a"],
    },
    {
      name: "are without those that were narrower at admission",
      admitted: [grant({ capabilities: [capability({ path: ["other"] })] })],
      current: [grant()],
      found: [],
    },
    {
      name: "are without those that are narrower now",
      admitted: [grant()],
      current: [grant({ capabilities: [capability({ path: ["other"] })] })],
      found: [],
    },
    {
      name: "are without those that were revoked at admission and are not any more",
      admitted: [grant({ revokedAt: now })],
      current: [grant()],
      found: [],
    },
    {
      name: "are without those whose end was put off since",
      admitted: [grant({ constraints: { expiresAt: now } })],
      current: [grant({ constraints: { expiresAt: later } })],
      found: [],
    },
    {
      name: "are without the first of those admitted when it is gone, and with the others",
      admitted: [grant({ id: "a" }), grant({ id: "b" })],
      current: [grant({ id: "b" })],
      found: ["b"],
    },
  ];
  for (const { name, admitted, current, found } of rows) {
    test(`${name}`, () => {
      const view = { current: compileAuthority(current), admitted: admittedWith(compileAuthority(admitted)) };
      expect(candidates(view, ask(), instantOf(context())).map((one) => one.grant.id)).toEqual(found);
      expect(coversWithin(view, ask({ path: ["reports"] }), instantOf(context()))).toBe(found.length > 0);
    });
  }

  test("are without those that were invalid at admission, and neither do these make a tool visible", () => {
    const set = compileAuthority(Object.freeze([grant({ id: "a" })]));
    const excluded = new Set(set.grants);
    const view = { current: set, admitted: { ...admittedWith(set), excluded } };
    expect(candidates(view, ask(), instantOf(context()))).toEqual([]);
    expect(coversWithin(view, ask({ path: ["reports"] }), instantOf(context()))).toBe(false);
  });

  test("are all of them while nothing has changed since admission", () => {
    const set = compileAuthority(Object.freeze([grant({ id: "a" }), grant({ id: "b" })]));
    expect(candidates({ current: set, admitted: admittedWith(set) }, ask(), instantOf(context()))).toHaveLength(2);
  });
});

describe("inside a turn a grant has as many uses", () => {
  const rows: { name: string; admitted?: number; current?: number; maxUses: number | undefined }[] = [
    { name: "as it had at admission, if it has more now", admitted: 1, current: 3, maxUses: 1 },
    { name: "as it has now, if it had more at admission", admitted: 3, current: 1, maxUses: 1 },
    { name: "as it had at admission, if they are not counted any more", admitted: 2, maxUses: 2 },
    { name: "as it has now, if they were not counted at admission", current: 2, maxUses: 2 },
    { name: "as it always had", admitted: 2, current: 2, maxUses: 2 },
  ];
  const counted = (maxUses: number | undefined): Authority =>
    compileAuthority([grant({ constraints: maxUses === undefined ? {} : { maxUses } })]);
  for (const row of rows) {
    test(`${row.name}`, () => {
      const view = { current: counted(row.current), admitted: admittedWith(counted(row.admitted)) };
      expect(candidates(view, ask(), instantOf(context())).map(({ maxUses }) => maxUses)).toEqual([row.maxUses]);
    });
  }
});

describe("in a turn a grant has the budgets", () => {
  type Budgets = Budget[] | undefined;
  const eur = (limit: string, each?: string): Budget => ({ unit: "EUR", limit, ...(each && { each }) });
  const rows: { name: string; admitted?: Budget[]; current?: Budget[]; limits: Record<string, string> }[] = [
    {
      name: "as they were at admission, if they are larger now",
      admitted: [eur("5")],
      current: [eur("6")],
      limits: { EUR: "5 5" },
    },
    {
      name: "as they are now, if they were larger at admission",
      admitted: [eur("6")],
      current: [eur("5")],
      limits: { EUR: "5 5" },
    },
    { name: "as they were at admission, if they are gone now", admitted: [eur("5")], limits: { EUR: "5 5" } },
    { name: "as they are now, if there were none at admission", current: [eur("5")], limits: { EUR: "5 5" } },
    {
      name: "of both, if each has its own, and the smaller amount for one act",
      admitted: [eur("5", "1"), { unit: "mails", limit: "3" }],
      current: [eur("5", "2")],
      limits: { EUR: "5 1", mails: "3 3" },
    },
  ];
  const limited = (budgets: Budgets): Authority =>
    compileAuthority([grant({ constraints: budgets ? { budgets } : {} })]);
  for (const { name, admitted, current, limits } of rows) {
    test(name, () => {
      const view = { current: limited(current), admitted: admittedWith(limited(admitted)) };
      const [found] = candidates(view, ask(), instantOf(context()));
      const shown = found?.budgets.map(({ unit, limit, each }) => [unit, `${limit / 1_000_000n} ${each / 1_000_000n}`]);
      expect(Object.fromEntries(shown ?? [])).toEqual(limits);
    });
  }
});

describe("a ceiling", () => {
  const set = compileAuthority([grant({ id: "a" }), grant({ id: "b", revokedAt: now })]);
  const instant = instantOf(context());

  test("is covered by a live grant", () => {
    expect(coversWithin({ current: set }, ask({ path: [] }), instant)).toBe(true);
  });

  test("is not covered by a grant that does not count", () => {
    expect(coversWithin({ current: set }, ask({ path: [] }), instant, ({ grant: { id } }) => id !== "a")).toBe(false);
    expect(coversWithin({ current: set }, ask({ path: [] }), instant, ({ grant: { id } }) => id !== "b")).toBe(true);
  });

  test("is not covered by a grant that is not live", () => {
    const revoked = compileAuthority([grant({ revokedAt: now })]);
    expect(coversWithin({ current: revoked }, ask({ path: [] }), instant)).toBe(false);
  });
});

/** Reads the document that its argument names. */
const reader: ToolHandler = {
  descriptor: {
    name: "documents.read",
    description: "Reads a document.",
    namespace: "documents",
    source: "host",
    readWrite: "read",
    inputSchema: { type: "object" },
    requiredCapability: { action: "read", resource: { namespace: "documents", path: [] } },
  },
  parse: (args) => args,
  requirement: (_context, args) => ask({ path: [String(args["path"])] }),
  invoke: (_context, call) =>
    Promise.resolve({ status: "succeeded", callId: call.id, tool: call.tool, completedAt: now, output: null }),
};

describe("inside a turn authority can only shrink:", () => {
  const toRun = grant({
    id: "run",
    capabilities: [
      capability({ namespace: "service.execution", path: ["agent", "assistant"], actions: ["invoke"], scope: "exact" }),
    ],
  });
  const toReadDrafts = grant({ id: "drafts", capabilities: [capability({ path: ["drafts"] })] });

  /** Reads `reports` two seconds into a turn; what happens since its admission is up to `meanwhile`. */
  async function readInTurn(
    held: readonly Grant[],
    meanwhile: (grants: MemoryGrants) => void = () => {},
  ): Promise<string> {
    const grants = memoryGrants([toRun, toReadDrafts, ...held]);
    const { kernel } = world(grants, { tools: [reader] });
    const agent = { kind: "agent", agentId: "assistant" } as const;
    expect(assistant).toEqual(agent);
    const admission = await kernel.admitTurn(context({ enabledToolNamespaces: ["documents"] }), { agent });
    if (admission.kind !== "admitted") throw new Error(`The turn was refused: ${admission.reason}`);
    meanwhile(grants);
    const call = {
      id: "call-1",
      tool: "documents.read",
      arguments: { path: "reports" },
      requestedAt: later,
      traceId: "trace-1",
    };
    const result = await admission.scope.invokeTool(call, later, new AbortController().signal);
    return result.status === "succeeded" ? "allowed" : result.error.code;
  }

  const rows: { name: string; held: Grant[]; meanwhile?: (grants: MemoryGrants) => void; expected: string }[] = [
    { name: "a grant live at admission and now is used", held: [grant()], expected: "allowed" },
    {
      name: "a grant that expired since is not",
      held: [grant({ constraints: { expiresAt: "2026-01-01T12:00:01Z" } })],
      expected: "no_matching_grant",
    },
    {
      name: "a grant revoked since is not",
      held: [grant()],
      meanwhile: (grants) => grants.revoke("tenant-1", "grant-1", later),
      expected: "no_matching_grant",
    },
    {
      name: "a grant issued since is not",
      held: [],
      meanwhile: (grants) => grants.issue(grant({ issuedAt: "2026-01-01T12:00:01Z" })),
      expected: "no_matching_grant",
    },
    {
      name: "a grant that became valid since is not",
      held: [grant({ constraints: { notBefore: "2026-01-01T12:00:01Z" } })],
      expected: "no_matching_grant",
    },
    {
      name: "a grant that was stored before and issued since is not",
      held: [grant({ issuedAt: "2026-01-01T12:00:01Z" })],
      expected: "no_matching_grant",
    },
    { name: "a chain whole at admission and now is used", held: [child(), parent()], expected: "allowed" },
    {
      name: "a chain broken since is not",
      held: [child(), parent()],
      meanwhile: (grants) => grants.revoke("tenant-1", "parent", later),
      expected: "delegation_chain_invalid",
    },
  ];
  for (const { name, held, meanwhile, expected } of rows) {
    test(`${name}`, async () => {
      expect(await readInTurn(held, meanwhile)).toBe(expected);
    });
  }

  test("a chain mended since is not used", async () => {
    expect(await readInTurn([child()], (grants) => grants.issue(parent()))).not.toBe("allowed");
  });
});
