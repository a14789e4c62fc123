import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../internal/index.ts";
import {
  ArgumentRuleSchema,
  encodeSegment,
  optionalArguments,
  placesBy,
  writeArgument,
  type ArgumentRule,
} from "./argument-rules.ts";
import { PathSegmentSchema } from "./scalars.ts";

function places(rule: ArgumentRule | string[], args: object): string[] {
  const found = placesBy(Array.isArray(rule) ? { path: rule } : rule)(args as JsonObject);
  return found.map((place) => place.join("/"));
}

const mail: ArgumentRule = {
  paths: [
    ["to", "$to"],
    ["to", "$cc?"],
    ["to", "$bcc?"],
  ],
};

interface Row {
  name: string;
  rule: ArgumentRule | string[];
  args: object;
}

describe("the places of a call are", () => {
  for (const row of [
    {
      name: "the steps of the rule and the arguments it names",
      rule: ["repos", "$org", "$repo"],
      args: { org: "acme", repo: "site", title: "x" },
      are: ["repos/acme/site"],
    },
    { name: "the steps of a rule without arguments", rule: ["all", "of", "it"], args: {}, are: ["all/of/it"] },
    {
      name: "one for each element of a list",
      rule: ["to", "$to"],
      args: { to: ["a@x", "b@x"] },
      are: ["to/a@x", "to/b@x"],
    },
    {
      name: "one for an element that is there twice",
      rule: ["to", "$to"],
      args: { to: ["a@x", "b@x", "a@x"] },
      are: ["to/a@x", "to/b@x"],
    },
    {
      name: "every combination of two lists",
      rule: ["$from", "$to"],
      args: { from: ["a", "b"], to: ["c", "d"] },
      are: ["a/c", "a/d", "b/c", "b/d"],
    },
    {
      name: "what a nested argument names",
      rule: ["$event.owner.name"],
      args: { event: { owner: { name: "bob" } } },
      are: ["bob"],
    },
    {
      name: "each element of a nested list",
      rule: ["with", "$event.participants"],
      args: { event: { participants: ["a", "b"] } },
      are: ["with/a", "with/b"],
    },
    {
      name: "what each object of a list names",
      rule: ["$items.sku"],
      args: { items: [{ sku: "a" }, { sku: ["b", "c"] }] },
      are: ["a", "b", "c"],
    },
    {
      name: "those of all paths of a rule",
      rule: mail,
      args: { to: ["a"], cc: ["b", "a"], bcc: "c" },
      are: ["to/a", "to/b", "to/c"],
    },
    {
      name: "those of the paths whose optional arguments are there",
      rule: mail,
      args: { to: "a", cc: null, bcc: [] },
      are: ["to/a"],
    },
    {
      name: "what comes before an optional argument that is absent",
      rule: ["repos", "$org", "in", "$repo?", "end"],
      args: { org: "acme" },
      are: ["repos/acme/in"],
    },
    {
      name: "all of it when the optional argument is there",
      rule: ["repos", "$org", "in", "$repo?", "end"],
      args: { org: "acme", repo: "site" },
      are: ["repos/acme/in/site/end"],
    },
    {
      name: "those that some objects of a list name",
      rule: ["$items.sku?"],
      args: { items: [{ sku: "a" }, {}, { sku: null }] },
      are: ["a"],
    },
    { name: "a whole number as its digits", rule: ["$id"], args: { id: 7 }, are: ["7"] },
    { name: "a negative one too", rule: ["$id"], args: { id: -7 }, are: ["-7"] },
    {
      name: "a number written as 1.0, which is 1",
      rule: ["$id"],
      args: JSON.parse('{"id":1.0}') as object,
      are: ["1"],
    },
    { name: "zero, whatever its sign", rule: ["$id"], args: { id: -0 }, are: ["0"] },
    { name: "an argument with a dot in its name", rule: ["$a%2Eb"], args: { "a.b": "x", a: { b: "y" } }, are: ["x"] },
    {
      name: "an argument with a question mark in its name",
      rule: ["$cc%3F"],
      args: { "cc?": "x", cc: "y" },
      are: ["x"],
    },
    { name: "an argument with a percent sign in its name", rule: ["$a%25"], args: { "a%": "x" }, are: ["x"] },
    {
      name: "an address as it is",
      rule: ["$to"],
      args: { to: "Bob.O'Neil+x@Example.org" },
      are: ["Bob.O'Neil+x@Example.org"],
    },
    {
      name: "a URL in one step",
      rule: ["$url"],
      args: { url: "https://x.org/a?b=c%20d" },
      are: ["https:%2F%2Fx.org%2Fa?b=c%2520d"],
    },
    { name: "a file in one step", rule: ["$path"], args: { path: "/etc/passwd" }, are: ["%2Fetc%2Fpasswd"] },
    {
      name: "a file of another system in one step",
      rule: ["$path"],
      args: { path: String.raw`C:\x` },
      are: ["C:%5Cx"],
    },
    { name: "a step up in one step that leads nowhere", rule: ["$path"], args: { path: ".." }, are: ["%2E%2E"] },
    { name: "a dot in one step that leads nowhere", rule: ["$path"], args: { path: "." }, are: ["%2E"] },
    {
      name: "a text with control characters",
      rule: ["$to"],
      args: { to: "a\r\nb\u0000\u0085" },
      are: ["a%0D%0Ab%00%C2%85"],
    },
    { name: "white space as it is", rule: ["$to"], args: { to: " bob " }, are: [" bob "] },
  ] satisfies (Row & { are: string[] })[]) {
    test(row.name, () => expect(places(row.rule, row.args)).toEqual(row.are));
  }

  test("the tool itself without a rule", () => {
    expect(placesBy(undefined)({ org: "acme" })).toEqual([[]]);
  });

  test("the tool itself when every argument of the rule is optional and absent: only a grant for all of it covers that", () => {
    expect(placesBy({ path: ["with", "$participants?"] })({ participants: [] })).toEqual([[]]);
    expect(placesBy({ paths: [["to", "$cc?"], ["$a.b?"]] })({ a: null })).toEqual([[]]);
  });
});

