import {
  PathSchema,
  type AccessContext,
  type AuthorizationRequest,
  type JsonValue,
  type ResourceOperation,
  type ToolAnnotations,
  type ToolCall,
} from "turnpike/contracts";
import { z } from "zod";
import type { FileOwner } from "./file-columns.ts";
import type { FileStore } from "./file-store.ts";
import type { PathCoverage } from "./snapshot-contents.ts";

/** Whether the grants that allowed an act, which is now running, also allow another request. */
type Covers = (act: ToolCall | ResourceOperation, request: AuthorizationRequest) => Promise<boolean>;

/** What every action on files works with. */
export interface FileServices {
  files: FileStore;
  covers: Covers;
}

/** One act on files that was allowed at its path. The caller may see other files only where `covers` says so. */
export interface FileCall extends PathCoverage {
  files: FileStore;
  of: FileOwner;
  action: string;
  path: readonly string[];
}

/** What an action works on: a file, which has a name, or a folder, which may be the root. */
export type FileTarget = "file" | "folder";

/** The schema of the paths of each kind of target. */
export const targetPaths = { file: PathSchema.min(1), folder: PathSchema } as const satisfies Record<
  FileTarget,
  z.ZodType
>;

/** One thing that can be done with files. Tools and the resource namespace both offer it. */
export interface FileAction {
  action: string;
  description: string;
  target: FileTarget;
  readWrite: "read" | "write";
  annotations?: ToolAnnotations;
  /** The schema of the input besides the path. */
  input: z.ZodObject;
  output: z.ZodType;
  /** Throws a `ToolError` to fail with a message that the caller may read. */
  run(call: FileCall, input: unknown): Promise<unknown>;
}

/** The definition of an action, typed by its schemas. */
interface FileActionDefinition<Shape extends z.ZodRawShape, Output extends z.ZodType> extends Omit<
  FileAction,
  "input" | "output" | "run"
> {
  input: Shape;
  output: Output;
  run(call: FileCall, input: z.output<z.ZodObject<Shape>>): Promise<z.input<Output>>;
}

export function defineFileAction<Shape extends z.ZodRawShape, Output extends z.ZodType>(
  definition: FileActionDefinition<Shape, Output>,
): FileAction {
  const run = definition.run as FileAction["run"];
  return { ...definition, input: z.strictObject(definition.input), run };
}

/** The authority that an action needs at a path. */
export function requirementAt(action: string, path: readonly string[]): AuthorizationRequest {
  return { action, resource: { namespace: "files", path: [...path] } };
}

/** Binds an action to the act that was allowed. */
export function openCall(
  { files, covers }: FileServices,
  act: ToolCall | ResourceOperation,
  { action, path, run }: Pick<FileCall, "action" | "path"> & { run: { context: AccessContext; signal: AbortSignal } },
): FileCall {
  const { namespaceId, owner } = run.context;
  return {
    files,
    of: { namespaceId, owner },
    action,
    path,
    // It is made when it is first read, which most actions never do.
    get signal() {
      return run.signal;
    },
    covers: (other) => covers(act, requirementAt(action, other)),
  };
}

/** The request that a cursor belongs to. The same request with another input has other cursors. */
export function requestOf({ of, action, path }: FileCall, input: JsonValue = null): JsonValue {
  return [action, of.namespaceId, of.owner, [...path], input];
}

/** A path as tools take it and answers show it. */
export function joinPath(path: readonly string[]): string {
  return path.join("/");
}
