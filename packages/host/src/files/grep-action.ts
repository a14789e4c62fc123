import { z } from "zod";
import { breathe } from "./breathe.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { cutText } from "./cut-text.ts";
import { defineFileAction, joinPath, pageInput, pageOutput, questionOf, type FileCall } from "./file-action.ts";
import { createLineMatcher, type LineMatcher } from "./line-matcher.ts";
import { pathText } from "./path-text.ts";

/** The steps of a matcher after which everybody else gets a chance to run; of a longer line only so much is looked at. */
const stepsAtOnce = 5_000_000;
/** The size of a matcher up to which one call looks through as many characters as the limit says. */
const usualSize = 20;
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
    const matcher = createLineMatcher(pattern, { isRegex: regex, ignoresCase: ignoreCase });
    const look: Look = { matches: [], limit, left: charactersFor(call, matcher) };
    const goesOnAt = await lookThrough(call, matcher, look, start);
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

function charactersFor({ files }: FileCall, { size }: LineMatcher): number {
  return files.limits.scannedCharacters * Math.min(1, usualSize / size);
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
  for await (const { path } of files.walk(of, call.path, from)) {
    if (!(await call.covers(path))) continue;
    await breathe(signal);
    const file = await files.read(of, path);
    if (file === undefined) continue;
    const behind = pathText(path) === from ? line : 0;
    const goesOnAt = await lookAt(matcher, look, { path, content: file.content, behind: behind ?? 0 }, signal);
    if (goesOnAt !== undefined) return goesOnAt;
  }
  return undefined;
}

async function lookAt(
  matcher: LineMatcher,
  look: Look,
  { path, content, behind }: { path: readonly string[]; content: string; behind: number },
  signal: AbortSignal,
): Promise<Place | undefined> {
  const atOnce = Math.floor(stepsAtOnce / matcher.size);
  let sinceBreath = 0;
  for (const [place, whole] of linesOf(content).entries()) {
    if (place < behind) continue;
    if (look.left <= 0 && look.seen) return look.seen;
    const text = cutText(whole, atOnce);
    const cost = text.length + lineCost;
    if (sinceBreath > 0 && sinceBreath + cost > atOnce) {
      await breathe(signal);
      sinceBreath = 0;
    }
    sinceBreath += cost;
    look.left -= cost;
    look.seen = [pathText(path), place + 1];
    if (!matcher.isIn(text)) continue;
    if (look.matches.length === look.limit) return look.found;
    look.matches.push({ path: joinPath(path), line: place + 1, text: cutText(text, shownCharacters) });
    look.found = look.seen;
  }
  return undefined;
}

/** The lines of a text; behind a line break at its end there is none. */
function linesOf(content: string): string[] {
  const lines = content.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
