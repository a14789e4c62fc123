import type { JsonValue } from "turnpike/contracts";
import { z } from "zod";
import { yieldToEventLoop } from "./time-slice.ts";
import { pageInput, pageOutput, readCursor, writeCursor, paginate } from "./paginate.ts";
import { excerptOf, parseQuery, type WordQuery } from "./tokenize.ts";
import { defineFileAction, joinPath, requestOf, type FileCall } from "./file-action.ts";
import type { WordMatch } from "./full-text.ts";
import { pathSegments } from "./file-columns.ts";

const ResultSchema = z.strictObject({
  path: z.string(),
  version: z.int(),
  score: z.number().describe("higher is better"),
  excerpt: z.string(),
});

/** The position of a match in the order of all matches. */
const RankSchema = z.strictObject({ score: z.number(), path: z.string() });

export const searchAction = defineFileAction({
  action: "search",
  description:
    "Finds files whose path and content have all the words, the best first; the last word may be a beginning.",
  target: "folder",
  readWrite: "read",
  annotations: { readOnly: true },
  input: { query: z.string().max(1000).describe("plain words"), ...pageInput },
  output: z.strictObject({ results: z.array(ResultSchema), ...pageOutput }),
  async run(call, { query: text, limit, cursor }) {
    const request = requestOf(call, text);
    const after = readCursor(request, cursor, RankSchema);
    const query = parseQuery(text);
    if (query === undefined) return { results: [] };
    return call.files.scans.run(() => find(call, query, { request, after, limit }), call.signal);
  },
});

async function find(
  call: FileCall,
  query: WordQuery,
  { request, after, limit }: { request: JsonValue; after: z.infer<typeof RankSchema> | undefined; limit: number },
): Promise<{ results: z.input<typeof ResultSchema>[]; cursor?: string }> {
  // There are never more matches than an owner may have files.
  const matches = await call.files.match(call.of, call.path, query, call.signal);
  const following = after === undefined ? matches : matches.filter((match) => compare(after, match) < 0);
  const { items, hasMore } = await paginate(following.toSorted(compare), limit, ({ path }) =>
    call.covers(pathSegments(path)),
  );
  const last = items.at(-1);
  const results = await show(call, query, items);
  if (!hasMore || last === undefined) return { results };
  return { results, cursor: writeCursor(request, { score: last.score, path: last.path }) };
}

/** Orders matches by score, the best first, and then by path. */
function compare(one: WordMatch, other: WordMatch): number {
  return other.score - one.score || Buffer.compare(Buffer.from(one.path), Buffer.from(other.path));
}

/** Reads the matches as they are now. A file that was deleted meanwhile is left out. */
async function show(
  { files, of, signal }: FileCall,
  query: WordQuery,
  matches: readonly WordMatch[],
): Promise<z.input<typeof ResultSchema>[]> {
  const results = [];
  for (const { path: text, score } of matches) {
    await yieldToEventLoop(signal);
    const path = pathSegments(text);
    const file = await files.read(of, path);
    if (file === undefined) continue;
    results.push({ path: joinPath(path), version: file.version, score, excerpt: excerptOf(file.content, query) });
  }
  return results;
}
