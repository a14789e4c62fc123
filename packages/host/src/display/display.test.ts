import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Capability, Grant } from "turnpike/contracts";
import {
  actCases,
  argumentsCases,
  capabilityCases,
  closedCases,
  comparisonCases,
  consideredCases,
  constraintsCases,
  cutCases,
  decisionCases,
  nameCases,
  regionCases,
  regionOf,
} from "../../test/display-cases.ts";
import {
  aboutText,
  actRows,
  actText,
  briefText,
  capabilityText,
  closedText,
  comparisonLines,
  consideredText,
  constraintsText,
  cutText,
  decidedText,
  droppedTexts,
  grantText,
  everText,
  isOpening,
  listText,
  needsApproval,
  partiesNote,
  parsePrincipalText,
  parseResourceText,
  placeText,
  principalText,
  refusalText,
  regionText,
  requestText,
  unprintable,
  visibleParts,
  visibleText,
  wantsText,
} from "./index.ts";

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe("a text is shown as what it is:", () => {
  for (const { name, text, shown } of nameCases) {
    test(name, () => {
      expect(visibleText(text)).toBe(shown);
      expect(
        visibleParts(text)
          .map((part) => part.text)
          .join(""),
      ).toBe(shown);
    });
  }

  for (const row of [
    { name: "controls", codes: [...range(0, 0x1f), ...range(0x7f, 0x9f)] },
    { name: "marks and overrides of direction", codes: [0x61c, 0x200e, 0x200f, ...range(0x202a, 0x202e)] },
    { name: "isolates of direction", codes: range(0x2066, 0x2069) },
    {
      name: "what has no width",
      codes: [0xad, 0x200b, 0x200c, 0x200d, ...range(0x2060, 0x2064), 0xfeff, 0x180e, 0x34f],
    },
    { name: "fillers", codes: [0x115f, 0x1160, 0x3164, 0xffa0, 0x17b4, 0x17b5] },
    { name: "variation selectors", codes: [...range(0xfe00, 0xfe0f), ...range(0xe0100, 0xe01ef)] },
    { name: "tags", codes: range(0xe0000, 0xe007f) },
    { name: "annotations", codes: range(0xfff9, 0xfffb) },
    { name: "halves of characters", codes: [0xd800, 0xdfff] },
    { name: "spaces of other widths", codes: [0xa0, 0x1680, ...range(0x2000, 0x200a), 0x202f, 0x205f, 0x3000] },
  ]) {
    test(`${row.name} are numbers`, () => {
      for (const code of row.codes) {
        const number = code.toString(16).toUpperCase().padStart(4, "0");
        expect(visibleText(`a${String.fromCodePoint(code)}b`)).toBe(`a<U+${number}>b`);
      }
    });
  }

  test("a number can be set apart from a text that only looks like it", () => {
    expect(visibleParts("<U+202E>\u202Ex")).toEqual([
      { text: "<U+003C>", isNumber: true },
      { text: "U+202E>", isNumber: false },
      { text: "<U+202E>", isNumber: true },
      { text: "x", isNumber: false },
    ]);
    expect(visibleParts("")).toEqual([]);
  });
});

/** What a shown text means. */
function read(shown: string): string {
  return shown.replaceAll(/<U\+([0-9A-F]{4,6})>/g, (_, number: string) => String.fromCodePoint(Number(`0x${number}`)));
}

/** Pieces that have been used to mislead, among letters. */
const pieces = [
  ..."abpUx<>+0248EC \n\u202e\u200b\u0301\u0338\u00e9\u212a\u0440\u0430\u03bf\u0436\u05d0\u1112\u1161\u11ab\ud800\udc00",
  "<U+202E>",
  "<U+003C>",
  "U+",
];
const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);

