import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nameTools } from "./tool-names.ts";

describe("a tool's name for a model", () => {
  const rows: { tools: string[]; names: RegExp[] }[] = [
    { tools: ["files_read"], names: [/^files_read$/] },
    { tools: ["files.read", "files.list"], names: [/^files_read$/, /^files_list$/] },
    { tools: ["service.escalate"], names: [/^service_escalate$/] },
    { tools: ["snapshot:create"], names: [/^snapshot_create$/] },
    { tools: ["a b", "ä", "木"], names: [/^a_b$/, /^_$/, /^__[0-9a-f]{8}$/] },
    { tools: ["a.b", "a_b"], names: [/^a_b_[0-9a-f]{8}$/, /^a_b$/] },
    { tools: ["a.b", "a:b"], names: [/^a_b$/, /^a_b_[0-9a-f]{8}$/] },
    { tools: ["x".repeat(64)], names: [/^x{64}$/] },
    { tools: ["x".repeat(65)], names: [/^x{55}_[0-9a-f]{8}$/] },
    { tools: ["constructor", "__proto__"], names: [/^tool_constructor$/, /^tool___proto__$/] },
  ];
  for (const { tools, names } of rows) {
    test(`${tools.join(", ").slice(0, 60)}`, () => {
      const named = nameTools(tools);
      for (const [place, tool] of tools.entries()) expect(named.toModel(tool)).toMatch(names[place] ?? /^$/);
    });
  }

  test("one that was not given stays what it is", () => {
    const { fromModel } = nameTools(["files.read"]);
    for (const name of ["files_delete", "files.delete", "", "constructor", "__proto__"])
      expect(fromModel(name)).toBe(name);
  });
});

test("whatever tools are called, their names are accepted, unique, the same in any order, and lead back", () => {
  const character = fc.constantFrom("a", "b", ".", "_", ":", "-", " ", "é");
  const tool = fc.oneof(
    fc.string({ unit: character, minLength: 1, maxLength: 6 }),
    fc.string({ minLength: 1, maxLength: 256 }),
  );
  fc.assert(
    fc.property(fc.uniqueArray(tool, { maxLength: 40 }), (tools) => {
      const named = nameTools(tools);
      const names = tools.map(named.toModel);
      for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(new Set(names).size).toBe(tools.length);
      expect(names.map(named.fromModel)).toStrictEqual(tools);
      expect(tools.map(nameTools(tools.toReversed()).toModel)).toStrictEqual(names);
    }),
  );
});
