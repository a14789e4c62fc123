import type { Prompt, Resource, ResourceTemplateType } from "@modelcontextprotocol/client";
import type { JsonValue } from "turnpike/contracts";
import { z } from "zod";
import { withoutHiddenText } from "../shared/index.ts";
import { HiddenTextError, plainJson, plainText } from "./plain-text.ts";
import { offerSegment } from "./server-offer.ts";

/** An entry of a server's list that is not used, and why. */
export interface LeftOutEntry {
  name: string;
  why: string;
}

/** The entries of a list that can be used, by their URI, template or name; and the others. */
export interface OfferReading<Entry> {
  entries: ReadonlyMap<string, Entry>;
  leftOut: readonly LeftOutEntry[];
}

/** How many entries of a list are used. */
const maxEntries = 256;
const maxEntryLength = 16_384;
/** How many expressions a template may have, because each takes time for every URI that is compared with it. */
const maxTemplatePlaces = 16;

interface EntryKind {
  schema: z.ZodType<Record<string, unknown>>;
  /** The key that identifies the entry. It is never changed. */
  id: "uri" | "uriTemplate" | "name";
  /** Whether the entry itself is a step of a path. */
  isStep: boolean;
}

const resource: EntryKind = {
  schema: z.looseObject({ uri: z.string().min(1), name: z.string() }),
  id: "uri",
  isStep: true,
};
const resourceTemplate: EntryKind = {
  schema: z.looseObject({ uriTemplate: z.string().min(1).max(2048), name: z.string() }),
  id: "uriTemplate",
  isStep: false,
};
const argument = z.looseObject({ name: z.string().refine(isPlain), required: z.boolean().optional() });
const prompt: EntryKind = {
  schema: z.looseObject({ name: z.string().min(1), arguments: z.array(argument).optional() }),
  id: "name",
  isStep: true,
};

/** Reads a server's list of resources. */
export function readResources(listed: readonly unknown[]): OfferReading<Resource> {
  return readEntries(resource, listed) as OfferReading<Resource>;
}

/** Reads a server's list of resource templates. */
export function readResourceTemplates(listed: readonly unknown[]): OfferReading<ResourceTemplateType> {
  return readEntries(resourceTemplate, listed) as OfferReading<ResourceTemplateType>;
}

/** Reads a server's list of prompts. */
export function readPrompts(listed: readonly unknown[]): OfferReading<Prompt> {
  return readEntries(prompt, listed) as OfferReading<Prompt>;
}

function readEntries(kind: EntryKind, listed: readonly unknown[]): OfferReading<unknown> {
  const entries = new Map<string, unknown>();
  const leftOut: LeftOutEntry[] = [];
  for (const entry of listed) {
    const id = idOf(kind, entry);
    const why = whyNot(kind, entry, id) ?? (entries.has(id) ? "it is listed twice" : undefined);
    const cleaned = why === undefined && entries.size < maxEntries ? withoutHidden(entry) : undefined;
    if (cleaned !== undefined) entries.set(id, cleaned);
    else leftOut.push({ name: plainText(id, 256), why: why ?? lastReason(entries.size) });
  }
  return { entries, leftOut };
}

function idOf({ id }: EntryKind, entry: unknown): string {
  const value = typeof entry === "object" && entry !== null ? (entry as Record<string, unknown>)[id] : undefined;
  return typeof value === "string" ? value : "";
}

function whyNot({ schema, id: key, isStep }: EntryKind, entry: unknown, id: string): string | undefined {
  if ((JSON.stringify(entry) ?? "").length > maxEntryLength) return `it is larger than ${maxEntryLength} characters`;
  if (!isPlain(id)) return `its ${key} has hidden characters`;
  if (key === "uriTemplate" && !hasFewPlaces(id)) return `it has more than ${maxTemplatePlaces} places`;
  if (!schema.safeParse(entry).success) return "it does not have what the protocol says";
  return isStep && offerSegment(id) === undefined ? `its ${key} is too long to be a step of a path` : undefined;
}

function lastReason(size: number): string {
  return size < maxEntries ? "it has names that only differ in hidden characters" : `only ${maxEntries} are used`;
}

function hasFewPlaces(template: string): boolean {
  return template.split("{").length <= maxTemplatePlaces + 1;
}

function isPlain(text: string): boolean {
  return withoutHiddenText(text) === text;
}

function withoutHidden(entry: unknown): JsonValue | undefined {
  try {
    return plainJson(entry as JsonValue);
  } catch (error) {
    if (error instanceof HiddenTextError) return undefined;
    throw error;
  }
}
