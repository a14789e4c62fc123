import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

/** One import as it is written in `file`; `target` is the file it names, when that file is one of the workspace. */
export interface Import {
  readonly file: string;
  readonly specifier: string;
  readonly target: string | undefined;
  /** Whether nothing of it is left when the program runs. */
  readonly isType: boolean;
}

const workspace = new Map([
  ["turnpike", "packages/turnpike/src"],
  ["turnpike-host", "packages/host/src"],
]);

/** Every import in the packages' sources, tests apart: static, re-exported, dynamic and in types. Paths are relative to `root`. */
export function readImports(root: string): Import[] {
  return sourceFiles(root).flatMap((file) =>
    specifiers(file, readFileSync(join(root, file), "utf8")).map(({ specifier, isType }) => ({
      file,
      specifier,
      target: resolve(file, specifier),
      isType,
    })),
  );
}

function sourceFiles(root: string): string[] {
  return readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
    .filter((path) => /^[^/]+\/src\/.*\.tsx?$/.test(path) && !isTest(path))
    .map((path) => `packages/${path}`)
    .toSorted();
}

/** Whether a file is a test, by its name. */
export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}

function specifiers(file: string, text: string): Pick<Import, "specifier" | "isType">[] {
  const found: Pick<Import, "specifier" | "isType">[] = [];
  const add = (specifier: string, isType: boolean): unknown => found.push({ specifier, isType });
  const { program, errors } = parseSync(file, text);
  if (errors[0]) throw new SyntaxError(`${file}: ${errors[0].message}`);
  new Visitor({
    ImportDeclaration: (node) => add(node.source.value, node.importKind === "type"),
    ExportAllDeclaration: (node) => add(node.source.value, node.exportKind === "type"),
    ExportNamedDeclaration: (node) => node.source && add(node.source.value, node.exportKind === "type"),
    TSImportType: (node) => add(node.source.value, true),
    // A computed import stays in the list as its source text, so that it cannot slip past the rules.
    ImportExpression: ({ source }) =>
      add(source.type === "Literal" ? String(source.value) : text.slice(source.start, source.end), false),
  }).visit(program);
  return found;
}

function resolve(file: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(file), specifier);
  const [name = "", ...subpath] = specifier.split("/");
  const folder = workspace.get(name);
  return folder && posix.join(folder, ...subpath, subpath.length === 1 ? "index.ts" : "");
}
