import { defineTool, type ToolHandler } from "turnpike/kernel";
import { z } from "zod";
import {
  requirementAt,
  openCall,
  targetPaths,
  type FileAction,
  type FileServices,
  type FileTarget,
} from "./file-action.ts";
import { fileActions } from "./file-actions.ts";

/** The actions on files as the tools `files.*`. */
export function fileTools(services: FileServices): ToolHandler[] {
  return fileActions.map((action) => fileTool(services, action));
}

/** 64 segments of 256 characters, and the slashes between them. */
const longestPath = 64 * 257 - 1;

/** A path as a tool takes it. */
function pathInput(target: FileTarget): z.ZodType<string[], string> {
  const root = target === "folder" ? "; empty for the root" : "";
  return z
    .string()
    .max(longestPath)
    .describe(`slash-separated, such as notes/${target === "folder" ? "2026" : "todo.md"}${root}`)
    .transform((path) => (path === "" ? [] : path.split("/")))
    .pipe(targetPaths[target]);
}

function fileTool(services: FileServices, { action, target, input, output, run, ...about }: FileAction): ToolHandler {
  const { description, readWrite, annotations } = about;
  return defineTool({
    name: `files.${action.replace(":", ".")}`,
    description,
    namespace: "files",
    readWrite,
    ...(annotations && { annotations }),
    input: z.strictObject({ path: pathInput(target), ...input.shape }),
    output,
    requires: { ceiling: requirementAt(action, []), of: ({ path }) => requirementAt(action, path) },
    run({ path, ...rest }, toolRun) {
      return run(openCall(services, toolRun.call, { action, path, run: toolRun }), rest);
    },
  });
}
