import { defineTool, type ToolHandler } from "turnpike/kernel";
import { z } from "zod";
import { needs, openCall, placePaths, type FileAction, type FileDesk, type Place } from "./file-action.ts";
import { fileActions } from "./file-actions.ts";

/** The actions on files as the tools `files.*`. */
export function fileTools(desk: FileDesk): ToolHandler[] {
  return fileActions.map((action) => fileTool(desk, action));
}

/** 64 segments of 256 characters, and the slashes between them. */
const longestPath = 64 * 257 - 1;

/** A path as a tool takes it. */
function pathInput(place: Place): z.ZodType<string[], string> {
  const root = place === "folder" ? "; empty for the root" : "";
  return z
    .string()
    .max(longestPath)
    .describe(`slash-separated, such as notes/${place === "folder" ? "2026" : "todo.md"}${root}`)
    .transform((path) => (path === "" ? [] : path.split("/")))
    .pipe(placePaths[place]);
}

function fileTool(desk: FileDesk, { action, place, input, output, run, ...about }: FileAction): ToolHandler {
  const { description, readWrite, annotations } = about;
  return defineTool({
    name: `files.${action.replace(":", ".")}`,
    description,
    namespace: "files",
    readWrite,
    ...(annotations && { annotations }),
    input: z.strictObject({ path: pathInput(place), ...input.shape }),
    output,
    requires: { ceiling: needs(action, []), of: ({ path }) => needs(action, path) },
    run({ path, ...rest }, { context, call, signal }) {
      return run(openCall(desk, call, { action, path, context, signal }), rest);
    },
  });
}