describe("a call is denied, with what to do about it, when", () => {
  const missing = "this argument is missing; a rule of the host decides by it, so add it.";
  const shape = "expected a text, a whole number, or a list of them.";
  const empty = "this text is empty; say what is meant, or leave the argument out.";
  const onTheWay = "expected an object on the way to it.";
  const length = String.raw`expected at most 256 characters, of which %, / and \ count as three.`;
  const tooMany = "The arguments name more than 64 places at once; split the call into smaller ones.";
  const many = (count: number): string[] => Array.from({ length: count }, (_one, place) => `${place}`);
  for (const row of [
    { name: "an argument is missing", rule: ["$to"], args: {}, says: `to: ${missing}` },
    { name: "it is null", rule: ["$to"], args: { to: null }, says: `to: ${missing}` },
    { name: "its list is empty", rule: ["$to"], args: { to: [] }, says: "to: this list is empty; name at least one." },
    { name: "its text is empty", rule: ["$to"], args: { to: "" }, says: `to: ${empty}` },
    { name: "a text in its list is empty", rule: ["$to"], args: { to: ["a", ""] }, says: `to: ${empty}` },
    { name: "an optional text is empty", rule: ["$cc?"], args: { cc: "" }, says: `cc: ${empty}` },
    { name: "it is an object", rule: ["$to"], args: { to: { address: "a" } }, says: `to: ${shape}` },
    { name: "it is a boolean", rule: ["$to"], args: { to: true }, says: `to: ${shape}` },
    { name: "it is a list of lists", rule: ["$to"], args: { to: [["a"]] }, says: `to: ${shape}` },
    { name: "there is an object in its list", rule: ["$to"], args: { to: ["a", { b: "c" }] }, says: `to: ${shape}` },
    { name: "there is a null in its list", rule: ["$to"], args: { to: ["a", null] }, says: `to: ${shape}` },
    { name: "an optional one has another shape", rule: ["$cc?"], args: { cc: { a: 1 } }, says: `cc: ${shape}` },
    { name: "it is half a number", rule: ["$id"], args: { id: 0.5 }, says: `id: ${shape}` },
    { name: "it is a number that is not exact", rule: ["$id"], args: { id: 1e21 }, says: `id: ${shape}` },
    { name: "it is one above what is exact", rule: ["$id"], args: { id: 2 ** 53 }, says: `id: ${shape}` },
    { name: "it is too long", rule: ["$to"], args: { to: "x".repeat(257) }, says: `to: ${length}` },
    {
      name: "it is too long once it is written as a step",
      rule: ["$to"],
      args: { to: "/".repeat(86) },
      says: `to: ${length}`,
    },
    { name: "it is half a character", rule: ["$to"], args: { to: "a\ud800" }, says: `to: ${length}` },
    { name: "a nested one is missing", rule: ["$event.to"], args: { event: {} }, says: `event.to: ${missing}` },
    { name: "the object around it is missing", rule: ["$event.to"], args: {}, says: `event.to: ${missing}` },
    {
      name: "the object around it is a text",
      rule: ["$event.to"],
      args: { event: "to" },
      says: `event.to: ${onTheWay}`,
    },
    {
      name: "the object around an optional one is a text",
      rule: ["$event.to?"],
      args: { event: "to" },
      says: `event.to: ${onTheWay}`,
    },
    {
      name: "an object of a list lacks it",
      rule: ["$items.sku"],
      args: { items: [{ sku: "a" }, {}] },
      says: `items.sku: ${missing}`,
    },
    {
      name: "one object's list is empty",
      rule: ["$items.sku"],
      args: { items: [{ sku: "a" }, { sku: [] }] },
      says: "items.sku: this list is empty; name at least one.",
    },
    {
      name: "a list of objects is empty",
      rule: ["$items.sku"],
      args: { items: [] },
      says: "items.sku: this list is empty; name at least one.",
    },
    {
      name: "there is a list in a list of objects",
      rule: ["$items.sku"],
      args: { items: [[{ sku: "a" }]] },
      says: `items.sku: ${onTheWay}`,
    },
    { name: "a list has a length but is none", rule: ["$to.0"], args: { to: ["a"] }, says: `to.0: ${onTheWay}` },
    {
      name: "an optional one comes without the one before it",
      rule: ["$org?", "$repo?"],
      args: { repo: "site" },
      says: "repo: expected only together with org.",
    },
    { name: "there are too many", rule: ["$to"], args: { to: many(65) }, says: tooMany },
    {
      name: "there are too many combinations",
      rule: ["$to", "$cc"],
      args: { to: many(9), cc: many(8) },
      says: tooMany,
    },
    {
      name: "all paths together have too many",
      rule: {
        paths: [
          ["to", "$to"],
          ["cc", "$cc"],
        ],
      },
      args: { to: many(33), cc: many(32) },
      says: tooMany,
    },
  ] satisfies (Row & { says: string })[]) {
    test(row.name, () => {
      const error = expect.objectContaining({
        name: "ArgumentRuleError",
        message: row.says,
      }) as Error;
      expect(() => places(row.rule, row.args)).toThrow(error);
    });
  }

  test("there are more combinations than a person could write down, without writing them down", () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const args = Object.fromEntries(names.map((name) => [name, many(64)]));
    expect(() =>
      places(
        names.map((name) => `$${name}`),
        args,
      ),
    ).toThrow(tooMany);
  });

  test("not when there are 64 of them", () => {
    expect(places(["$to", "$cc"], { to: many(8), cc: many(8) })).toHaveLength(64);
    expect(
      places(
        {
          paths: [
            ["to", "$to"],
            ["to", "$cc"],
          ],
        },
        { to: many(64), cc: many(64) },
      ),
    ).toHaveLength(64);
  });
});

