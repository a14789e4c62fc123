import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
} from "@modelcontextprotocol/server";
import { fileUriTemplate, isFileUri } from "./file-uri.ts";
import { reachOf } from "./reach.ts";
import { listFiles, readFile } from "./readable-files.ts";
import {
  listServerResources,
  listServerTemplates,
  offerPlace,
  readServerResource,
  type OfferAccess,
} from "./server-offers.ts";

/** One page of what the caller may read: the files of the host, then the resources of MCP servers. */
export async function listResources(access: OfferAccess, cursor: string | undefined): Promise<ListResourcesResult> {
  const reach = await reachOf(access);
  const after = cursor === undefined ? undefined : offerPlace(cursor);
  if (after !== undefined) return listServerResources(access, reach, after);
  const files = await listFiles(access, reach, cursor);
  if (files.nextCursor !== undefined) return files;
  const { resources, ...next } = await listServerResources(access, reach, undefined);
  return { resources: [...files.resources, ...resources], ...next };
}

/** The URI templates of files, and those of servers. */
export async function listTemplates(access: OfferAccess): Promise<ListResourceTemplatesResult> {
  const file = { name: "file", uriTemplate: fileUriTemplate, description: "A file that you may read." };
  return { resourceTemplates: [file, ...(await listServerTemplates(access))] };
}

/** Reads a file of the host, or a resource of an MCP server. */
export function readResource(access: OfferAccess, uri: string): Promise<ReadResourceResult> {
  return isFileUri(uri) ? readFile(access, uri) : readServerResource(access, uri);
}
