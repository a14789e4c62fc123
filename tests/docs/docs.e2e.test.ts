import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { documentProblems, documentsApart } from "../support/documents.ts";
import { readBlocks } from "../support/markdown.ts";
import { repository } from "../support/repository.ts";

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "packages/turnpike/README.md",
  "packages/host/README.md",
  ...["docs", "examples"].flatMap(markdownIn),
];

function markdownIn(folder: string): string[] {
  return readdirSync(join(repository, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.includes("node_modules"))
    .map((path) => `${folder}/${path}`);
}

test("every snippet type-checks, and everything that is shown to run does run", { timeout: 900_000 }, async () => {
  expect(await documentProblems(documents)).toEqual([]);
});

test("only the pages that share the demo wait for each other", () => {
  const together = documentsApart(documents).filter((group) => group.length > 1);
  const usesDemo = (document: string) =>
    readFileSync(join(repository, document), "utf8").includes(". docs/examples/demo.sh");
  expect(together).toEqual([documents.filter(usesDemo)]);
});

test("every relative link leads to a file", () => {
  const broken = documents.flatMap((document) =>
    [...readFileSync(join(repository, document), "utf8").matchAll(/\]\((?!\w+:|#)([^)#]+)/g)]
      .filter(([, target = ""]) => !existsSync(join(repository, dirname(document), decodeURI(target))))
      .map(([, target]) => `${document}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("what the examples' own tests run is on the page of quickstarts, and in the examples", () => {
  const tagged = documents.flatMap(readBlocks).filter((block) => block.info === "sh examples");
  const elsewhere = tagged.filter(({ document }) => !/^(docs\/guide\/quickstarts\.md|examples\/.*)$/.test(document));
  expect(elsewhere).toEqual([]);
});

test("the README's two command lines are the ones that CI takes from it and runs", () => {
  const commands = ["npm ci && npm start", "npm ci && npm test"];
  const tagged = documents.flatMap(readBlocks).filter((block) => block.info === "sh ci");
  const printed = execFileSync(process.execPath, ["scripts/readme-commands.js"], { cwd: repository, encoding: "utf8" });

  expect(new Set(tagged.map((block) => block.document))).toEqual(new Set(["README.md"]));
  expect(tagged.flatMap((block) => block.text.split("\n"))).toEqual(commands);
  expect(printed).toBe(commands.map((command) => `${command}\n`).join(""));
  const ci = readFileSync(join(repository, ".ci/run"), "utf8");
  const executed = ci.split("\n").filter((line) => /^(\{ )?(bash|npm|npx)\b|readme-commands/.test(line));
  expect(executed).toEqual([
    "{ IFS= read -r run && IFS= read -r test; } < <(node scripts/readme-commands.js)",
    'bash -c "$run" </dev/null >.build/run.log 2>&1 &',
    'bash -c "${test#npm ci && }" </dev/null',
    "npm run test:rest </dev/null",
  ]);
  expect(ci).not.toMatch(/^\s*(run|test)=/m);
  const { scripts } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
  expect(scripts["test:all"]).toBe("npm test && npm run test:rest");
});

for (const row of [
  { name: "sound blocks have no problem", document: "sound.md", problems: [] },
  {
    name: "a snippet that does not type-check is reported with its line",
    document: "ill-typed.md",
    problems: [
      `:4: error TS2322: Type 'string' is not assignable to type 'number'.`,
      `:18: error TS2322: Type 'string | undefined' is not assignable to type 'string'.\n  Type 'undefined' is not assignable to type 'string'.`,
    ],
  },
  {
    name: "a block that fails, or prints something else, is reported with its line",
    document: "failing.md",
    problems: [
      ":3: prints\none\ninstead of\ntwo",
      ":11: exits with 3\nno",
      ":16: exits with 1\nbefore",
      ":22: prints\none\ninstead of\ntwo",
    ],
  },
  {
    name: "a block that would go unchecked is reported with its line",
    document: "unknown.md",
    problems: [`:3: "ts rnu" is no known kind`, `:7: "bash" is no known kind`, ":15: output of no block"],
  },
]) {
  test(row.name, async () => {
    const document = `tests/support/fixtures/docs/${row.document}`;
    expect(await documentProblems([document])).toEqual(row.problems.map((problem) => document + problem));
  });
}
