import { describe, expect, test } from "vitest";
import { alice, assistant, capability, child, grant, lineage, olivia, parent } from "../../../test/decisions.ts";
import type { Capability, Constraints, Grant } from "../../contracts/index.ts";
import { compareGrants } from "./compare-grants.ts";
import type { Region } from "./region.ts";

const whole: Omit<Region, "path" | "by"> = {
  subject: assistant,
  authority: alice,
  owner: { not: [] },
  namespace: "documents",
  scope: "descendants",
  actions: ["read"],
  purposes: { not: [] },
  from: "2026-01-01T00:00:00.000Z",
  terms: [{}],
};
const reports: Region = { ...whole, path: ["reports"], by: ["grant-1"] };

/** Grants that are narrower than `grant()` in one way each. */
function narrower(
  change: (place: number) => { capability?: Parameters<typeof capability>[0]; constraints?: Constraints },
) {
  return Array.from({ length: 50 }, (_, place) => {
    const { capability: changes = {}, constraints = {} } = change(place);
    return grant({ id: `narrow-${place}`, capabilities: [capability(changes)], constraints });
  });
}

function numbered(prefix: string): string[] {
  return Array.from({ length: 50 }, (_, place) => `${prefix}${place}`).toSorted();
}

describe("a comparison", () => {
  test("of a list with itself says nothing", () => {
    expect(compareGrants([grant()], [grant()])).toStrictEqual({ opened: [], closed: [], changed: [] });
  });

  test("says nothing of a grant that another one of equal content replaces", () => {
    const answer = compareGrants([grant()], [grant({ id: "grant-2" })]);
    expect(answer).toStrictEqual({ opened: [], closed: [], changed: [] });
  });

  test("names what a new grant opens, and what closes without it", () => {
    expect(compareGrants([], [grant()])).toStrictEqual({ opened: [reports], closed: [], changed: [] });
    expect(compareGrants([grant()], [])).toStrictEqual({ opened: [], closed: [reports], changed: [] });
  });

  test("leaves out requests before the given instant, and grants that end by then", () => {
    const ended = grant({ id: "ended", constraints: { expiresAt: "2026-03-01T00:00:00Z" } });
    const { opened } = compareGrants([], [grant(), ended], { at: "2026-03-01T00:00:00.0005Z" });
    expect(opened).toStrictEqual([{ ...reports, from: "2026-03-01T00:00:00.0005Z" }]);
  });

  test("writes instants as fine as the grants have them", () => {
    const fine = grant({ constraints: { expiresAt: "2026-02-01T00:00:00.00025+01:00" } });
    const { opened } = compareGrants([], [fine]);
    expect(opened).toStrictEqual([{ ...reports, until: "2026-02-01T00:00:00.00025+01:00" }]);
  });

  test("takes a purpose * for a name, and an action * for every action", () => {
    const every = grant({ capabilities: [capability({ actions: ["read", "*"] })], constraints: { purposes: ["*"] } });
    expect(compareGrants([], [every]).opened).toStrictEqual([{ ...reports, actions: { not: [] }, purposes: ["*"] }]);
  });

  test("says in whose resources a grant that names an owner counts", () => {
    const owned = grant({ capabilities: [capability({ owner: olivia })] });
    expect(compareGrants([], [owned]).opened).toStrictEqual([{ ...reports, owner: [olivia] }]);
    expect(compareGrants([owned], [grant()]).opened).toStrictEqual([{ ...reports, owner: { not: [olivia] } }]);
  });
});

