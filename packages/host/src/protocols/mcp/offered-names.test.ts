import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOfferedNames, withUniqueNames } from "./offered-names.ts";

const known = {
  tools: ["files.read", "files_read", "service.turn.wait", "mcp_notes_taken"],
  namespaces: ["mcp.notes", "mcp.my_server", "mcp.my", "mcp.a.b", "mcp.a_b"],
};
const names = createOfferedNames(known);

describe("a name that clients are shown", () => {
  for (const row of [
    { name: "mcp.notes.search", offered: /^mcp_notes_search$/ },
    { name: "mcp.notes.create_issue", offered: /^mcp_notes_create_issue$/ },
    { name: "mcp.my_server.echo", offered: /^mcp_my_server_echo$/ },
    { name: "mcp.my.server_echo", offered: /^mcp_my_server_echo_[0-9a-f]{8}$/ },
    { name: "mcp.my.other", offered: /^mcp_my_other$/ },
    { name: "mcp.notes.files.list", offered: /^mcp_notes_files_list_[0-9a-f]{8}$/ },
    { name: "mcp.notes.taken", offered: /^mcp_notes_taken_[0-9a-f]{8}$/ },
    { name: "mcp.notes.with space", offered: /^mcp_notes_with_space_[0-9a-f]{8}$/ },
    { name: "mcp.notes.ends_12345678", offered: /^mcp_notes_ends_12345678_[0-9a-f]{8}$/ },
    { name: `mcp.notes.${"x".repeat(80)}`, offered: /^mcp_notes_x{45}_[0-9a-f]{8}$/ },
    { name: "mcp.a.b.c", offered: /^mcp_a_b_c$/ },
    { name: "mcp.a_b.c", offered: /^mcp_a_b_c_[0-9a-f]{8}$/ },
    { name: "files_read", offered: /^files_read$/ },
    { name: "files.read", offered: /^files_read_[0-9a-f]{8}$/ },
    { name: "service.turn.wait", offered: /^service_turn_wait$/ },
    { name: "mcp_notes_taken", offered: /^mcp_notes_taken$/ },
  ]) {
    test(`of ${row.name.slice(0, 40)} is ${row.offered.source}`, () => {
      expect(names.of(row.name)).toMatch(row.offered);
    });
  }
});

describe("what a client means", () => {
  for (const row of [
    { by: "mcp_notes_create_issue", meant: "mcp.notes.create_issue" },
    { by: "mcp.notes.create_issue", meant: "mcp.notes.create_issue" },
    { by: "mcp_my_server_echo", meant: "mcp.my_server.echo" },
    { by: "files_read", meant: "files_read" },
    { by: "files.read", meant: "files.read" },
    { by: "service_turn_wait", meant: "service.turn.wait" },
    { by: "mcp_notes_taken", meant: "mcp_notes_taken" },
    { by: "made_up", meant: "made_up" },
    { by: "__proto__", meant: "__proto__" },
    { by: "constructor", meant: "constructor" },
    { by: "", meant: "" },
    { by: "mcp_notes_files_list_0a1b2c3d", meant: undefined },
  ]) {
    test(`by ${JSON.stringify(row.by)} is ${row.meant ?? "to be searched"}`, () => {
      expect(names.meant(row.by)).toBe(row.meant);
    });
  }
});

test("an offered name fits every client, and means what was offered or has to be searched; so does the real name", () => {
  const part = fc.string({ unit: fc.constantFrom("a", "b", ".", "_", "-", " ", "1"), minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(fc.uniqueArray(part), fc.uniqueArray(part), fc.array(part), (tools, namespaces, rests) => {
      const some = createOfferedNames({ tools, namespaces });
      const provided = namespaces.flatMap((namespace) => rests.map((rest) => `${namespace}.${rest}`));
      for (const name of [...tools, ...provided]) {
        expect(some.of(name)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        for (const by of [name, some.of(name)]) expect(some.meant(by) ?? name).toBe(name);
      }
    }),
  );
});

test("of entries that share a name none is shown", () => {
  const entries = ["a", "b", "a", "c"].map((name) => ({ name }));
  expect(withUniqueNames(entries)).toEqual([{ name: "b" }, { name: "c" }]);
});
