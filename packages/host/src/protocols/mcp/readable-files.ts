import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { ListResourcesResult, ReadResourceResult, Resource } from "@modelcontextprotocol/server";
import type { JsonObject, JsonValue, ReachEntry, ResourceResult } from "turnpike/contracts";
import { z } from "zod";
import type { Access } from "./access.ts";
import { invalidCursor, readCursor, writeCursor } from "./cursor.ts";
import { fromFileUri, toFileUri } from "./file-uri.ts";
import { toProtocolError } from "./public-error.ts";
import { allows, covers } from "./reach.ts";

const namespace = "files";
const pageSize = 200;

// The part of the answers of the provider `files` that is used here. Paths begin at the owner's root.
const ListingSchema = z.object({ entries: z.array(z.object({ path: z.string() })), cursor: z.string().optional() });
const FileSchema = z.object({ content: z.string() });

const CursorSchema = z.object({ path: z.array(z.string()), scope: z.string(), inside: z.string().optional() });

/** One page of the files that the context may read. The folders that it may list are listed one after the other. */
export async function listFiles(
  access: Access,
  reach: readonly ReachEntry[],
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const places = reach.filter((entry) => entry.namespace === namespace);
  const folders = outermost(places.filter((place) => allows(place, "list")));
  const { folder, inside } = cursor === undefined ? { folder: folders[0], inside: undefined } : resume(folders, cursor);
  const paths = cursor === undefined ? singleFiles(places) : [];
  if (folder === undefined) return { resources: toResources(paths) };

  const input = { limit: pageSize, ...(inside !== undefined && { cursor: inside }) };
  const result = await operate(access, "list", folder.path, input);
  // A grant may exist before its folder does.
  const listing = ListingSchema.parse(isNotFound(result) ? { entries: [] } : outputOf(result));
  paths.push(...listing.entries.map(({ path }) => path.split("/")).filter((path) => isReadable(places, path)));
  const following = listing.cursor === undefined ? folders[folders.indexOf(folder) + 1] : folder;
  return {
    resources: toResources(paths),
    ...(following && { nextCursor: cursorAt(following, listing.cursor) }),
  };
}

/** One file, if the context may read it. */
export async function readFile(access: Access, uri: string): Promise<ReadResourceResult> {
  const path = fromFileUri(uri);
  if (path === undefined) throw new ResourceNotFoundError(uri);
  const result = await operate(access, "read", path);
  if (isNotFound(result)) throw new ResourceNotFoundError(uri);
  const { content } = FileSchema.parse(outputOf(result));
  return { contents: [{ uri, mimeType: "text/plain", text: content }] };
}

function operate(
  { api, context, options }: Access,
  action: "list" | "read",
  path: string[],
  input?: JsonObject,
): Promise<ResourceResult> {
  const operation = { operationId: crypto.randomUUID(), action, resource: { namespace, path } };
  return api.invokeResource(context, { ...operation, ...(input && { input }) }, options);
}

function isNotFound(result: ResourceResult): boolean {
  return result.status === "failed" && result.error.code === "not_found";
}

function outputOf(result: ResourceResult): JsonValue {
  if (result.status === "succeeded") return result.output;
  throw toProtocolError(result.error, result.status === "denied" ? "refused" : "failed");
}

function isReadable(places: readonly ReachEntry[], path: readonly string[]): boolean {
  return places.some((place) => allows(place, "read") && covers(place, path));
}

/** Removes places inside another place, because their files would be listed twice. */
function outermost(places: readonly ReachEntry[]): ReachEntry[] {
  const isInside = (place: ReachEntry, other: ReachEntry): boolean =>
    other !== place && other.scope === "descendants" && covers(other, place.path);
  return places.filter((place) => !places.some((other) => isInside(place, other)));
}

/** Files that may be read but are in no folder that may be listed. */
function singleFiles(places: readonly ReachEntry[]): string[][] {
  const isListed = ({ path }: ReachEntry): boolean =>
    places.some((other) => allows(other, "list") && other.scope === "descendants" && covers(other, path));
  return places
    .filter((place) => place.scope === "exact" && allows(place, "read") && !allows(place, "list") && !isListed(place))
    .map(({ path }) => path);
}

function toResources(paths: readonly (readonly string[])[]): Resource[] {
  return paths.flatMap((path) => {
    const uri = toFileUri(path);
    return uri === undefined ? [] : [{ uri, name: path.join("/") }];
  });
}

/** The cursor: which folder comes next, and where in it. */
function cursorAt({ path, scope }: ReachEntry, inside: string | undefined): string {
  return writeCursor({ path, scope, inside });
}

function resume(folders: readonly ReachEntry[], cursor: string): { folder: ReachEntry; inside: string | undefined } {
  const at = CursorSchema.safeParse(readCursor(cursor)).data;
  const folder = folders.find(({ path, scope }) => scope === at?.scope && path.join("/") === at.path.join("/"));
  if (folder === undefined) throw invalidCursor();
  return { folder, inside: at?.inside };
}
