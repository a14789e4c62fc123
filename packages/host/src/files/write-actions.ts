import { z } from "zod";
import { defineFileAction, type FileAction } from "./file-action.ts";
import { showStat, StatSchema } from "./list-action.ts";

const content = { content: z.string() };
const expectedVersion = {
  expectedVersion: z.int().min(1).optional().describe("change nothing when the file has another version"),
};

/** Changing one file. What is replaced or deleted is lost, unless a snapshot has it. */
export const writeActions: readonly FileAction[] = [
  defineFileAction({
    action: "create",
    description: "Creates a file where there is none.",
    place: "file",
    readWrite: "write",
    annotations: { destructive: false },
    input: content,
    output: StatSchema,
    run: async ({ files, of, path, signal }, input) => showStat(await files.create(of, path, input.content, signal)),
  }),
  defineFileAction({
    action: "replace",
    description: "Replaces the whole content of a file.",
    place: "file",
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
    place: "file",
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
    place: "file",
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