describe("terms", () => {
  const guarded = grant({ capabilities: [capability({ approval: "each" })] });
  const counted = grant({ id: "counted", constraints: { maxUses: 3 } });

  test("say that a request which nothing carried has to be asked for now", () => {
    expect(compareGrants([], [guarded]).opened).toStrictEqual([{ ...reports, terms: [{ approval: "each" }] }]);
  });

  test("are wider when an approval falls away, and not when one is added", () => {
    const { changed } = compareGrants([guarded], [grant()]);
    expect(changed).toStrictEqual([{ ...reports, was: [{ approval: "each" }], wider: true }]);
    const terms = [{ approval: "each" }];
    expect(compareGrants([grant()], [guarded]).changed).toStrictEqual([{ ...reports, terms, was: [{}] }]);
  });

  test("change with a count, which is no wider", () => {
    const more = { ...counted, constraints: { maxUses: 4 } };
    expect(compareGrants([counted], [more]).changed).toStrictEqual([
      { ...reports, by: ["counted"], terms: [{ maxUses: 4 }], was: [{ maxUses: 3 }] },
    ]);
  });

  test("name the smallest budget of each unit and window, those above the grant included", () => {
    const budgets: Constraints["budgets"] = [
      { unit: "mails", limit: "7", each: "9" },
      { unit: "EUR", limit: "20.0", per: "day", each: "5" },
      { unit: "EUR", limit: "30", per: "day" },
    ];
    const root = parent({ constraints: { delegationDepth: 1, budgets } });
    const { opened } = compareGrants([], [root, child({ constraints: { budgets: [{ unit: "mails", limit: "3" }] } })]);
    const day = { unit: "EUR", limit: "20", per: "day", each: "5" };
    expect(opened.map(({ by, terms }) => ({ by, terms }))).toStrictEqual([
      { by: ["child"], terms: [{ budgets: [day, { unit: "mails", limit: "3" }] }] },
      { by: ["parent"], terms: [{ budgets: [day, { unit: "mails", limit: "7" }] }] },
    ]);
    expect(compareGrants([grant({ constraints: { budgets } })], [grant()]).changed[0]).toMatchObject({ terms: [{}] });
  });

  test("leave out a grant whose budget is larger than one far above it", () => {
    const { leaf, parents } = lineage(2);
    const [root, middle] = parents as [Grant, Grant];
    const limited = { ...root, constraints: { ...root.constraints, budgets: [{ unit: "EUR", limit: "5" }] } };
    const larger = { ...leaf, constraints: { budgets: [{ unit: "EUR", limit: "6" }] } };
    const names = ({ opened }: ReturnType<typeof compareGrants>): string[] => opened.flatMap(({ by }) => by);
    expect(names(compareGrants([], [limited, middle, larger]))).not.toContain("leaf");
    expect(names(compareGrants([], [limited, middle, leaf]))).toContain("leaf");
  });

  test("are those of all grants, unless one asks for nothing", () => {
    const { opened } = compareGrants([], [guarded, counted]);
    expect(opened).toStrictEqual([
      { ...reports, by: ["counted", "grant-1"], terms: [{ approval: "each" }, { maxUses: 3 }] },
    ]);
    const all = compareGrants([], [guarded, counted, grant({ id: "free" })]);
    expect(all.opened).toStrictEqual([{ ...reports, by: ["counted", "free", "grant-1"] }]);
  });

  test("leave out the approval of a grant that carries the same without one", () => {
    const both = [capability({ approval: "each" }), capability({ path: ["reports", "open"] })];
    const { opened } = compareGrants([], [grant({ capabilities: both, constraints: { maxUses: 2 } })]);
    expect(opened.map(({ path, except, terms }) => ({ path, except, terms }))).toStrictEqual([
      {
        path: ["reports"],
        except: [{ path: ["reports", "open"], scope: "descendants" }],
        terms: [{ approval: "each", maxUses: 2 }],
      },
      { path: ["reports", "open"], except: undefined, terms: [{ maxUses: 2 }] },
    ]);
  });
});

