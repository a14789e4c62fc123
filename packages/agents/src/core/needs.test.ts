import { expect, test } from "vitest";
import { readNeeds, type Needs } from "./needs.ts";

function needed(needs: Needs | undefined, args: object, tool = "send_mail"): string[] {
  return readNeeds(
    tool,
    needs,
  )(args as never).map(({ action, resource: { namespace, path } }) => `${action} ${[namespace, ...path].join("/")}`);
}

for (const row of [
  {
    name: "the tool itself when nothing is said",
    needs: undefined,
    args: { to: "bob" },
    are: ["call agent.tools/send_mail"],
  },
  { name: "a whole namespace", needs: "read mail", args: {}, are: ["read mail"] },
  { name: "what an argument names", needs: "send mail/$to", args: { to: "bob" }, are: ["send mail/bob"] },
  {
    name: "each element of a list",
    needs: "send mail/to/$to",
    args: { to: ["bob", "eve"] },
    are: ["send mail/to/bob", "send mail/to/eve"],
  },
  {
    name: "what a nested argument names",
    needs: "see cal/$event.owner",
    args: { event: { owner: "bob" } },
    are: ["see cal/bob"],
  },
  {
    name: "the folders of a path",
    needs: "read disk/$path/",
    args: { path: "docs/plan.md" },
    are: ["read disk/docs/plan.md"],
  },
  {
    name: "the folders of an optional path",
    needs: "read disk/in/$path?/",
    args: { path: "a/b" },
    are: ["read disk/in/a/b"],
  },
  { name: "a text with a slash as one step", needs: "send mail/$to", args: { to: "a/b" }, are: ["send mail/a%2Fb"] },
  {
    name: "all of several needs, each once",
    needs: ["send mail/$to", "send mail/$cc?", "read mail"],
    args: { to: "bob", cc: ["bob", "eve"] },
    are: ["send mail/bob", "send mail/eve", "read mail"],
  },
  {
    name: "those whose optional arguments are there",
    needs: ["send mail/$to?", "send mail/$cc?"],
    args: { cc: "eve" },
    are: ["send mail/eve"],
  },
  {
    name: "the whole namespaces when every argument is optional and absent",
    needs: ["send mail/$to?", "copy mail/in/$cc?"],
    args: {},
    are: ["send mail", "copy mail"],
  },
])
  test(`a call needs ${row.name}`, () => expect(needed(row.needs, row.args)).toEqual(row.are));

test("a tool whose name has a slash is one step", () => {
  expect(needed(undefined, {}, "a/b")).toEqual(["call agent.tools/a%2Fb"]);
});

for (const args of [{}, { to: "" }, { to: [] }, { to: {} }, { To: "eve" }, { to: "bob", To: "eve" }])
  test(`a call whose arguments do not say what it needs is denied: ${JSON.stringify(args)}`, () => {
    expect(() => needed("send mail/$to", args)).toThrow(
      expect.objectContaining({ name: "ArgumentRuleError" }) as Error,
    );
  });

for (const needs of [
  "",
  "send",
  "send ",
  "send $to",
  " mail/$to",
  "send mail/",
  "send mail/../x",
  "send mail/$",
  "send mail/$a/$b?/$c",
  [],
])
  test(`needs that cannot be read are refused before anything is called: ${JSON.stringify(needs)}`, () => {
    expect(() => readNeeds("send_mail", needs)).toThrow(TypeError);
  });
