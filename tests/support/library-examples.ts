import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseSync } from "oxc-parser";
import { repository } from "./repository.ts";

/** A public function of the library, and what its comment says. */
export interface DocumentedFunction {
  /** Such as `turnpike/kernel createKernel`. */
  readonly name: string;
  /** Where it is declared, as `file:line`. */
  readonly place: string;
  /** The comment in front of it without its tags; empty when there is none. */
  readonly sentence: string;
  /** What follows `@example`; undefined when there is none. */
  readonly example: string | undefined;
}

/** Every function that a room's `index.ts` exports. */
export function readFunctions(room: string, index: string): DocumentedFunction[] {
  return exportsOf(index).flatMap(({ name, source, imported }) => {
    const found = source === undefined ? undefined : findFunction(join(dirname(index), source), imported);
    return found === undefined ? [] : [{ name: `turnpike/${room} ${name}`, ...found }];
  });
}

/** Named values that a file exports from another. */
function exportsOf(file: string): { name: string; imported: string; source: string | undefined }[] {
  const nameOf = (one: { type: string; value?: unknown; name?: string }): string => String(one.name ?? one.value);
  return parseSync(file, readFileSync(file, "utf8")).program.body.flatMap((statement) =>
    statement.type !== "ExportNamedDeclaration" || statement.exportKind === "type"
      ? []
      : statement.specifiers
          .filter(({ exportKind }) => exportKind !== "type")
          .map(({ exported, local }) => ({
            name: nameOf(exported),
            imported: nameOf(local),
            source: statement.source?.value,
          })),
  );
}

/** The declaration of a function in a file, or in the one that it re-exports it from; undefined for any other value. */
function findFunction(file: string, name: string): Omit<DocumentedFunction, "name"> | undefined {
  const text = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, text);
  for (const statement of program.body) {
    if (statement.type !== "ExportNamedDeclaration" || statement.declaration?.type !== "FunctionDeclaration") continue;
    if (statement.declaration.id?.name !== name) continue;
    const comment = comments.findLast(
      ({ end, value }) =>
        end <= statement.start && text.slice(end, statement.start).trim() === "" && value.startsWith("*"),
    );
    const [sentence = "", example] = linesOf(comment?.value ?? "").split(/^@example\n/m);
    const line = text.slice(0, statement.start).split("\n").length;
    return { place: `${relative(repository, file)}:${line}`, sentence: sentence.trim(), example: example?.trimEnd() };
  }
  const again = exportsOf(file).find((one) => one.name === name && one.source !== undefined);
  return again?.source === undefined ? undefined : findFunction(join(dirname(file), again.source), again.imported);
}

/** The lines of a comment without its asterisks. */
function linesOf(comment: string): string {
  const lines = comment.slice(1).split("\n");
  return lines.map((line) => line.replace(/^ *\* ?/, "")).join("\n");
}

/** What examples may use without saying what it is. */
const common = `
import type { AccessContext, Grant } from "turnpike/contracts";

export const alice = { kind: "human", userId: "alice" } as const;
export const helper = { kind: "agent", agentId: "helper" } as const;
/** Alice lets the helper read all notes. */
export const grant: Grant = {
  id: "grant-1",
  namespaceId: "home",
  subject: helper,
  issuer: alice,
  capabilities: [{ resource: { namespace: "notes", path: [] }, actions: ["read"], scope: "descendants" }],
  constraints: {},
  issuedAt: "2026-01-01T00:00:00Z",
};
export const context: AccessContext = {
  actor: helper,
  authority: alice,
  owner: alice,
  namespaceId: "home",
  purpose: "help",
  enabledToolNamespaces: ["notes"],
  traceId: "trace-1",
  now: "2026-01-01T12:00:00Z",
};
`;

const folder = ".build/examples";
const config = {
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

/** Imports every example, one after the other, and prints what each printed, or threw. */
const runner = `
import { format } from "node:util";
const said = [];
for (const place of JSON.parse(process.argv[2])) {
  const printed = [];
  console.log = (...values) => printed.push(format(...values));
  try {
    await import(\`./\${place}.js\`);
  } catch (error) {
    printed.push(String(error));
  }
  said.push(printed);
}
process.stdout.write(JSON.stringify(said));
`;

/** Type-checks and runs the examples in one process: each `console.log` has to print what the comment behind it says. */
export function exampleProblems(functions: readonly DocumentedFunction[]): string[] {
  const shown = functions.filter((one) => one.example !== undefined);
  rmSync(join(repository, folder), { recursive: true, force: true });
  mkdirSync(join(repository, folder), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(repository, folder, name), text);
  write("tsconfig.json", JSON.stringify(config));
  write("common.ts", common);
  write("run.mjs", runner);
  shown.forEach(({ example = "" }, index) => {
    const used = ["alice", "helper", "grant", "context"].filter((name) =>
      new RegExp(`(?<![.\\w"])${name}\\b(?!["\\w]| =)`).test(example),
    );
    write(`${index}.ts`, `${used.length > 0 ? `import { ${used.join(", ")} } from "./common.ts";` : ""}\n${example}\n`);
  });
  const checked = spawnSync(join(repository, "node_modules/.bin/tsc"), ["-p", folder, "--pretty", "false"], {
    cwd: repository,
    encoding: "utf8",
  });
  if (checked.status !== 0)
    return checked.stdout
      .trim()
      .split(/\n(?=\S)/)
      .map((error) =>
        error.replace(/^.build\/examples\/(\d+)\.ts/, (_match, index) => shown[Number(index)]?.name ?? ""),
      );
  const places = JSON.stringify(shown.map((_one, index) => String(index)));
  const said = JSON.parse(
    execFileSync(process.execPath, [join(repository, folder, "run.mjs"), places], {
      cwd: repository,
      encoding: "utf8",
      timeout: 60_000,
    }),
  ) as string[][];
  return shown.flatMap(({ name, example = "" }, index) => {
    const expected = [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    const printed = said[index] ?? [];
    if (expected.length === 0) return [`${name}: shows no result`];
    return printed.join("\n") === expected.join("\n")
      ? []
      : [`${name}: prints\n${printed.join("\n")}\ninstead of\n${expected.join("\n")}`];
  });
}
