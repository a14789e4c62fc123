import { z } from "zod";
import { readCursor, writeCursor } from "./cursor.ts";
import { truncateText } from "../base/index.ts";
import { defineFileAction, joinPath, pageInput, pageOutput, questionOf, type FileCall } from "./file-action.ts";
import { createLineMatcher, type LineMatcher } from "./line-matcher.ts";
import { createPace, type Pace } from "./time-slice.ts";
import { pathText } from "./file-columns.ts";

/** The steps of a matcher that nothing can interrupt, some 10 ms; of a longer line only so much is looked at. */
const stepsAtOnce = 250_000;
/** What a line costs by itself, in characters. */
const lineCost = 10;
const shownCharacters = 500;

const MatchSchema = z.strictObject({ path: z.string(), line: z.int(), text: z.string() });

/** A line, by its path text and number. */
const PlaceSchema = z.tuple([z.string(), z.int().min(1)]);
type Place = z.infer<typeof PlaceSchema>;

export const grepAction = defineFileAction({
  action: "grep",
  description:
    "Finds lines that have a text, or match a regular expression. An answer with a cursor has not looked at everything.",
  place: "folder",
  readWrite: "read",
  annotations: { readOnly: true },
  input: {
    pattern: z.string(),
    regex: z.boolean().default(false).describe("read the pattern as a regular expression (RE2)"),
    ignoreCase: z.boolean().default(false),
    ...pageInput,
  },
  output: z.strictObject({ matches: z.array(MatchSchema), ...pageOutput }),
  async run(call, { pattern, regex, ignoreCase, limit, cursor }) {
    const question = questionOf(call, [pattern, regex, ignoreCase]);
    const start = readCursor(question, cursor, PlaceSchema);
    const { scans, limits } = call.files;
    const look: Look = { matches: [], limit, left: limits.scannedCharacters };
    const goesOnAt = await scans.pass(() => {
      const matcher = createLineMatcher(pattern, { isRegex: regex, ignoresCase: ignoreCase });
      return lookThrough(call, matcher, look, start);
    }, call.signal);
    return { matches: look.matches, ...(goesOnAt && { cursor: writeCursor(question, goesOnAt) }) };
  },
});

/** One call under way. */
interface Look {
  matches: z.infer<typeof MatchSchema>[];
  limit: number;
  /** How many characters it may still look at. */
  left: number;
  /** The last line that was looked at, and the last that was found. */
  seen?: Place;
  found?: Place;
}

/** Looks through the covered files behind a line. Returns the line to go on behind, unless all was looked at. */
async function lookThrough(
  call: FileCall,
  matcher: LineMatcher,
  look: Look,
  start: Place | undefined,
): Promise<Place | undefined> {
  const { files, of, signal } = call;
  const [from, line] = start ?? [];
  const pace = createPace(files.limits.scanMs, signal);
  for await (const { path } of files.walk(of, call.path, from)) {
    if (!(await call.covers(path))) continue;
    await pace.rest();
    const file = await files.read(of, path);
    if (file === undefined) continue;
    const behind = pathText(path) === from ? line : 0;
    const goesOnAt = await lookAt(matcher, look, { path, content: file.content, behind: behind ?? 0 }, pace);
    if (goesOnAt !== undefined) return goesOnAt;
  }
  return undefined;
}

async function lookAt(
  matcher: LineMatcher,
  look: Look,
  { path, content, behind }: { path: readonly string[]; content: string; behind: number },
  pace: Pace,
): Promise<Place | undefined> {
  const atOnce = Math.floor(stepsAtOnce / matcher.size);
  let line = 0;
  for (const whole of linesOf(content)) {
    line += 1;
    if (pace.isDue()) await pace.rest();
    if (line <= behind) continue;
    if (look.seen && (look.left <= 0 || pace.isSpent())) return look.seen;
    const text = truncateText(whole, atOnce);
    look.left -= text.length + lineCost;
    look.seen = [pathText(path), line];
    if (!matcher.isIn(text)) continue;
    if (look.matches.length === look.limit) return look.found;
    look.matches.push({ path: joinPath(path), line, text: truncateText(text, shownCharacters) });
    look.found = look.seen;
  }
  return undefined;
}

/** The lines of a text; behind a line break at its end there is none. */
function* linesOf(content: string): Generator<string> {
  for (let start = 0, end = 0; start < content.length; start = end + 1) {
    const found = content.indexOf("\n", start);
    end = found === -1 ? content.length : found;
    yield content.slice(start, content[end - 1] === "\r" && end > start ? end - 1 : end);
  }
}