describe("a chain", () => {
  test("carries what its last grant says, while everything above it is in force", () => {
    const top = parent({ revokedAt: "2026-05-01T00:00:00Z", issuedAt: "2026-02-01T00:00:00Z" });
    const { opened } = compareGrants([top], [top, child()]);
    expect(opened).toStrictEqual([
      { ...reports, from: "2026-02-01T00:00:00.000Z", until: "2026-05-01T00:00:00.000Z", by: ["child"] },
    ]);
  });

  for (const row of [
    { name: "whose parent is not in the list", top: [] },
    { name: "whose parent may not be passed on", top: [parent({ constraints: {} })] },
    { name: "whose parent is counted", top: [parent({ constraints: { delegationDepth: 1, maxUses: 1 } })] },
    { name: "whose parent another principal holds", top: [parent({ subject: olivia })] },
    { name: "whose parent covers less", top: [parent({ capabilities: [capability({ scope: "exact" })] })] },
    {
      name: "whose parent has fewer purposes",
      top: [parent({ constraints: { delegationDepth: 1, purposes: ["x"] } })],
    },
    { name: "whose parent has ended", top: [parent({ revokedAt: "2025-01-01T00:00:00Z" })] },
  ]) {
    test(`${row.name} carries nothing`, () => {
      expect(compareGrants(row.top, [...row.top, child()]).opened).toStrictEqual([]);
    });
  }

  test("of 16 links counts, and of 17 does not", () => {
    for (const [links, count] of [
      [16, 1],
      [17, 0],
    ] as const) {
      const { leaf, parents } = lineage(links);
      expect(compareGrants(parents, [...parents, leaf]).opened).toHaveLength(count);
    }
  });

  test("closes with the grant above it", () => {
    const { closed } = compareGrants([parent(), child()], [child()]);
    expect(closed.flatMap(({ by }) => by).toSorted()).toStrictEqual(["child", "parent"]);
  });
});

describe("one capability over 50 narrower ones", () => {
  const rows: { name: string; narrow: readonly Grant[]; expected: Partial<Region> }[] = [
    {
      name: "in their paths is one region with 50 exceptions",
      narrow: narrower((place) => ({ capability: { path: ["reports", `${place}`] } })),
      expected: {
        except: Array.from({ length: 50 }, (_, place) => ({ path: ["reports", `${place}`], scope: "descendants" })),
      },
    },
    {
      name: "in their owners is one region of all but 50",
      narrow: narrower((place) => ({ capability: { owner: { kind: "human", userId: `u${place}` } } })),
      expected: { owner: { not: numbered("u").map((userId) => ({ kind: "human", userId })) } },
    },
    {
      name: "in their purposes is one region of all but 50",
      narrow: narrower((place) => ({ constraints: { purposes: [`p${place}`] } })),
      expected: { purposes: { not: numbered("p") } },
    },
  ];
  for (const { name, narrow, expected } of rows) {
    test(name, () => {
      expect(compareGrants(narrow, [...narrow, grant()]).opened).toStrictEqual([{ ...reports, ...expected }]);
    });
  }

  test("in their actions is one region of all but 50", () => {
    const narrow = narrower((place) => ({ capability: { actions: [`a${place}`] } }));
    const every: Capability = capability({ actions: ["*"] });
    const { opened } = compareGrants(narrow, [...narrow, grant({ capabilities: [every] })]);
    expect(opened).toStrictEqual([{ ...reports, actions: { not: numbered("a") } }]);
  });
});

