import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { alice, assistant, grant } from "../../test/records.ts";
import { readGrantFile, toFileGrant, writeGrantFile, type FileGrant } from "./grant-file.ts";

const text = writeGrantFile({
  tenant: "acme",
  grants: [
    toFileGrant(grant("b", { constraints: { maxUses: 3, expiresAt: "2027-01-01T00:00:00Z" } })),
    toFileGrant(grant("a", { parentId: "b", subject: alice, issuer: assistant, metadata: { ticket: "secret" } })),
  ],
});

test("a file is readable: a block for each grant, sorted, without what is not authority", () => {
  expect(text).toBe(`{
  "format": "turnpike-grants/1",
  "tenant": "acme",
  "grants": [
    {
      "id": "b",
      "subject": { "kind": "agent", "agentId": "assistant" },
      "issuer": { "kind": "human", "userId": "alice" },
      "capabilities": [
        { "resource": { "namespace": "files", "path": [ "notes" ] }, "actions": [ "read" ], "scope": "descendants" }
      ],
      "constraints": { "maxUses": 3, "expiresAt": "2027-01-01T00:00:00Z" }
    },
    {
      "id": "a",
      "subject": { "kind": "human", "userId": "alice" },
      "issuer": { "kind": "agent", "agentId": "assistant" },
      "capabilities": [
        { "resource": { "namespace": "files", "path": [ "notes" ] }, "actions": [ "read" ], "scope": "descendants" }
      ],
      "constraints": {},
      "parent": "b"
    }
  ]
}
`);
});

test("whatever grants hold, a file gives them back and is written the same again", () => {
  const names = fc.string({ unit: "grapheme", maxLength: 20 }).filter((name) => name.trim() !== "");
  const capability = fc.record({
    resource: fc.record({
      namespace: names,
      path: fc.array(fc.constantFrom("notes", "a b", "読む"), { maxLength: 3 }),
    }),
    actions: fc.array(names, { minLength: 1, maxLength: 3 }),
    scope: fc.constantFrom("exact" as const, "descendants" as const),
  });
  const one = fc.record({ id: names, capabilities: fc.array(capability, { minLength: 1, maxLength: 2 }) });
  const grants = fc.uniqueArray(one, { selector: ({ id }) => id, maxLength: 5 });
  fc.assert(
    fc.property(grants, names, (some, tenant) => {
      const file = { tenant, grants: some.map((changes) => toFileGrant(grant("x", changes))) };
      const read = readGrantFile("x.json", writeGrantFile(file));
      expect(new Set(read.grants)).toEqual(new Set(file.grants));
      expect(writeGrantFile(read)).toBe(writeGrantFile(file));
    }),
  );
});

test("a file without grants is one", () => {
  const none = writeGrantFile({ tenant: "acme", grants: [] });
  expect(readGrantFile("x.json", none)).toEqual({ tenant: "acme", grants: [] });
});

describe("a file that does not fit is refused with the place:", () => {
  for (const { name, from, to, says } of [
    {
      name: "no JSON",
      from: '"b",',
      to: '"b"',
      says: /^acme\.json:7:7: this is not JSON: found a text.*, expected a comma/,
    },
    {
      name: "an end that is missing",
      from: "  ]\n}\n",
      to: "",
      says: /^acme\.json:\d+:\d+: this is not JSON: found the end of the file, expected a comma/,
    },
    { name: "another format", from: "grants/1", to: "grants/2", says: /^acme\.json:2:13: \/format: / },
    {
      name: "an unknown field",
      from: '"maxUses"',
      to: '"maxUse"',
      says: /^acme\.json:12:24: .*maxUse: expected no such/,
    },
    {
      name: "a grant's own time",
      from: '"constraints": {}',
      to: '"issuedAt": "x", "constraints": {}',
      says: /^acme\.json:21:7: /,
    },
    {
      name: "a wrong value",
      from: '"maxUses": 3',
      to: '"maxUses": 0',
      says: /^acme\.json:12:35: \/grants\/0\/constraints\/maxUses: /,
    },
    {
      name: "a label twice",
      from: '"id": "a"',
      to: '"id": "b"',
      says: /^acme\.json:15:13: two grants have the id "b"\.$/,
    },
    {
      name: "a parent that is not there",
      from: '"parent": "b"',
      to: '"parent": "c"',
      says: /^acme\.json:22:17: no grant of the file has the id "c"\.$/,
    },
    {
      name: "a grant derived from itself",
      from: '"parent": "b"',
      to: '"parent": "a"',
      says: /^acme\.json:22:17: .*derived from itself\.$/,
    },
    {
      name: "a key twice",
      from: '"parent": "b"',
      to: '"parent": "b",\n"id": "c"',
      says: /^acme\.json:23:1: the key "id" appears twice in one object\.$/,
    },
  ]) {
    test(name, () => {
      const changed = text.replace(from, to);
      expect(changed).not.toBe(text);
      expect(() => readGrantFile("acme.json", changed)).toThrow(says);
    });
  }

  test("a circle of several", () => {
    const circle: FileGrant[] = ["a", "b", "c"].map((id, place) => ({
      ...toFileGrant(grant(id)),
      parent: "bca".charAt(place),
    }));
    const circled = writeGrantFile({ tenant: "acme", grants: circle });
    expect(() => readGrantFile("x.json", circled)).toThrow(/derived from itself/);
  });

  test("more grants than a file may have", () => {
    const many = Array.from({ length: 10_001 }, (_, place) => toFileGrant(grant(`grant-${place}`)));
    expect(() => readGrantFile("x.json", writeGrantFile({ tenant: "acme", grants: many }))).toThrow(/\/grants: /);
  });
});

test("what is wrong with a file is said on one line, whatever its ids and keys hold", () => {
  const repeated = String.raw`{ "format": "turnpike-grants/1", "\u001b[2Ja\nDone.": 1, "\u001b[2Ja\nDone.": 2 }`;
  expect(() => readGrantFile("g.json", repeated)).toThrow(String.raw`the key "\u001b[2Ja\nDone." appears twice`);
  const named = String.raw`{ "format": "turnpike-grants/1", "tenant": "a", "grants": [], "\u001b[2Ja\nDone.": 1 }`;
  expect(() => readGrantFile("g.json", named)).toThrow(/^g\.json:1:63: [ -~]*$/);
});
