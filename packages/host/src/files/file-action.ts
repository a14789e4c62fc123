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
import type { FileOwner } from "./file-owner.ts";
import type { FileStore } from "./file-store.ts";
import type { Reach } from "./reach.ts";

/** Whether the authority that a running act was decided on covers another request too. */
type Covers = (act: ToolCall | ResourceOperation, request: AuthorizationRequest) => Promise<boolean>;

/** What every action on files works with. */
export interface FileDesk {
  files: FileStore;
  covers: Covers;
}

/** One act on files that was allowed at its path. Whatever else it meets is the caller's to see when `covers` says so. */
export interface FileCall extends Reach {
  files: FileStore;
  of: FileOwner;
  action: string;
  path: readonly string[];
}

/** Where an action goes: to a file, which has a name, or to a folder, which may be the root. */
export type Place = "file" | "folder";

/** The paths that each place has. */
export const placePaths = { file: PathSchema.min(1), folder: PathSchema } as const satisfies Record<Place, z.ZodType>;

/** One thing that can be done with files, for tools and for the resource namespace alike. */
export interface FileAction {
  action: string;
  description: string;
  place: Place;
  readWrite: "read" | "write";
  annotations?: ToolAnnotations;
  /** What the action takes besides a path. */
  input: z.ZodObject;
  output: z.ZodType;
  /** Throws a `ToolError` to fail with words meant for the caller. */
  run(call: FileCall, input: unknown): Promise<unknown>;
}

/** An action as it is written down, with the types of its schemas. */
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

/** What an action needs at a path. */
export function needs(action: string, path: readonly string[]): AuthorizationRequest {
  return { action, resource: { namespace: "files", path: [...path] } };
}

/** Ties an action to the act that was allowed. */
export function openCall(
  { files, covers }: FileDesk,
  act: ToolCall | ResourceOperation,
  { action, path, context, signal }: Pick<FileCall, "action" | "path" | "signal"> & { context: AccessContext },
): FileCall {
  const of = { namespaceId: context.namespaceId, owner: context.owner };
  return { files, of, action, path, signal, covers: (met) => covers(act, needs(action, met)) };
}

/** What a page of a list is asked with. */
export const pageInput = {
  limit: z.int().min(1).max(1000).default(100),
  cursor: z.string().max(200_000).optional().describe("the cursor of the page before; without it, from the beginning"),
};

/** Where the next page begins. */
export const pageOutput = { cursor: z.string().optional().describe("there is more: pass it as `cursor`") };

/** The question that a cursor belongs to. */
export function questionOf({ of, action, path }: FileCall, asked: JsonValue = null): JsonValue {
  return [action, of.namespaceId, of.owner, [...path], asked];
}

/** A path as tools and answers write it. */
export function joinPath(path: readonly string[]): string {
  return path.join("/");
}
