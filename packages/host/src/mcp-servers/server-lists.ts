import { ProtocolError, ProtocolErrorCode, type Client } from "@modelcontextprotocol/client";
import { z } from "zod";

/** What a server can list. */
export type ListKind = "tools" | "resources" | "resourceTemplates" | "prompts";

/** The lists whose changes a server announces. Templates count as resources. */
export type ChangedList = "tools" | "resources" | "prompts";

interface ListRules {
  method: string;
  capability: ChangedList;
  changed:
    | "notifications/tools/list_changed"
    | "notifications/resources/list_changed"
    | "notifications/prompts/list_changed";
  /** For a list that is too long, `fail` uses nothing and `stop` uses the beginning. */
  whenLonger: "fail" | "stop";
}

const rules: Readonly<Record<ListKind, ListRules>> = {
  tools: {
    method: "tools/list",
    capability: "tools",
    changed: "notifications/tools/list_changed",
    whenLonger: "fail",
  },
  resources: {
    method: "resources/list",
    capability: "resources",
    changed: "notifications/resources/list_changed",
    whenLonger: "stop",
  },
  resourceTemplates: {
    method: "resources/templates/list",
    capability: "resources",
    changed: "notifications/resources/list_changed",
    whenLonger: "stop",
  },
  prompts: {
    method: "prompts/list",
    capability: "prompts",
    changed: "notifications/prompts/list_changed",
    whenLonger: "stop",
  },
};

/** How long a server may take to send a whole list. */
export const listMs = 5_000;
const freshMs = 5_000;
const maxPages = 64;
const maxEntries = 1024;
const maxListLength = 8_388_608;

/** The lists of a connected server. */
export interface ServerLists {
  /** A list, a few seconds old at most. It is the same array until the list is read again. */
  read(kind: ListKind): Promise<readonly unknown[]>;
  /** Makes the next reader ask the server again. */
  forget(kind: ListKind): void;
}

/**
 * Reads the lists of a server when they are needed, and caches them until they are old or the server changes them. Changes are
 * passed to `onChanged`.
 */
export function createServerLists(client: Client, onChanged: (kind: ChangedList) => void): ServerLists {
  const cached = new Map<ListKind, { entries: Promise<readonly unknown[]>; until: number }>();
  const kinds = Object.keys(rules) as ListKind[];
  for (const { changed, capability } of Object.values(rules)) {
    client.setNotificationHandler(changed, () => {
      for (const kind of kinds) if (rules[kind].changed === changed) cached.delete(kind);
      onChanged(capability);
    });
  }
  return {
    read(kind) {
      const known = cached.get(kind);
      if (known !== undefined && performance.now() <= known.until) return known.entries;
      const list = { entries: readList(client, kind), until: performance.now() + freshMs };
      // A failure is cached from its end on, so that a server that hangs is not asked all the time.
      list.entries.catch(() => (list.until = performance.now() + freshMs));
      cached.set(kind, list);
      return list.entries;
    },
    forget: (kind) => void cached.delete(kind),
  };
}

/** A server without the capability, or without the method, has an empty list. */
async function readList(client: Client, kind: ListKind): Promise<readonly unknown[]> {
  if (client.getServerCapabilities()?.[rules[kind].capability] === undefined) return [];
  try {
    return await readPages(client, kind);
  } catch (error) {
    const isUnknown = error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound;
    if (isUnknown && kind !== "tools") return [];
    throw error;
  }
}

const PageSchema = z.looseObject({ nextCursor: z.string().optional() });
const EntriesSchema = z.array(z.unknown());

async function readPages(client: Client, kind: ListKind): Promise<readonly unknown[]> {
  const { method, whenLonger } = rules[kind];
  const signal = AbortSignal.timeout(listMs);
  const entries: unknown[] = [];
  let [pages, length] = [0, 0];
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method, params }, PageSchema, { signal });
    const found = EntriesSchema.parse(page[kind]);
    pages += 1;
    length += JSON.stringify(found).length;
    if (length > maxListLength) throw new RangeError(`A list has at most ${maxListLength} characters.`);
    for (const entry of found) entries.push(entry);
    cursor = page.nextCursor;
    const isLonger = entries.length > maxEntries || (pages === maxPages && cursor !== undefined);
    if (isLonger && whenLonger === "stop") return entries;
    if (isLonger) throw new RangeError(`A list of ${kind} has at most ${maxEntries} entries on ${maxPages} pages.`);
  } while (cursor !== undefined);
  return entries;
}
