import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

/** A source file's path in the repository, and its text. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

/** What is known of codes: the table, words that only look like codes, and codes whose room is still to come. */
export interface KnownCodes {
  readonly table: readonly string[];
  readonly notCodes: readonly string[];
  readonly notBuiltYet: readonly string[];
}

/** Files that name codes without producing them, and files whose snake_case words are columns. */
const otherwise =
  /\/contracts\/error-codes\.ts$|\/openapi[^/]*\.ts$|\/admission-errors\.ts$|^packages\/host\/src\/(storage\/|retention\/|audit\/(activity|audit-heads|audit-list|audit-tail|audit-verify|audit-export|anchors)\.ts$|access\/(count-once|credential-(end|uses|writes)|reviewer-problem)\.ts$|escalations\/(escalation-(answers|queue|rows)|answers-of-credential|close-escalations|withdraw)\.ts$|grants\/(grant-(makers|reads|writes)|invariant-rows)\.ts$|connections\/(authorization-requests|connection-tokens|connections)\.ts$|files\/(remove-files|file-rows)\.ts$|webhooks\/(deliveries|outbox)\.ts$|turns\/(absent-hosts|journal\/((count|live|read|take|wake)-turns|turns-of-credential))\.ts$|.*-store\.ts$)/;

/** The sources of the packages that may produce codes; tests do not. */
export function readSources(root: string): Source[] {
  return readAllSources(root).filter(({ file }) => !otherwise.test(file));
}

/** The sources of the packages, without their tests. */
export function readAllSources(root: string): Source[] {
  return readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
    .map((path) => `packages/${path}`)
    .filter((file) => /^packages\/[^/]+\/src\/.*\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
    .toSorted()
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
}

/** One sentence per disagreement between what the sources produce and what is known of codes. */
export function codeProblems(sources: readonly Source[], { table, notCodes, notBuiltYet }: KnownCodes): string[] {
  const literals = sources.flatMap(({ file, text }) => readLiterals(file, text).map((literal) => ({ file, literal })));
  const written = new Set(literals.map(({ literal }) => literal));
  const unknown = literals.filter(
    ({ literal }) => /^[a-z]+(_[a-z]+)+$/.test(literal) && !table.includes(literal) && !notCodes.includes(literal),
  );
  return [
    ...unknown.map(({ file, literal }) => `${file}: ${literal} is not in the table`),
    ...table
      .filter((code) => !written.has(code) && !notBuiltYet.includes(code))
      .map((code) => `${code} is in the table, but nothing produces it`),
    ...notBuiltYet.filter((code) => written.has(code)).map((code) => `${code} is produced: it is built now`),
    ...notBuiltYet
      .filter((code) => !table.includes(code))
      .map((code) => `${code} is to be built, but not in the table`),
    ...notCodes.filter((word) => !written.has(word)).map((word) => `${word} is excused, but nowhere written`),
  ];
}

/** The strings written in expressions; the literals of types are none. */
function readLiterals(file: string, text: string): string[] {
  const { program, errors } = parseSync(file, text);
  if (errors[0]) throw new SyntaxError(`${file}: ${errors[0].message}`);
  const found: string[] = [];
  const inTypes = new Set<number>();
  new Visitor({
    TSLiteralType: ({ literal }) => inTypes.add(literal.start),
    Literal: ({ value, start }) => typeof value === "string" && !inTypes.has(start) && found.push(value),
    TemplateLiteral: ({ quasis, start }) =>
      quasis.length === 1 && !inTypes.has(start) && found.push(quasis[0]?.value.cooked ?? ""),
  }).visit(program);
  return found;
}