describe("a call is denied that has an argument of the rule in another spelling, because a server may act on that one", () => {
  for (const [key, rule] of [
    ["To", ["$to"]],
    ["Cc", ["$to", "$cc?"]],
    ["c_c", ["$to", "$cc?"]],
    ["cc[]", ["$to", "$cc?"]],
    ["cc\u0000", ["$to", "$cc?"]],
    ["\uFF43c", ["$to", "$cc?"]],
    ["replyTo", ["$to", "$reply_to?"]],
    ["\u017Fender", ["$to", "$sender?"]],
  ] as const) {
    test(JSON.stringify(key), () => {
      expect(() => places([...rule], { to: "bob", [key]: "eve" })).toThrow(
        /leave out ".*", which a server may take for it/,
      );
    });
  }

  test("also inside of another one", () => {
    const args = { event: { participants: ["bob"], Participants: ["eve"] } };
    expect(() => places(["$event.participants"], args)).toThrow("leave out");
    expect(() => places(["$event.participants?"], { Event: { participants: ["eve"] } })).toThrow("leave out");
  });

  test("not when the names have other letters", () => {
    expect(places(["$to"], { to: "bob", too: "x", t: "x", "": "x", "-": "x" })).toEqual(["bob"]);
  });
});

for (const name of ["constructor", "toString", "__proto__", "constructor.name", "__proto__.x"]) {
  test(`what every object has, such as ${name}, is no argument`, () => {
    expect(() => places([`$${name}`], {})).toThrow(`${name}: this argument is missing`);
    expect(placesBy({ path: [`$${name}?`] })({})).toEqual([[]]);
  });
}

