import { readFileSync, renameSync, writeFileSync } from "node:fs";
import {
  ConstraintsSchema,
  describeIssues,
  GrantSchema,
  IdentifierSchema,
  principalKey,
  type Grant,
} from "turnpike/contracts";
import { z } from "zod";
import { ConfigError, inFile, parsePlaced, type TextPlace } from "../shared/index.ts";
import { jsonText, oneLine } from "./table.ts";

/** Another format of the file gets another number. */
const format = "turnpike-grants/1";
export const maxGrants = 10_000;

const FileGrantSchema = z.strictObject({
  id: IdentifierSchema,
  subject: GrantSchema.shape.subject,
  issuer: GrantSchema.shape.issuer,
  capabilities: GrantSchema.shape.capabilities,
  constraints: ConstraintsSchema,
  parent: IdentifierSchema.optional(),
});

const GrantFileSchema = z.strictObject({
  format: z.literal(format),
  tenant: IdentifierSchema,
  grants: z.array(FileGrantSchema).max(maxGrants),
});

/** A grant in a file. Its id is a label: the grants that are derived from it name it as their parent. */
export type FileGrant = z.infer<typeof FileGrantSchema>;

/** The grants of a tenant as a file. */
export type GrantFile = Pick<z.infer<typeof GrantFileSchema>, "tenant" | "grants">;

/** A grant as a file has it. When it was issued, by which request and how often it was used is not authority. */
export function toFileGrant({ id, subject, issuer, capabilities, constraints, parentId }: Grant): FileGrant {
  return {
    id,
    subject,
    issuer,
    capabilities,
    constraints,
    ...(parentId !== undefined && { parent: parentId }),
  };
}

/** The text of a file: a block for each grant, those of one holder together, so that a review sees what changed. */
export function writeGrantFile({ tenant, grants }: GrantFile): string {
  const sorted = grants.toSorted(
    (one, other) => compare(principalKey(one.subject), principalKey(other.subject)) || compare(one.id, other.id),
  );
  const blocks = sorted.map((grant) => `    {\n${membersOf(grant).join(",\n")}\n    }`);
  const list = blocks.length === 0 ? "[]" : `[\n${blocks.join(",\n")}\n  ]`;
  return `{\n  "format": ${jsonText(format)},\n  "tenant": ${jsonText(tenant)},\n  "grants": ${list}\n}\n`;
}

function membersOf({ capabilities, ...grant }: FileGrant): string[] {
  const { id, subject, issuer, constraints, parent } = grant;
  const rows = capabilities.map((capability) => `        ${onOneLine(capability)}`);
  const member = (name: string, value: unknown): string => `      "${name}": ${onOneLine(value)}`;
  return [
    member("id", id),
    member("subject", subject),
    member("issuer", issuer),
    `      "capabilities": [\n${rows.join(",\n")}\n      ]`,
    member("constraints", constraints),
    ...(parent === undefined ? [] : [member("parent", parent)]),
  ];
}

/** JSON on one line, with spaces where people expect them. Inside a text there is no line break. */
function onOneLine(value: unknown): string {
  return jsonText(value, 1).replaceAll(/\n */g, " ");
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The text of a file, or of standard input for `-`. */
export function readGrantText(flag: string, file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    throw new ConfigError(`${flag} ${file}: expected a file that can be read.`, { cause });
  }
}

/** Writes what `--out` names: a reader sees the old file or the new one, and nothing between. */
export function writeOut(file: string, text: string): void {
  try {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  } catch (cause) {
    throw new ConfigError(`--out ${file}: expected a file that can be written.`, { cause });
  }
}

/** Reads the text of a file. Throws a `ConfigError` that names the place of what is wrong. */
export function readGrantFile(file: string, text: string): GrantFile {
  const { value, placeOf, keyPlaceOf } = parsePlaced(file, text);
  const wrong = (place: TextPlace, what: string): ConfigError =>
    new ConfigError(`${inFile(file, place)}: ${oneLine(what)}`);
  const checked = GrantFileSchema.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const path = issue?.path ?? [];
    const place = issue?.code === "unrecognized_keys" ? keyPlaceOf([...path, issue.keys[0] ?? ""]) : placeOf(path);
    throw wrong(place, describeIssues(checked.error.issues));
  }
  const { tenant, grants } = checked.data;
  requireLabels(grants, (path, what) => wrong(placeOf(["grants", ...path]), what));
  return { tenant, grants };
}

/** What is wrong with the value at a path of the list of grants. */
type Wrong = (path: readonly PropertyKey[], what: string) => ConfigError;

/** Each label is there once, each parent is a label, and nothing is derived from itself. */
function requireLabels(grants: readonly FileGrant[], wrong: Wrong): void {
  const parents = new Map<string, string | undefined>();
  for (const [place, { id, parent }] of grants.entries()) {
    if (parents.has(id)) throw wrong([place, "id"], `two grants have the id "${id}".`);
    parents.set(id, parent);
  }
  for (const [place, { id, parent }] of grants.entries()) {
    if (parent === undefined) continue;
    const at = [place, "parent"];
    if (!parents.has(parent)) throw wrong(at, `no grant of the file has the id "${parent}".`);
    const above = new Set([id]);
    for (let one: string | undefined = parent; one !== undefined; one = parents.get(one)) {
      if (above.has(one)) throw wrong(at, `the grant "${id}" would be derived from itself.`);
      above.add(one);
    }
  }
}
