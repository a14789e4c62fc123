import { TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { pageInput, pageOutput, readCursor, writeCursor, paginate } from "./paginate.ts";
import { defineFileAction, joinPath, requestOf, type FileAction } from "./file-action.ts";
import type { Snapshot } from "./snapshot-store.ts";

const SnapshotSchema = z.strictObject({
  id: z.string(),
  path: z.string(),
  label: z.string().optional(),
  createdAt: TimestampSchema,
});

/** The actions that make, list and restore snapshots. */
export const snapshotActions: readonly FileAction[] = [
  defineFileAction({
    action: "snapshot:create",
    description: "Stores the files at and below a path as they are now, for a later restore.",
    target: "folder",
    readWrite: "write",
    annotations: { destructive: false },
    input: { label: z.string().min(1).max(256).optional() },
    output: SnapshotSchema.extend({ files: z.int().describe("how many files the snapshot has") }),
    async run(call, { label }) {
      const { files, ...snapshot } = await call.files.snapshots.create(call.of, call.path, label, call);
      return { ...show(snapshot), files };
    },
  }),
  defineFileAction({
    action: "snapshot:list",
    description: "Lists the snapshots at and below a path, the newest first.",
    target: "folder",
    readWrite: "read",
    annotations: { readOnly: true },
    input: pageInput,
    output: z.strictObject({ snapshots: z.array(SnapshotSchema), ...pageOutput }),
    async run(call, { limit, cursor }) {
      const request = requestOf(call);
      const after = readCursor(request, cursor, z.string());
      const all = await call.files.snapshots.list(call.of);
      const following = all.slice(all.findIndex(({ id }) => id === after) + 1);
      const inside = following.filter(({ path }) => call.path.every((segment, place) => path[place] === segment));
      const { items, hasMore } = await paginate(inside, limit, ({ path }) => call.covers(path));
      const last = items.at(-1);
      return { snapshots: items.map(show), ...(hasMore && last && { cursor: writeCursor(request, last.id) }) };
    },
  }),
  defineFileAction({
    action: "snapshot:restore",
    description:
      "Makes the files at and below a snapshot's path what they were; files that were not there then are deleted.",
    target: "folder",
    readWrite: "write",
    // A second time everything is as it was in the snapshot already.
    annotations: { destructive: true, idempotent: true },
    input: { snapshot: z.string().max(256).describe("the id of a snapshot of this very path") },
    output: z.strictObject({ written: z.int(), deleted: z.int() }),
    run: (call, { snapshot }) => call.files.snapshots.restore(call.of, call.path, snapshot, call),
  }),
];

function show({ path, ...snapshot }: Snapshot): z.input<typeof SnapshotSchema> {
  return { ...snapshot, path: joinPath(path) };
}
