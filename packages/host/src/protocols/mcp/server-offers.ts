import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type {
  GetPromptResult,
  ListPromptsResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/server";
import type { JsonObject, JsonValue, ReachEntry } from "turnpike/contracts";
import { z } from "zod";
import { matchesTemplate, offerSegment, type McpPool, type ServerOffer } from "../../mcp-servers/index.ts";
import type { Access } from "./access.ts";
import { invalidCursor, readCursor, writeCursor } from "./cursor.ts";
import { isFileUri } from "./file-uri.ts";
import { realNameKey, withUniqueNames, type OfferedNames } from "./offered-names.ts";
import { toProtocolError } from "./public-error.ts";
import { allows, covers, reachOf } from "./reach.ts";

/** What is needed to read and use what MCP servers offer besides tools. */
export interface OfferAccess extends Access {
  offers: McpPool["offers"];
}

const pageSize = 200;

const PlaceSchema = z.strictObject({ after: z.tuple([z.string(), z.string()]) });

/** The entry behind which the next page of a list begins: the namespace of the server, and the server's own name of it. */
export type OfferPlace = z.infer<typeof PlaceSchema>["after"];

/** The place in a cursor; undefined when the cursor is of another kind. */
export function offerPlace(cursor: string): OfferPlace | undefined {
  return PlaceSchema.safeParse(readCursor(cursor)).data?.after;
}

/** One page of the resources of servers that the caller may read. */
export async function listServerResources(
  access: OfferAccess,
  reach: readonly ReachEntry[],
  after: OfferPlace | undefined,
): Promise<{ resources: Resource[]; nextCursor?: string }> {
  // By URI, because a URI that several servers list is read from the first.
  const readable = new Map<string, Placed<Resource>>();
  for (const offer of await offersTo(access)) {
    for (const entry of offer.resources) {
      const { uri } = entry;
      const isShown = !readable.has(uri) && isGranted(reach, offer, "read", ["resources", uri]);
      if (isShown) readable.set(uri, { place: [offer.namespace, uri], entry });
    }
  }
  const { entries, ...next } = pageAfter([...readable.values()], after);
  return { resources: entries, ...next };
}

/** The templates of servers with something that the caller may read. */
export async function listServerTemplates(access: OfferAccess): Promise<ResourceTemplateType[]> {
  const offers = (await offersTo(access)).filter(({ resourceTemplates }) => resourceTemplates.length > 0);
  if (offers.length === 0) return [];
  const reach = await reachOf(access);
  const hasReadable = ({ namespace }: ServerOffer): boolean =>
    reach.some(
      (entry) =>
        entry.namespace === namespace &&
        allows(entry, "read") &&
        (covers(entry, ["resources"]) || entry.path[0] === "resources"),
    );
  return offers.filter(hasReadable).flatMap(({ resourceTemplates }) => resourceTemplates);
}

/** Reads a resource through the gate. A resource that does not exist and one that is not granted get the same answer. */
export async function readServerResource(access: OfferAccess, uri: string): Promise<ReadResourceResult> {
  const offer = await serverOf(access, uri);
  const output = offer && (await actOn(access, offer, "read", ["resources", uri]));
  if (output !== undefined) return output as unknown as ReadResourceResult;
  const message = "There is no such resource, or no grant covers it.";
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { code: "no_matching_grant", uri });
}

/** The server that has a URI: one that lists it before one that has a template for it, and of several the first granted one. */
async function serverOf(access: OfferAccess, uri: string): Promise<ServerOffer | undefined> {
  // Nothing can be granted for a URI that is too long, so there is nothing to compare.
  if (offerSegment(uri) === undefined) return undefined;
  const offers = await offersTo(access);
  const lists = ({ resources }: ServerOffer): boolean => resources.some((resource) => resource.uri === uri);
  const makes = ({ resourceTemplates }: ServerOffer): boolean =>
    resourceTemplates.some(({ uriTemplate }) => matchesTemplate(uriTemplate, uri));
  const having = [...offers.filter(lists), ...offers.filter((offer) => !lists(offer) && makes(offer))];
  if (having.length <= 1) return having[0];
  const reach = await reachOf(access);
  return having.find((offer) => isGranted(reach, offer, "read", ["resources", uri])) ?? having[0];
}

