import { TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { readCursor, writeCursor } from "./cursor.ts";
import { defineFileAction, joinPath, pageInput, pageOutput, questionOf, type FileCall } from "./file-action.ts";
import type { FileStat } from "./file-rows.ts";
import { pathText } from "./file-columns.ts";
import { takePage } from "./paginate.ts";

/** What there is to know about a file. */
export const StatSchema = z.strictObject({
  path: z.string(),
  version: z.int(),
  size: z.int().describe("bytes of UTF-8"),
  updatedAt: TimestampSchema,
});

export function showStat({ path, ...stat }: FileStat): z.input<typeof StatSchema> {
  return { path: joinPath(path), ...stat };
}

const EntrySchema = z.discriminatedUnion("kind", [
  StatSchema.extend({ kind: z.literal("file") }),
  z.strictObject({ kind: z.literal("folder"), path: z.string() }),
]);

/** A file, or a folder that has files below it; the key is where it stands in the order of paths. */
type Entry = { key: string; path: readonly string[] } & ({ kind: "file"; stat: FileStat } | { kind: "folder" });

export const listAction = defineFileAction({
  action: "list",
  description: "Lists the files at and below a folder; with depth 1 its own files and folders.",
  place: "folder",
  readWrite: "read",
  annotations: { readOnly: true },
  input: { depth: z.literal(1).optional().describe("1: what is directly in the folder"), ...pageInput },
  output: z.strictObject({ entries: z.array(EntrySchema), ...pageOutput }),
  async run(call, { depth = null, limit, cursor }) {
    const question = questionOf(call, depth);
    const after = readCursor(question, cursor, z.string());
    const entries = depth === 1 ? childrenOf(call, after) : filesOf(call, after);
    const { items, hasMore } = await takePage(entries, limit, ({ path }) => call.covers(path));
    const last = items.at(-1);
    return { entries: items.map(show), ...(hasMore && last && { cursor: writeCursor(question, last.key) }) };
  },
});

function show(entry: Entry): z.input<typeof EntrySchema> {
  if (entry.kind === "folder") return { kind: "folder", path: joinPath(entry.path) };
  return { kind: "file", ...showStat(entry.stat) };
}

async function* filesOf({ files, of, path }: FileCall, after: string | undefined): AsyncGenerator<Entry> {
  for await (const stat of files.walk(of, path, after)) {
    const key = pathText(stat.path);
    if (key !== after) yield { kind: "file", key, path: stat.path, stat };
  }
}

/** What is directly in a folder. What is below one of its folders follows each other, and stands for that folder. */
async function* childrenOf(call: FileCall, after: string | undefined): AsyncGenerator<Entry> {
  const depth = call.path.length + 1;
  let last = after;
  for await (const file of filesOf(call, after)) {
    const isDirect = file.path.length <= depth;
    const path = file.path.slice(0, depth);
    const entry: Entry = isDirect ? file : { kind: "folder", key: `${pathText(path)}/`, path };
    if (entry.key !== last) yield entry;
    last = entry.key;
  }
}
