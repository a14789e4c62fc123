import type { JsonValue } from "turnpike/contracts";
import { z } from "zod";
import { breathe } from "./breathe.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { excerptOf } from "./excerpt.ts";
import { defineFileAction, joinPath, pageInput, pageOutput, questionOf, type FileCall } from "./file-action.ts";
import type { WordMatch } from "./full-text.ts";
import { pathSegments } from "./file-columns.ts";
import { takePage } from "./paginate.ts";
import { wordQuery, type WordQuery } from "./tokenize.ts";

const ResultSchema = z.strictObject({
  path: z.string(),
  version: z.int(),
  score: z.number().describe("higher is better"),
  excerpt: z.string(),
});

/** A place in the order of all matches. */
const PlaceSchema = z.strictObject({ score: z.number(), path: z.string() });

export const searchAction = defineFileAction({
  action: "search",
  description:
    "Finds files whose path and content have all the words, the best first; the last word may be a beginning.",
  place: "folder",
  readWrite: "read",
  annotations: { readOnly: true },
  input: { query: z.string().max(1000).describe("plain words"), ...pageInput },
  output: z.strictObject({ results: z.array(ResultSchema), ...pageOutput }),
  async run(call, { query: text, limit, cursor }) {
    const question = questionOf(call, text);
    const after = readCursor(question, cursor, PlaceSchema);
    const query = wordQuery(text);
    if (query === undefined) return { results: [] };
    return call.files.scans.pass(() => find(call, query, { question, after, limit }), call.signal);
  },
});

async function find(
  call: FileCall,
  query: WordQuery,
  { question, after, limit }: { question: JsonValue; after: z.infer<typeof PlaceSchema> | undefined; limit: number },
): Promise<{ results: z.input<typeof ResultSchema>[]; cursor?: string }> {
  // Never more than the owner may have files.
  const matches = await call.files.match(call.of, call.path, query, call.signal);
  const behind = after === undefined ? matches : matches.filter((match) => compare(after, match) < 0);
  const { items, hasMore } = await takePage(behind.toSorted(compare), limit, ({ path }) =>
    call.covers(pathSegments(path)),
  );
  const last = items.at(-1);
  const results = await show(call, query, items);
  if (!hasMore || last === undefined) return { results };
  return { results, cursor: writeCursor(question, { score: last.score, path: last.path }) };
}

/** The best first, then by their paths. */
function compare(one: WordMatch, other: WordMatch): number {
  return other.score - one.score || Buffer.compare(Buffer.from(one.path), Buffer.from(other.path));
}

/** What is read now is what is shown; a file that went away meanwhile is not. */
async function show(
  { files, of, signal }: FileCall,
  query: WordQuery,
  matches: readonly WordMatch[],
): Promise<z.input<typeof ResultSchema>[]> {
  const results = [];
  for (const { path: text, score } of matches) {
    await breathe(signal);
    const path = pathSegments(text);
    const file = await files.read(of, path);
    if (file === undefined) continue;
    results.push({ path: joinPath(path), version: file.version, score, excerpt: excerptOf(file.content, query) });
  }
  return results;
}