describe("grants beside each other", () => {
  const until = (expiresAt: string): Grant => grant({ id: "first", constraints: { expiresAt } });
  const june = capability({ path: ["reports", "june"] });
  const both = ["grant-1", "second"];
  const exact = grant({ id: "exact", capabilities: [capability({ scope: "exact" })] });
  const rows: { name: string; before?: readonly Grant[]; after: readonly Grant[]; expected: readonly Region[] }[] = [
    {
      name: "of which one begins when the other ends are one region",
      after: [until("2026-02-01T00:00:00Z"), grant({ id: "second", issuedAt: "2026-02-01T00:00:00Z" })],
      expected: [{ ...reports, by: ["first", "second"] }],
    },
    {
      name: "of which one begins after the other has ended are two regions",
      after: [until("2026-02-01T00:00:00Z"), grant({ id: "second", issuedAt: "2026-03-01T00:00:00Z" })],
      expected: [
        { ...reports, until: "2026-02-01T00:00:00.000Z", by: ["first"] },
        { ...reports, from: "2026-03-01T00:00:00.000Z", by: ["second"] },
      ],
    },
    {
      name: "of which one is below the other are one region",
      after: [grant(), grant({ id: "second", capabilities: [june] })],
      expected: [{ ...reports, by: both }],
    },
    {
      name: "of which one covers every place are one region of every place",
      after: [grant({ capabilities: [capability({ path: [] })] }), grant({ id: "second" })],
      expected: [{ ...reports, path: [], by: both }],
    },
    {
      name: "of which one had the place itself are a region without that place",
      before: [exact],
      after: [exact, grant()],
      expected: [{ ...reports, except: [{ path: ["reports"], scope: "exact" }] }],
    },
    {
      name: "of which one has every purpose are one region of every purpose",
      after: [grant(), grant({ id: "second", constraints: { purposes: ["x"] } })],
      expected: [{ ...reports, by: both }],
    },
    {
      name: "in two places, one for every purpose, are two regions",
      after: [
        grant(),
        grant({ id: "second", capabilities: [capability({ path: ["z"] })], constraints: { purposes: ["x"] } }),
      ],
      expected: [reports, { ...reports, path: ["z"], purposes: ["x"], by: ["second"] }],
    },
    {
      name: "of two subjects are two regions, by subject",
      after: [grant({ id: "second", subject: olivia }), grant()],
      expected: [reports, { ...reports, subject: olivia, by: ["second"] }],
    },
    {
      name: "of two subjects are in the same order when they are listed in another one",
      after: [grant(), grant({ id: "second", subject: olivia })],
      expected: [reports, { ...reports, subject: olivia, by: ["second"] }],
    },
  ];
  for (const { name, before = [], after, expected } of rows) {
    test(name, () => {
      expect(compareGrants(before, after)).toStrictEqual({ opened: expected, closed: [], changed: [] });
    });
  }

  test("that say the same, with actions in another order or twice, are named once", () => {
    const [one, other] = [capability({ actions: ["write", "read"] }), capability({ actions: ["read", "write"] })];
    const { opened } = compareGrants([], [grant({ capabilities: [one, other] })]);
    expect(opened).toStrictEqual([{ ...reports, actions: ["read", "write"] }]);
  });
});

describe("more regions than an answer has", () => {
  const many = (prefix: string): Grant[] =>
    Array.from({ length: 157 }, (_, place) => {
      const paths = Array.from({ length: 64 }, (_one, number) => [`${prefix}-${place}-${number}`]);
      return grant({ id: `${prefix}-${place}`, capabilities: paths.map((path) => capability({ path })) });
    });

  test("are left out, and the answer says so", () => {
    const { closed, opened, more } = compareGrants(many("closed"), []);
    expect([closed.length, opened.length, more]).toStrictEqual([10_000, 0, true]);
  });

  test("leave exact whether anything opened", () => {
    const { opened, more } = compareGrants(many("a"), [grant({ capabilities: [capability({ path: ["z"] })] })]);
    expect(opened.map(({ path }) => path)).toStrictEqual([["z"]]);
    expect(more).toBe(true);
  });
});

describe("a list is refused", () => {
  const rows: { name: string; lists: [unknown, unknown]; says: string }[] = [
    { name: "that is none", lists: [undefined, []], says: "Expected two lists of grants." },
    {
      name: "with a grant that does not fit",
      lists: [[], [grant({ id: "" })]],
      says: "Grant 0 of the list does not fit the contract.",
    },
    {
      name: "with a hole",
      lists: [[], Array.from({ length: 1 })],
      says: "Grant 0 of the list does not fit the contract.",
    },
    {
      name: "of another tenant",
      lists: [[grant()], [grant({ namespaceId: "other" })]],
      says: "Expected grants of one tenant.",
    },
    {
      name: "that has an id twice",
      lists: [[], [grant(), grant()]],
      says: 'Two grants of the list have the id "grant-1".',
    },
  ];
  for (const { name, lists, says } of rows) {
    test(name, () => {
      const [before, after] = lists as [Grant[], Grant[]];
      expect(() => compareGrants(before, after)).toThrow(new TypeError(says));
    });
  }

  test("with an instant that is none", () => {
    expect(() => compareGrants([], [], { at: "soon" })).toThrow(
      new TypeError("Expected `at` to be an RFC 3339 date-time."),
    );
  });
});