/** One page of the prompts that the caller may use. */
export async function listPrompts(
  access: OfferAccess,
  names: OfferedNames,
  cursor: string | undefined,
): Promise<ListPromptsResult> {
  const after = cursor === undefined ? undefined : offerPlace(cursor);
  if (cursor !== undefined && after === undefined) throw invalidCursor();
  const offers = (await offersTo(access)).filter(({ prompts }) => prompts.length > 0);
  const reach = offers.length === 0 ? [] : await reachOf(access);
  const usable = offers.flatMap((offer) =>
    offer.prompts
      .filter(({ name }) => isGranted(reach, offer, "use", ["prompts", name]))
      .map((prompt) => toOffered(offer, prompt, names)),
  );
  const { entries, ...next } = pageAfter(withUniqueNames(usable), after);
  return { prompts: entries, ...next };
}

function toOffered(
  { namespace }: ServerOffer,
  { _meta: meta, ...prompt }: Prompt,
  names: OfferedNames,
): Placed<Prompt> & { name: string } {
  const realName = `${namespace}.${prompt.name}`;
  const name = names.of(realName);
  const entry = { ...prompt, name, _meta: { ...meta, [realNameKey]: realName } };
  return { place: [namespace, prompt.name], name, entry };
}

/** Uses a prompt through the gate, by its offered or real name. An unknown prompt and one that is not granted get the same answer. */
export async function getPrompt(
  access: OfferAccess,
  names: OfferedNames,
  { name, arguments: args = {} }: { name: string; arguments?: Record<string, string> | undefined },
): Promise<GetPromptResult> {
  const isMeant = (realName: string): boolean => realName === name || names.of(realName) === name;
  const [found, ...others] = (await offersTo(access)).flatMap((offer) =>
    offer.prompts.filter((prompt) => isMeant(`${offer.namespace}.${prompt.name}`)).map((prompt) => ({ offer, prompt })),
  );
  // Two prompts whose names share a hash are not offered.
  const meant = others.length === 0 ? found : undefined;
  const input = { arguments: args };
  const output = meant && (await actOn(access, meant.offer, "use", ["prompts", meant.prompt.name], input));
  if (output !== undefined) return output as unknown as GetPromptResult;
  const message = "There is no such prompt, or no grant covers it.";
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { code: "no_matching_grant" });
}

/** What servers offer to this caller, without URIs of the host's own files, which no server may claim. */
async function offersTo({ offers, context, options }: OfferAccess): Promise<ServerOffer[]> {
  const offered = await offers(context, options.signal);
  return offered.map((offer) => ({
    ...offer,
    resources: offer.resources.filter(({ uri }) => !isFileUri(uri)),
    resourceTemplates: offer.resourceTemplates.filter(({ uriTemplate }) => !isFileUri(uriTemplate)),
  }));
}

function isGranted(
  reach: readonly ReachEntry[],
  { namespace }: ServerOffer,
  action: "read" | "use",
  [kind, text]: readonly ["resources" | "prompts", string],
): boolean {
  const segment = offerSegment(text);
  if (segment === undefined) return false;
  return reach.some(
    (entry) => entry.namespace === namespace && allows(entry, action) && covers(entry, [kind, segment]),
  );
}

/** Acts on a server's resource or prompt; undefined when no grant covers it, or when it does not exist after all. */
async function actOn(
  { api, context, options }: OfferAccess,
  { namespace }: ServerOffer,
  action: "read" | "use",
  [kind, text]: readonly ["resources" | "prompts", string],
  input?: JsonObject,
): Promise<JsonValue | undefined> {
  const segment = offerSegment(text);
  if (segment === undefined) return undefined;
  const resource = { namespace, path: [kind, segment] };
  const operation = { operationId: crypto.randomUUID(), action, resource, ...(input && { input }) };
  const result = await api.invokeResource(context, operation, options);
  if (result.status === "succeeded") return result.output;
  if (result.error.code === "no_matching_grant" || result.error.code === "not_found") return undefined;
  throw toProtocolError(result.error, result.status === "denied" ? "refused" : "failed");
}

/** An entry of a list, and what tells it from all others. */
interface Placed<Entry> {
  place: OfferPlace;
  entry: Entry;
}

/** One page of a list that was read as a whole. */
function pageAfter<Entry>(
  all: readonly Placed<Entry>[],
  after: OfferPlace | undefined,
): { entries: Entry[]; nextCursor?: string } {
  const isLast = ({ place }: Placed<Entry>): boolean => place[0] === after?.[0] && place[1] === after[1];
  const before = after === undefined ? -1 : all.findIndex(isLast);
  if (after !== undefined && before === -1) throw invalidCursor();
  const page = all.slice(before + 1, before + 1 + pageSize);
  const last = page.at(-1);
  const isMore = before + 1 + page.length < all.length;
  return {
    entries: page.map(({ entry }) => entry),
    ...(isMore && last && { nextCursor: writeCursor({ after: last.place }) }),
  };
}