test("an argument that has the name of what every object has is one when it is there", () => {
  expect(places(["$constructor"], { constructor: "x" })).toEqual(["x"]);
  expect(places(["$__proto__"], JSON.parse('{"__proto__":"x"}') as object)).toEqual(["x"]);
});

test("every text becomes one step, and no two texts the same one", () => {
  const text = fc.string({
    minLength: 1,
    maxLength: 20,
    unit: fc.constantFrom("a", "%", "/", "\\", ".", "2", "F", "E", "\n", "é"),
  });
  fc.assert(
    fc.property(text, text, (one, other) => {
      expect(PathSegmentSchema.safeParse(encodeSegment(one)).success).toBe(true);
      expect(encodeSegment(one) === encodeSegment(other)).toBe(one === other);
      expect(decodeURIComponent(encodeSegment(one))).toBe(one);
    }),
  );
});

test("an argument is written so that a rule reads it back", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }), (keys) => {
      const args = keys.reduceRight<JsonObject | string>((inner, key) => Object.fromEntries([[key, inner]]), "x");
      expect(places([writeArgument(keys, true)], args as JsonObject)).toEqual(["x"]);
    }),
  );
});

test("an argument that is written as required is one that a call may not lack", () => {
  expect(writeArgument(["event", "to.all"], false)).toBe("$event.to%2Eall");
  expect(writeArgument(["files"], false, true)).toBe("$files/");
  expect(() => places([writeArgument(["event", "to"], false)], { event: {} })).toThrow(
    "event.to: this argument is missing",
  );
});

