import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { link, mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { canonicalJson, describeIssues } from "turnpike/contracts";
import { z } from "zod";
import { expectedRow, type Head } from "../ledger/index.ts";
import { HashSchema, StrandPlaceSchema } from "../admin-contract/index.ts";
import { AuditExportError } from "./audit-export.ts";
import { signatureProblem } from "./signed-record.ts";
import type { VerifyingKey } from "./signing-key.ts";

const HeaderSchema = z.strictObject({
  kind: z.literal("turnpike.audit.export"),
  version: z.literal(1),
  namespaceId: z.string(),
  at: z.string(),
  before: z.string().optional(),
  /** Behind which rows those of the file begin, by strand. */
  from: z.array(StrandPlaceSchema),
});

const RowSchema = z.strictObject({
  strand: z.int().min(0),
  sequence: z.int().min(1),
  previous: HashSchema,
  hash: HashSchema,
  event: z.record(z.string(), z.unknown()),
});

const EndSchema = HeaderSchema.extend({
  kind: z.literal("turnpike.audit.export.end"),
  /** The last rows of the file, by strand. */
  heads: z.array(StrandPlaceSchema),
  rows: z.int().min(0),
  key: z.string(),
  signature: z.string(),
});

/** The last line of an export: which rows it has, signed. */
export type ExportEnd = z.infer<typeof EndSchema>;

/**
 * Writes an export for its owner alone. Returns when the whole of it is on the disk under its name, where no file may be
 * yet; when it fails, no file is left there.
 */
export async function writeExport(file: string, pages: AsyncIterable<{ lines: readonly string[] }>): Promise<void> {
  const draft = `${file}.${randomUUID()}.part`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      for await (const { lines } of pages) await handle.appendFile(lines.map((line) => `${line}\n`).join(""));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  const folder = await open(dirname(file), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Follows every chain of an export to its signed end, and returns that. Throws `AuditExportError`. */
export async function verifyExport(file: string, key: VerifyingKey): Promise<ExportEnd> {
  const lasts = new Map<number, Head>();
  let header: z.infer<typeof HeaderSchema> | undefined;
  let end: ExportEnd | undefined;
  let number = 0;
  const fail = (why: string): AuditExportError => new AuditExportError(`${file}: ${why}`);
  const read = <T>(schema: z.ZodType<T>, value: unknown): T => {
    const { data, error } = schema.safeParse(value);
    if (error === undefined) return data;
    throw fail(`line ${number} is not of an export: ${describeIssues(error.issues)}`);
  };
  const takeRow = (namespaceId: string, value: unknown): void => {
    const { strand, sequence, previous, hash, event } = read(RowSchema, value);
    const last = lasts.get(strand);
    const expected = last && expectedRow(last, strand, canonicalJson(event));
    const isWhole = expected?.sequence === sequence && expected.hash === hash && expected.namespace_id === namespaceId;
    if (!isWhole || last?.hash !== previous)
      throw fail(`line ${number} was changed, or lines before it were removed: it is not the row that belongs there.`);
    lasts.set(strand, { sequence, hash });
  };
  for await (const line of readLines(file)) {
    number += 1;
    if (end !== undefined) throw fail(`line ${number} comes after the end.`);
    const value = jsonOf(line);
    if (header === undefined) {
      header = read(HeaderSchema, value);
      for (const { strand, ...head } of header.from) lasts.set(strand, head);
    } else if (kindOf(value) === "turnpike.audit.export.end") end = read(EndSchema, value);
    else takeRow(header.namespaceId, value);
  }
  if (header === undefined || end === undefined) throw fail("its end is missing: it was cut, or never finished.");
  const problem = signatureProblem(end, key);
  if (problem !== undefined) throw fail(`its end ${problem}.`);
  const { kind: _end, heads, rows, key: _key, signature: _signature, ...said } = end;
  const { kind: _header, ...begun } = header;
  const found = Array.from(lasts, ([strand, head]) => ({ strand, ...head }));
  if (
    canonicalJson(said) !== canonicalJson(begun) ||
    canonicalJson(found) !== canonicalJson(heads) ||
    rows !== number - 2
  )
    throw fail("its end is not that of these rows: lines were changed or removed.");
  return end;
}

function kindOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined;
}

/** The lines of a file. `node:readline` ends some of them at U+2028 as well, which JSON has within its strings. */
async function* readLines(file: string): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of createReadStream(file, "utf8")) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** Of a repeated key one reader takes the first and another one the last, so a line counts only as it was written. */
function jsonOf(line: string): unknown {
  try {
    const value = JSON.parse(line) as unknown;
    return canonicalJson(value) === line ? value : undefined;
  } catch {
    return undefined;
  }
}
