import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Block, readBlocks } from "./markdown.ts";
import { repository } from "./repository.ts";

/**
 * Every kind of block a document may hold. `ts` is type-checked, `ts run` is executed too, `ts sketch` neither;
 * `sh` is executed, `sh ci` by the CI script, `sh examples` by `npm run test:examples`; `text output` is what the block
 * before it prints.
 */
const kinds = new Set(["ts", "ts run", "ts sketch", "sh", "sh ci", "sh examples", "text", "text output", "json"]);

const buildFolder = ".build/docs";
const timeoutMs = 240_000;
const runsAtOnce = 3;
/** Starts a demo for the snippet that includes it. */
const demoScript = "docs/examples/demo.sh";

/** Type-checks and runs what the documents show; one message, beginning with `document:line`, per failure. */
export async function documentProblems(documents: readonly string[]): Promise<string[]> {
  const blocks = documents.flatMap(readBlocks);
  const problems = [
    ...blocks
      .filter((block) => !kinds.has(block.info))
      .map((block) => `${at(block)}: "${block.info}" is no known kind`),
    ...blocks.filter((_, index) => isStrayOutput(blocks, index)).map((block) => `${at(block)}: output of no block`),
    ...(await typeProblems(blocks.filter((block) => block.info === "ts" || block.info === "ts run"))),
  ];
  if (problems.length > 0) return problems;

  // Most of a snippet is waiting. Those that would be in each other's way are run one after the other.
  const queue = documentsApart(documents).values();
  const found = new Map<Block, string[]>();
  const work = async (): Promise<void> => {
    for (const together of queue) {
      for (const [index, block] of blocks.entries()) {
        if (isRun(block) && together.includes(block.document)) {
          found.set(block, await runProblems(block, blocks[index + 1]));
        }
      }
    }
  };
  await Promise.all(Array.from({ length: runsAtOnce }, work));
  return blocks.flatMap((block) => found.get(block) ?? []);
}

/** Documents in groups of which no two have a port or a folder in common. */
export function documentsApart(documents: readonly string[]): string[][] {
  let groups: { documents: string[]; places: string[] }[] = [];
  for (const document of documents) {
    const places = placesOf(document);
    const isNear = (group: { places: string[] }) => group.places.some((place) => places.includes(place));
    const together = [...groups.filter(isNear), { documents: [document], places }];
    groups = [
      ...groups.filter((group) => !isNear(group)),
      { documents: together.flatMap((group) => group.documents), places: together.flatMap((group) => group.places) },
    ];
  }
  return groups.map((group) => group.documents);
}

/** What the snippets of a document take for themselves: ports, and folders below the one for snippets. */
function placesOf(document: string): string[] {
  const texts = readBlocks(document)
    .filter(isRun)
    .map(({ text }) => (text.includes(demoScript) ? text + readFileSync(join(repository, demoScript), "utf8") : text));
  return texts.flatMap((text) => text.match(/\b8[78]\d\d\b|\.build\/docs\/[\w-]+/g) ?? []);
}

function isRun(block: Block | undefined): boolean {
  return block?.info === "ts run" || block?.info === "sh";
}

function isStrayOutput(blocks: readonly Block[], index: number): boolean {
  const before = blocks[index - 1];
  const isOutput = blocks[index]?.info === "text output";
  const hasRun = isRun(before) || before?.info === "sh examples";
  return isOutput && !(hasRun && before?.document === blocks[index]?.document);
}

async function typeProblems(snippets: readonly Block[]): Promise<string[]> {
  rmSync(join(repository, buildFolder), { recursive: true, force: true });
  for (const block of snippets) {
    // The blank lines put each line of a snippet where the document has it, so that errors name the document's lines.
    write(`${snippetPath(block)}.ts`, "\n".repeat(block.line) + block.text);
  }
  write(`${buildFolder}/tsconfig.json`, JSON.stringify(snippetConfig));
  const { exit, output } = await run(join(repository, "node_modules/.bin/tsc"), [
    "-p",
    buildFolder,
    "--pretty",
    "false",
  ]);
  if (exit === 0) return [];
  return output.split(/\n(?=\S)/).map((error) => error.replace(/^\.build\/docs\/(.*)\/\d+\.ts\((\d+),\d+\)/, "$1:$2"));
}

const snippetConfig = {
  extends: "../../tsconfig.json",
  include: ["."],
  compilerOptions: {
    lib: ["ES2023"],
    types: ["node"],
    moduleDetection: "force",
    composite: false,
    declaration: false,
    isolatedDeclarations: false,
  },
};

async function runProblems(block: Block, next: Block | undefined): Promise<string[]> {
  const { exit, stdout, output } =
    block.info === "sh"
      ? await run("sh", ["-ec", block.text])
      : await run(process.execPath, ["--enable-source-maps", `${snippetPath(block)}.js`]);
  if (exit !== 0) return [`${at(block)}: exits with ${exit}\n${output}`];
  const isAsShown = next?.info !== "text output" || stdout.trimEnd() === next.text.trimEnd();
  return isAsShown ? [] : [`${at(block)}: prints\n${stdout.trimEnd()}\ninstead of\n${next.text.trimEnd()}`];
}

function run(program: string, args: string[]): Promise<{ exit: unknown; stdout: string; output: string }> {
  // A reader's shell is not started by npm.
  const env = { ...process.env, npm_command: undefined };
  return new Promise((resolve) => {
    execFile(program, args, { cwd: repository, env, timeout: timeoutMs }, (error, stdout, stderr) => {
      resolve({ exit: error ? (error.code ?? error.signal) : 0, stdout, output: (stdout + stderr).trim() });
    });
  });
}

function snippetPath(block: Block): string {
  return `${buildFolder}/${block.document}/${String(block.line).padStart(4, "0")}`;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true });
  writeFileSync(join(repository, path), text);
}

function at(block: Block): string {
  return `${block.document}:${block.line}`;
}