describe("the arguments that a call may lack are", () => {
  for (const row of [
    { name: "the optional ones of all paths", rule: mail, are: [["cc"], ["bcc"]] },
    {
      name: "the optional ones of a path, without its fixed steps and required ones",
      rule: { path: ["repos", "$org", "in", "$repo?", "end?"] },
      are: [["repo"]],
    },
    {
      name: "nested ones by the way to them, with their names as a call has them",
      rule: { path: ["$event.guests%2Eall?"] },
      are: [["event", "guests.all"]],
    },
    { name: "paths of folders too", rule: { path: ["in", "$job.files?/"] }, are: [["job", "files"]] },
    { name: "none when all are required", rule: { path: ["$org", "$path/"] }, are: [] },
    { name: "none when the rule has no path", rule: {}, are: [] },
  ] satisfies { name: string; rule: ArgumentRule; are: string[][] }[]) {
    test(row.name, () => expect(optionalArguments(row.rule)).toEqual(row.are));
  }
});

describe("an argument that is a path of folders", () => {
  const rule = { path: ["in", "$path/"] };

  for (const { path, steps } of [
    { path: "docs/plan.md", steps: ["in", "docs", "plan.md"] },
    { path: "docs/", steps: ["in", "docs"] },
    { path: "docs", steps: ["in", "docs"] },
    { path: "/srv/docs/plan.md", steps: ["in", "%2Fsrv", "docs", "plan.md"] },
    { path: "/", steps: ["in", "%2F"] },
    { path: "https://example.com/news/today", steps: ["in", "https:%2F%2Fexample.com", "news", "today"] },
    { path: "https://example.com", steps: ["in", "https:%2F%2Fexample.com"] },
    { path: "https://example.com/", steps: ["in", "https:%2F%2Fexample.com"] },
    { path: "https://example.com@evil.example/news", steps: ["in", "https:%2F%2Fexample.com@evil.example", "news"] },
    { path: "a b/c%20d", steps: ["in", "a b", "c%2520d"] },
    { path: "docs/.hidden/..x", steps: ["in", "docs", ".hidden", "..x"] },
  ])
    test(`has a step for each of them: ${path}`, () => {
      expect(placesBy(rule)({ path })).toEqual([steps]);
    });

  for (const path of [
    "..",
    "docs/../secrets",
    "../docs",
    "docs/..",
    "./docs",
    "docs/./x",
    "docs//x",
    "//evil.example/x",
    "docs\\..\\secrets",
    "docs/%2e%2e/secrets",
    "docs/%2E./secrets",
    "docs/%252e%252e/secrets",
    "docs/%2fetc",
    "docs/%5c..",
    "docs/%",
    "docs/\u2025/x",
    "docs/\uff0e\uff0e/x",
    "docs/..\u200b/x",
    "docs/..\t/x",
    "docs/.\n./x",
    "docs/.. /x",
    "docs/x\0/y",
    "docs/~root",
    "~/x",
    "https://example.com/news/../admin",
    "https://example.com/news/%2e%2e/admin",
    "https://example.com/news\\..\\admin",
    "https:///example.com",
    "https://evil.example?https://example.com/news",
    Array.from({ length: 40 }, () => "x").join("/"),
    "",
    7,
    true,
    { a: 1 },
  ])
    test(`is denied when it may lead elsewhere: ${JSON.stringify(path).slice(0, 60)}`, () => {
      expect(() => placesBy(rule)({ path })).toThrow(/^path: /);
    });

  test("may be optional, nested and a list", () => {
    const rules = { path: ["in", "$job.files?/"] };
    expect(placesBy(rules)({ job: { files: ["a/b", "c"] } })).toEqual([
      ["in", "a", "b"],
      ["in", "c"],
    ]);
    expect(placesBy(rules)({ job: {} })).toEqual([[]]);
    expect(writeArgument(["job", "files"], true, true)).toBe("$job.files?/");
  });

  test("comes last, because it has as many steps as folders; other steps have no slash", () => {
    expect(ArgumentRuleSchema.safeParse({ path: ["$path/"] }).success).toBe(true);
    for (const path of [["$path/", "x"], ["$path/", "$name"], ["a/"], ["a/b"], ["$a/b"], ["$path//"], ["$/"]])
      expect(ArgumentRuleSchema.safeParse({ path }).success).toBe(false);
  });
});
