import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import type * as Re2 from "re2js";
import { expect, test } from "vitest";
import { z } from "zod";
import { configJsonSchema } from "../../packages/host/src/compose/config.ts";
import { hostOpenApi } from "../../packages/host/src/protocols/pages/openapi.ts";
import { PathSegmentSchema } from "../../packages/turnpike/src/contracts/index.ts";
import { openApiDocument } from "../../packages/turnpike/src/http/index.ts";
import { repository } from "../support/repository.ts";

// RE2 has no lookaround and no backreferences, like the engines of Go and Rust.
const { RE2JS } = createRequire(`${repository}/packages/host/package.json`)("re2js") as typeof Re2;

/** Whether each pattern is found in each text. */
type Verdicts = boolean[][];

function inPython(patterns: readonly string[], texts: readonly string[]): Verdicts {
  const script =
    "import json, re, sys\n" +
    "patterns, texts = json.load(sys.stdin)\n" +
    "print(json.dumps([[re.search(pattern, text) is not None for text in texts] for pattern in patterns]))";
  const input = JSON.stringify([patterns, texts]);
  return JSON.parse(execFileSync("python3", ["-c", script], { input, encoding: "utf8", stdio: "pipe" })) as Verdicts;
}

const engines: Record<string, (patterns: readonly string[], texts: readonly string[]) => Verdicts> = {
  "JavaScript without flags": (patterns, texts) =>
    patterns.map((pattern) => texts.map((text) => new RegExp(pattern).test(text))),
  "JavaScript with u": (patterns, texts) =>
    patterns.map((pattern) => texts.map((text) => new RegExp(pattern, "u").test(text))),
  RE2: (patterns, texts) => patterns.map((pattern) => texts.map((text) => RE2JS.compile(pattern).matcher(text).find())),
  Python: inPython,
};

/** Every pattern in a document, however it is used there. */
function patternsIn(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  const { pattern, patternProperties } = part as { pattern?: unknown; patternProperties?: object };
  const own = [...(typeof pattern === "string" ? [pattern] : []), ...Object.keys(patternProperties ?? {})];
  return [...own, ...Object.values(part).flatMap(patternsIn)];
}

const documents: Record<string, unknown> = {
  "the library's OpenAPI document": openApiDocument(),
  "the host's OpenAPI document": hostOpenApi(),
  "the JSON Schema of the configuration": configJsonSchema(),
};

/** Engines disagree on which of the rarer characters are white space, so none of those is alone here. */
const texts = [
  "private",
  "acme",
  "notes.md",
  "a b",
  ".",
  "..",
  "...",
  ".a",
  "",
  " ",
  "/",
  "a/b",
  "\\",
  "a\\b",
  "C",
  "Cc",
  "{Cc}",
  "p",
  "\u0000",
  "a\u0000b",
  "a\tb",
  "\u007F",
  "\u009F",
  "\u00A0a",
  "é",
  "日本",
  "😀",
  "a\nb",
  "EUR",
  "EURO",
  "eur",
  "API_KEY",
  "_KEY",
  "1KEY",
  "0",
  "007",
  "12a",
  "-1",
  "~".repeat(128),
  "~".repeat(129),
];

for (const [name, document] of Object.entries(documents)) {
  test(`every pattern of ${name} compiles everywhere, and says the same everywhere`, () => {
    const patterns = [...new Set(patternsIn(document))];
    expect(patterns).not.toEqual([]);
    const verdicts = patterns.map((pattern) => texts.map((text) => new RegExp(pattern).test(text)));
    for (const [engine, judge] of Object.entries(engines))
      expect([engine, judge(patterns, texts)]).toEqual([engine, verdicts]);
  });
}

test("a lookahead, a class of Unicode and \\u are noticed", () => {
  expect(() => engines["RE2"]?.([String.raw`^(?!\.)`], [""])).toThrow("error parsing regexp");
  expect(() => engines["RE2"]?.([String.raw`\u0000`], [""])).toThrow("error parsing regexp");
  expect(() => engines["Python"]?.([String.raw`\p{Cc}`], [""])).toThrow("bad escape");
});

interface SegmentSchema {
  minLength: number;
  maxLength: number;
  pattern: string;
  not: { anyOf: [{ enum: string[] }, { pattern: string }] };
}

test("the published schema of a path segment takes in every engine what the contract takes", () => {
  const published = z.toJSONSchema(PathSegmentSchema) as unknown as SegmentSchema;
  const { minLength, maxLength, pattern, not } = published;
  const [{ enum: names }, { pattern: never }] = not.anyOf;
  expect(published).toEqual({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "string",
    minLength: 1,
    maxLength: 256,
    pattern: String.raw`^[^/\\\x00-\x1F\x7F-\x9F]*$`,
    not: { anyOf: [{ enum: [".", ".."] }, { pattern: String.raw`\n` }] },
  });
  const segments = [...texts, "\u001F", "\u0085", "private\n", "\n", "a".repeat(256), "a".repeat(257)];
  const taken = segments.map((text) => PathSegmentSchema.safeParse(text).success);
  expect(new Set(taken)).toEqual(new Set([true, false]));
  for (const [engine, judge] of Object.entries(engines)) {
    const [isLike = [], isNever = []] = judge([pattern, never], segments);
    const allowed = segments.map(
      (text, place) =>
        text.length >= minLength &&
        text.length <= maxLength &&
        isLike[place] &&
        !isNever[place] &&
        !names.includes(text),
    );
    expect([engine, allowed]).toEqual([engine, taken]);
  }
});
