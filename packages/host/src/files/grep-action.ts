import { z } from "zod";
import { pageInput, pageOutput, readCursor, writeCursor } from "./paginate.ts";
import { truncateText } from "../shared/index.ts";
import { defineFileAction, joinPath, requestOf, type FileCall } from "./file-action.ts";
import { createLineMatcher, type LineMatcher } from "./line-matcher.ts";
import { createTimeSlices, type TimeSlices } from "./time-slice.ts";
import { pathText } from "./file-columns.ts";

/** The steps that a matcher may take without interruption, some 10 ms. A longer line is truncated to that. */
const stepsAtOnce = 250_000;
/** The cost of a line, however short it is, in characters. */
const lineCost = 10;
const shownCharacters = 500;

const MatchSchema = z.strictObject({ path: z.string(), line: z.int(), text: z.string() });

/** A line: the path of its file and its number. */
const LinePositionSchema = z.tuple([z.string(), z.int().min(1)]);
type LinePosition = z.infer<typeof LinePositionSchema>;

export const grepAction = defineFileAction({
  action: "grep",
  description:
    "Finds lines that have a text, or match a regular expression. An answer with a cursor has not searched everything.",
  target: "folder",
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
    const request = requestOf(call, [pattern, regex, ignoreCase]);
    const start = readCursor(request, cursor, LinePositionSchema);
    const { scans, limits } = call.files;
    const scan: Scan = { matches: [], limit, left: limits.scannedCharacters };
    const resumeAfter = await scans.run(() => {
      const matcher = createLineMatcher(pattern, { isRegex: regex, ignoresCase: ignoreCase });
      return scanFiles(call, matcher, scan, start);
    }, call.signal);
    return { matches: scan.matches, ...(resumeAfter && { cursor: writeCursor(request, resumeAfter) }) };
  },
});

/** The state of one running call. */
interface Scan {
  matches: z.infer<typeof MatchSchema>[];
  limit: number;
  /** How many characters may still be scanned. */
  left: number;
  /** The last line that was scanned, and the last one that matched. */
  seen?: LinePosition;
  found?: LinePosition;
}

/** Scans the covered files after a line. Returns the line after which to continue; undefined when nothing is left. */
async function scanFiles(
  call: FileCall,
  matcher: LineMatcher,
  scan: Scan,
  start: LinePosition | undefined,
): Promise<LinePosition | undefined> {
  const { files, of, signal } = call;
  const [from, line] = start ?? [];
  const slices = createTimeSlices(files.limits.scanMs, signal);
  for await (const { path } of files.walk(of, call.path, from)) {
    if (!(await call.covers(path))) continue;
    await slices.next();
    const file = await files.read(of, path);
    if (file === undefined) continue;
    const after = pathText(path) === from ? line : 0;
    const resumeAfter = await scanFile(matcher, scan, { path, content: file.content, after: after ?? 0 }, slices);
    if (resumeAfter !== undefined) return resumeAfter;
  }
  return undefined;
}

async function scanFile(
  matcher: LineMatcher,
  scan: Scan,
  { path, content, after }: { path: readonly string[]; content: string; after: number },
  slices: TimeSlices,
): Promise<LinePosition | undefined> {
  const atOnce = Math.floor(stepsAtOnce / matcher.size);
  let line = 0;
  for (const whole of linesOf(content)) {
    line += 1;
    if (slices.isSliceOver()) await slices.next();
    if (line <= after) continue;
    if (scan.seen && (scan.left <= 0 || slices.isBudgetSpent())) return scan.seen;
    const text = truncateText(whole, atOnce);
    scan.left -= text.length + lineCost;
    scan.seen = [pathText(path), line];
    if (!matcher.isIn(text)) continue;
    if (scan.matches.length === scan.limit) return scan.found;
    scan.matches.push({ path: joinPath(path), line, text: truncateText(text, shownCharacters) });
    scan.found = scan.seen;
  }
  return undefined;
}

/** The lines of a text. A line break at the very end begins no further line. */
function* linesOf(content: string): Generator<string> {
  for (let start = 0, end = 0; start < content.length; start = end + 1) {
    const found = content.indexOf("\n", start);
    end = found === -1 ? content.length : found;
    yield content.slice(start, content[end - 1] === "\r" && end > start ? end - 1 : end);
  }
}
