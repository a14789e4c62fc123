import { TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { defineFileAction, joinPath, requestOf, type FileAction, type FileCall } from "./file-action.ts";
import { pathText } from "./file-columns.ts";
import { noFile } from "./file-errors.ts";
import type { FileStat } from "./file-rows.ts";
import { grepAction } from "./grep-action.ts";
import { pageInput, pageOutput, readCursor, paginate, writeCursor } from "./paginate.ts";
import { searchAction } from "./search-action.ts";
import { snapshotActions } from "./snapshot-actions.ts";

/** The metadata of a file. */
const StatSchema = z.strictObject({
  path: z.string(),
  version: z.int(),
  size: z.int().describe("bytes of UTF-8"),
  updatedAt: TimestampSchema,
});

function showStat({ path, ...stat }: FileStat): z.input<typeof StatSchema> {
  return { path: joinPath(path), ...stat };
}

const EntrySchema = z.discriminatedUnion("kind", [
  StatSchema.extend({ kind: z.literal("file") }),
  z.strictObject({ kind: z.literal("folder"), path: z.string() }),
]);

/** A file, or a folder that has files below it. The key is its position in the order of paths. */
type Entry = { key: string; path: readonly string[] } & ({ kind: "file"; stat: FileStat } | { kind: "folder" });

const listAction = defineFileAction({
  action: "list",
  description: "Lists the files at and below a folder; with depth 1 its own files and folders.",
  target: "folder",
  readWrite: "read",
  annotations: { readOnly: true },
  input: { depth: z.literal(1).optional().describe("1: what is directly in the folder"), ...pageInput },
  output: z.strictObject({ entries: z.array(EntrySchema), ...pageOutput }),
  async run(call, { depth = null, limit, cursor }) {
    const request = requestOf(call, depth);
    const after = readCursor(request, cursor, z.string());
    const entries = depth === 1 ? childrenOf(call, after) : filesOf(call, after);
    const { items, hasMore } = await paginate(entries, limit, ({ path }) => call.covers(path));
    const last = items.at(-1);
    return { entries: items.map(show), ...(hasMore && last && { cursor: writeCursor(request, last.key) }) };
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

/** The files and folders directly in a folder. Files below the same subfolder are adjacent, and make one entry. */
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

const reading = { readWrite: "read", annotations: { readOnly: true } } as const;

/** The actions that read one file. */
const readActions: readonly FileAction[] = [
  defineFileAction({
    ...reading,
    action: "stat",
    description: "Says which version, size and age a file has.",
    target: "file",
    input: {},
    output: StatSchema,
    async run({ files, of, path }) {
      const stat = await files.stat(of, path);
      if (stat === undefined) throw noFile();
      return showStat(stat);
    },
  }),
  defineFileAction({
    ...reading,
    action: "read",
    description: "Reads one file.",
    target: "file",
    input: {},
    output: z.strictObject({ content: z.string(), version: z.int() }),
    async run({ files, of, path }) {
      const file = await files.read(of, path);
      if (file === undefined) throw noFile();
      return file;
    },
  }),
];

const content = { content: z.string() };
const expectedVersion = {
  expectedVersion: z.int().min(1).optional().describe("change nothing when the file has another version"),
};

/** The actions that change one file. What is replaced or deleted is lost, unless a snapshot has it. */
const writeActions: readonly FileAction[] = [
  defineFileAction({
    action: "create",
    description: "Creates a file where there is none.",
    target: "file",
    readWrite: "write",
    annotations: { destructive: false },
    input: content,
    output: StatSchema,
    run: async ({ files, of, path, signal }, input) => showStat(await files.create(of, path, input.content, signal)),
  }),
  defineFileAction({
    action: "replace",
    description: "Replaces the whole content of a file.",
    target: "file",
    readWrite: "write",
    annotations: { destructive: true },
    input: { ...content, ...expectedVersion },
    output: StatSchema,
    run: async ({ files, of, path, signal }, input) =>
      showStat(await files.replace(of, path, input.content, input.expectedVersion, signal)),
  }),
  defineFileAction({
    action: "append",
    description: "Adds to the end of a file.",
    target: "file",
    readWrite: "write",
    annotations: { destructive: false },
    input: { ...content, ...expectedVersion },
    output: StatSchema,
    run: async ({ files, of, path, signal }, input) =>
      showStat(await files.append(of, path, input.content, input.expectedVersion, signal)),
  }),
  defineFileAction({
    action: "delete",
    description: "Deletes a file. A file that is created there later goes on counting versions.",
    target: "file",
    readWrite: "write",
    // A second time there is nothing left to delete.
    annotations: { destructive: true, idempotent: true },
    input: expectedVersion,
    output: z.strictObject({ version: z.int() }),
    run: async ({ files, of, path, signal }, input) => ({
      version: await files.delete(of, path, input.expectedVersion, signal),
    }),
  }),
];

/** Every action on files. */
export const fileActions: readonly FileAction[] = [
  listAction,
  ...readActions,
  searchAction,
  grepAction,
  ...writeActions,
  ...snapshotActions,
];