test("two different texts are never shown alike, whatever is in them", () => {
  fc.assert(
    fc.property(texts, (text) => {
      // What can be read back belongs to one text alone. Two halves of a character that meet are one character.
      expect(read(visibleText(text))).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test("nothing that a terminal obeys or does not show is left, and no two ways of writing a letter", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const shown = visibleText(text);
      expect(shown).not.toMatch(new RegExp(unprintable, "u"));
      expect(shown.normalize()).toBe(shown);
    }),
    { numRuns: 500 },
  );
});

test("of letters that are drawn like Latin ones, none is left in a text without others of their alphabet", () => {
  const latin = [..."aceopxyPAY/ .-_1"];
  const alike = [..."асеорхуРАУονΑΒ"];
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...latin, ...alike), maxLength: 20 }), (text) => {
      expect([...visibleText(text)].filter((character) => alike.includes(character))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("showing a long text takes as long as it is", () => {
  for (const piece of ["\u0430", "a\u0301", " ", "<U+", "a\u0430 ", "\u0301", "<"]) {
    const long = piece.repeat(20_000);
    expect(read(visibleText(long))).toBe(long);
  }
});

describe("a part of a grant is shown with", () => {
  for (const { name, capability, shown } of capabilityCases) {
    test(name, () => expect(visibleText(capabilityText(capability))).toBe(shown));
  }

  test("all of it: no two parts are shown alike", () => {
    const word = fc.constantFrom("a", "b c", "**", "*", "of", 'x"', "a,b", "a/b", "(needs approval)", "human:bob");
    const step = word.filter((one) => !one.includes("/"));
    const owner = fc.option(
      word.map((userId) => ({ kind: "human" as const, userId })),
      { nil: undefined },
    );
    const capability: fc.Arbitrary<Capability> = fc
      .record({
        namespace: word,
        path: fc.array(step, { maxLength: 2 }),
        owner,
        actions: fc.uniqueArray(word, { minLength: 1, maxLength: 2 }),
        scope: fc.constantFrom("exact" as const, "descendants" as const),
        approval: fc.constantFrom("each" as const, undefined),
      })
      .map(({ namespace, path, owner: whose, actions, scope, approval }) => ({
        resource: { namespace, path, ...(whose && { owner: whose }) },
        actions,
        scope,
        ...(approval && { approval }),
      }));
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(capability, (one) => {
        const shown = visibleText(capabilityText(one));
        const meant = JSON.stringify(one);
        expect(seen.get(shown) ?? meant).toBe(meant);
        seen.set(shown, meant);
      }),
      { numRuns: 2000 },
    );
  });
});

test("a grant is shown with all of its parts, and whether one of them needs approval", () => {
  const [plain, , owned, approved] = capabilityCases.map(({ capability }) => capability) as [
    Capability,
    Capability,
    Capability,
    Capability,
  ];
  expect(grantText({ capabilities: [owned, approved] })).toBe(
    "read,list files/notes/** of human:alice; read files/notes (needs approval)",
  );
  expect([needsApproval({ capabilities: [plain] }), needsApproval({ capabilities: [plain, approved] })]).toEqual([
    false,
    true,
  ]);
  expect(wantsText({ requestedAuthority: { capabilities: [owned] } })).toBe("read,list files/notes/** of human:alice");
  expect(wantsText({})).toBe("an answer");
});

describe("the terms of a grant:", () => {
  for (const { name, constraints, used, shown } of constraintsCases) {
    test(name, () => expect(constraintsText(constraints, { used })).toBe(shown));
  }
  test("times as the reader writes them", () => {
    expect(constraintsText({ expiresAt: "2026-02-01T00:00:00Z" }, { instant: () => "noon" })).toBe("until noon");
  });
});

describe("an act is shown as", () => {
  for (const { name, act, shown } of actCases) {
    test(name, () => {
      expect(visibleText(actText(act))).toBe(shown);
      expect(visibleText(wantsText({ approval: { act } }))).toBe(shown);
    });
  }
  test("what it needs, with whose resource that is", () => {
    const resource = { namespace: "files", path: ["a"], owner: { kind: "human", userId: "alice" } as const };
    expect(requestText({ action: "read", resource })).toBe("read files/a of human:alice");
  });
});

describe("what was decided about is shown as", () => {
  const alice = { kind: "human", userId: "alice" } as const;
  for (const { name, request, shown, row } of decisionCases)
    test(name, () => {
      expect(decidedText(request, alice)).toBe(shown);
      expect(aboutText(request)).toBe(row);
    });

  test("as much as a row says", () => {
    expect(aboutText({})).toBe("");
    expect(aboutText({ action: "grant.create" })).toBe("grant.create");
    expect(aboutText({ resource: { namespace: "files", path: [] } })).toBe("files");
  });
});

describe("the arguments of an act:", () => {
  for (const { name, arguments: args, rows } of argumentsCases) {
    test(name, () => {
      const shown = actRows({ kind: "tool", tool: "t", arguments: args });
      expect(shown.map((row) => [row.name, row.value])).toEqual(rows);
    });
  }

  test("of a resource, a message and a turn are what they bring", () => {
    const bob = { kind: "human", userId: "bob" } as const;
    const resource = { namespace: "files", path: ["a"] };
    const namesOf = (act: Parameters<typeof actRows>[0]): string[] => actRows(act).map(({ name }) => name);
    const content = { payload: "hi", replyTo: "m1", provenance: { source: "mail", parentIds: [] } };
    expect(namesOf({ kind: "resource", action: "create", resource, input: { x: 1 }, metadata: { n: 1 } })).toEqual([
      "input.x",
      "metadata.n",
    ]);
    const told = ["payload", "replyTo", "provenance.source", "provenance.parentIds"];
    expect(namesOf({ kind: "message", receiver: bob, ...content })).toEqual(told);
    const agent = { kind: "agent", agentId: "assistant" } as const;
    expect(namesOf({ kind: "turn", agent, sender: bob, ...content, state: { s: 1 }, metadata: { n: 1 } })).toEqual([
      ...told,
      "state.s",
      "metadata.n",
    ]);
  });

  test("two calls of the same tool can be told apart by their first arguments", () => {
    const act = { kind: "tool", tool: "t", arguments: { to: "bob", amount: 20, a: 1, b: 2, c: 3 } } as const;
    expect(briefText(act)).toBe("to: bob, amount: 20, a: 1, and 2 more");
    const long = { kind: "tool", tool: "t", arguments: { body: "x".repeat(250) } } as const;
    expect(briefText(long)).toBe(`body: ${"x".repeat(100)}… (150 more characters)`);
  });

  test("a place in a value is written the same way", () => {
    expect(placeText(["a", "b", "c.d"])).toBe(`a.b["c.d"]`);
    expect(placeText(["a.b", "c"])).toBe(`["a.b"].c`);
  });
});

describe("a text that is cut", () => {
  for (const { name, text, most, shown, left } of cutCases) {
    test(`${name} says how much is left out`, () => {
      const cut = cutText(text, most);
      expect([cut.text, cut.left]).toEqual([shown, left]);
      expect(cut.parts.map((part) => part.text).join("")).toBe(shown);
    });
  }
});

test("a principal and a resource are read as they are written", () => {
  for (const text of ["human:alice", "agent:a:b", "group:g", "service:s\u202e\nx"])
    expect(principalText(parsePrincipalText(text) ?? { kind: "human", userId: "" })).toBe(text);
  expect([parsePrincipalText("alice"), parsePrincipalText("robot:x")]).toEqual([undefined, undefined]);
  expect(parseResourceText("files/notes/")).toEqual({ namespace: "files", path: ["notes"] });
  expect(parseResourceText("files//notes")).toBeUndefined();
});

test("an approval that no longer counts says whose it was, and why", () => {
  const by = { kind: "human", userId: "oona" } as const;
  const reasons = [
    "credential_unknown",
    "credential_revoked",
    "credential_expired",
    "not_a_reviewer",
    "takes_part",
  ] as const;
  const dropped = reasons.map((why) => ({ by, at: "2026-01-01T12:00:00Z", why }));
  expect([droppedTexts({}), droppedTexts({ dropped: dropped.slice(0, 1) })]).toEqual([
    [],
    [
      "The approval of human:oona at 2026-01-01T12:00:00Z no longer counts: it is not known with which credential it was given.",
    ],
  ]);
  expect(droppedTexts({ dropped }, () => "noon")).toEqual([
    "The approval of human:oona at noon no longer counts: it is not known with which credential it was given.",
    "The approval of human:oona at noon no longer counts: the credential that it was given with was revoked.",
    "The approval of human:oona at noon no longer counts: the credential that it was given with has expired.",
    "The approval of human:oona at noon no longer counts: the credential that it was given with is no reviewer's of this tenant.",
    "The approval of human:oona at noon no longer counts: they tried the act, or asked about it, themselves.",
  ]);
});

test("those who are behind an act are named as who cannot answer it", () => {
  const party = (userId: string) => ({ actor: { kind: "human", userId }, credential: "c1" }) as const;
  expect([
    partiesNote({}),
    partiesNote({ triedBy: party("oona") }),
    partiesNote({ triedBy: party("oona"), askedBy: [party("bob"), party("x, who may")] }),
  ]).toEqual([
    "",
    "It was tried by human:oona, who cannot answer it.",
    'It was tried by human:oona, asked by human:bob and "human:x, who may", who cannot answer it.',
  ]);
});

describe("an escalation that was closed says what is gone:", () => {
  for (const { closed, text } of closedCases) test(text, () => expect(closedText(closed)).toBe(text));
});

describe("a grant that a decision looked at says why it did not carry the act:", () => {
  const alice = { kind: "human", userId: "alice" } as const;
  const explained = {
    decision: { matchedGrantId: "it" },
    access: { owner: alice, purpose: "support" },
    request: { action: "write", resource: { namespace: "files", path: ["private", "diary.md"] } },
  };
  const grant: Grant = {
    id: "g",
    namespaceId: "demo",
    subject: { kind: "agent", agentId: "assistant" },
    issuer: alice,
    capabilities: [
      { resource: { namespace: "files", path: ["notes"] }, actions: ["read", "list"], scope: "descendants" },
    ],
    constraints: {},
    issuedAt: "2026-01-01T12:00:00Z",
  };
  for (const { shown, terms, ...found } of consideredCases)
    test(shown, () => expect(consideredText({ grant: { ...grant, ...terms }, ...found }, explained)).toBe(shown));

  test("instants are written as they are wanted, and without an act all is said that a grant covers", () => {
    const { request: _request, ...without } = explained;
    expect(consideredText({ grant, failed: "not-issued" }, explained, () => "noon")).toBe("It is issued only at noon.");
    for (const failed of ["namespace", "owner", "action", "path"])
      expect(consideredText({ grant, failed }, without)).toBe("It covers read,list files/notes/**.");
  });

  test("a refusal alone is a sentence, and a code that is none has none", () => {
    expect(["host_policy_denied", "path", "constructor"].map(refusalText)).toEqual([
      "The policy of this host says no.",
      undefined,
      undefined,
    ]);
  });
});

test("a list has commas and one last word", () => {
  expect([listText([]), listText(["a"]), listText(["a", "b"]), listText(["a", "b", "c"], "or")]).toEqual([
    "",
    "a",
    "a and b",
    "a, b or c",
  ]);
});

describe("requests that grants decide alike are shown in a sentence:", () => {
  for (const { region, shown } of regionCases)
    test(shown, () => expect(regionText(regionOf(region), { at: "2026-01-01T12:00:00Z" })).toBe(shown));
});

describe("what could ever happen is shown with how and by which way:", () => {
  const may = "may read and list files/notes/** of any owner, on grants of human:alice, for any purpose";
  for (const row of [
    { how: "held", way: ["a", "b"], shown: `agent:assistant ${may}: by a > b` },
    { how: "derived", way: ["a"], subject: "*" as const, shown: `any principal ${may}: if it is handed on, by a` },
    { how: "approval", way: ["a"], shown: `agent:assistant ${may}: by a` },
    { how: "approval", way: [], shown: `agent:assistant ${may}: once it is approved` },
    { how: "something-new", way: ["a"], shown: `agent:assistant ${may}: something-new by a` },
  ])
    test(row.shown, () => {
      const { subject } = regionOf({});
      expect(everText({ ...regionOf({}), subject: row.subject ?? subject, how: row.how, way: row.way })).toBe(
        row.shown,
      );
    });
});

describe("what a change of grants does for all requests is shown in lines:", () => {
  for (const { name, comparison, lines } of comparisonCases)
    test(name, () => {
      const shown = comparisonLines({ opened: [], closed: [], changed: [], ...comparison });
      expect(shown).toEqual(lines);
    });
});

describe("a change is opening", () => {
  const none = { opened: [], closed: [], changed: [] };
  const changed = { ...regionOf({}), was: [{ approval: "each" as const }] };
  for (const row of [
    { name: "when something opened", comparison: { ...none, opened: [regionOf({})] }, is: true },
    {
      name: "when an approval fell away",
      comparison: { ...none, changed: [{ ...changed, wider: true as const }] },
      is: true,
    },
    { name: "when there is more than is known", comparison: { ...none, more: true as const }, is: true },
    {
      name: "not when something closed or changed",
      comparison: { ...none, closed: [regionOf({})], changed: [changed] },
      is: false,
    },
  ])
    test(row.name, () => expect(isOpening(row.comparison)).toBe(row.is));
});
