import { z } from "zod";
import { defineFileAction, type FileAction } from "./file-action.ts";
import { listAction, showStat, StatSchema } from "./list-action.ts";
import { noFile } from "./file-errors.ts";

const reading = { readWrite: "read", annotations: { readOnly: true } } as const;

/** Looking at files by their names. */
export const readActions: readonly FileAction[] = [
  listAction,
  defineFileAction({
    ...reading,
    action: "stat",
    description: "Says which version, size and age a file has.",
    place: "file",
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
    place: "file",
    input: {},
    output: z.strictObject({ content: z.string(), version: z.int() }),
    async run({ files, of, path }) {
      const file = await files.read(of, path);
      if (file === undefined) throw noFile();
      return file;
    },
  }),
];
