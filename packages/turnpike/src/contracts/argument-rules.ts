import { z } from "zod";
import { boundedArray, strictObject, type JsonObject, type JsonValue } from "../internal/index.ts";
import { PathSegmentSchema } from "./scalars.ts";

/** One step of a path: a fixed text, or the value of an argument of the call. */
type Step = { kind: "fixed"; text: string } | ArgumentStep;

interface ArgumentStep {
  kind: "argument";
  /** The argument as the rule writes it, for messages. */
  name: string;
  /** The way to it through nested objects. */
  keys: readonly string[];
  isOptional: boolean;
  /** Whether it is a path of folders, each of which becomes a step: a grant for a folder covers what is below it. */
  isFolder: boolean;
}

/** How many places one call may name. The kernel decides about as many. */
const maxPlaces = 64;

/** A step as a rule writes it. A slash may only be at the end of the name of an argument. */
const StepTextSchema = z
  .string()
  .refine((text) => PathSegmentSchema.safeParse(text.startsWith("$") ? text.replace(/\/$/, "") : text).success, {
    message: "expected one step of a path",
    abort: true,
  });

const StepSchema = StepTextSchema.refine(
  (text) => readStep(text) !== undefined,
  "expected the name of an argument behind $, such as $to, $event.participants, $cc? or, for a path of folders, $path/",
);

const RulePathSchema = boundedArray(StepSchema, { min: 1, max: 63 })
  .refine(
    (path) => areInOrder(path),
    "expected only optional arguments behind an optional one; give the others a path of their own",
  )
  .refine(
    (path) => path.slice(0, -1).every((text) => !isFolderStep(text)),
    "expected nothing behind a path of folders, which has as many steps as folders",
  )
  .describe("steps below the tool; $name is the argument of that name, $name/ one that is a path of folders");

export const ArgumentRuleSchema = strictObject({
  path: RulePathSchema.optional(),
  paths: boundedArray(RulePathSchema, { min: 1, max: 16 }).optional(),
}).refine(({ path, paths }) => (path === undefined) !== (paths === undefined), "expected either path or paths");

/** How the places that a call acts on follow from its arguments. */
export type ArgumentRule = z.infer<typeof ArgumentRuleSchema>;

/** A call that a rule cannot be applied to. Its message says what to change about the arguments. */
export class ArgumentRuleError extends Error {
  override readonly name = "ArgumentRuleError";
}

/** Undefined when the text names no argument though it begins like one. */
function readStep(text: string): Step | undefined {
  if (!text.startsWith("$")) return { kind: "fixed", text };
  const isFolder = isFolderStep(text);
  const named = isFolder ? text.slice(0, -1) : text;
  const isOptional = named.endsWith("?");
  const name = named.slice(1, isOptional ? -1 : undefined);
  const keys = name.split(".").map(decodeKey);
  const isNamed = keys.every((key): key is string => key !== undefined && key !== "");
  return isNamed ? { kind: "argument", name, keys, isOptional, isFolder } : undefined;
}

function isFolderStep(text: string): boolean {
  return text.startsWith("$") && text.endsWith("/");
}

/** `%2E` is a dot within a name, `%3F` a question mark at its end. */
function decodeKey(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * A step that names an argument, as rules write it.
 *
 * @example
 * import { writeArgument } from "turnpike/contracts";
 *
 * console.log(writeArgument(["event", "guests"], true)); // $event.guests?
 */
export function writeArgument(keys: readonly string[], isOptional: boolean, isFolder = false): string {
  const name = keys.map((key) => key.replaceAll(/[%./\\?\p{Cc}]/gu, escaped)).join(".");
  return `$${name}${isOptional ? "?" : ""}${isFolder ? "/" : ""}`;
}

/** Dots are left as they are by `encodeURIComponent`. */
function escaped(character: string): string {
  return character === "." ? "%2E" : encodeURIComponent(character);
}

function stepsOf(path: readonly string[]): Step[] {
  return path.map(readStep).filter((step) => step !== undefined);
}

/** INVARIANT: an argument that is present is bound. After an optional step, where a path may end early, no required one follows. */
function areInOrder(path: readonly string[]): boolean {
  const args = stepsOf(path).filter((step) => step.kind === "argument");
  return args.every(({ isOptional }, place) => isOptional || args.slice(0, place).every((one) => !one.isOptional));
}

/**
 * The arguments that a rule names and that a call may lack, each as the way to it through nested objects.
 *
 * @example
 * import { optionalArguments } from "turnpike/contracts";
 *
 * const rule = { paths: [["to", "$to"], ["to", "$copies.cc?"]] };
 * console.log(JSON.stringify(optionalArguments(rule))); // [["copies","cc"]]
 */
export function optionalArguments(rule: ArgumentRule): (readonly string[])[] {
  const steps = (rule.paths ?? [rule.path ?? []]).flatMap(stepsOf);
  return steps.flatMap((step) => (step.kind === "argument" && step.isOptional ? [step.keys] : []));
}

/** The places below its tool that a call acts on. Each has to be granted. A call without such a place acts on the tool itself. */
export type Places = (args: JsonObject) => readonly (readonly string[])[];

/**
 * Reads a rule. What it returns throws an `ArgumentRuleError` when an argument that the rule names is missing or is nothing that
 * can be bound: such a call is to be denied.
 *
 * @example
 * import { placesBy } from "turnpike/contracts";
 *
 * const places = placesBy({ path: ["to", "$to"] });
 * console.log(JSON.stringify(places({ to: ["bob", "a/b"] }))); // [["to","bob"],["to","a%2Fb"]]
 */
export function placesBy(rule: ArgumentRule | undefined): Places {
  const paths = (rule?.paths ?? [rule?.path ?? []]).map(stepsOf);
  return (args) => {
    const places = new Map<string, readonly string[]>();
    for (const steps of paths) {
      for (const place of placesOn(steps, args)) places.set(JSON.stringify(place), place);
      if (places.size > maxPlaces) throw tooMany();
    }
    return places.size === 0 ? [[]] : [...places.values()];
  };
}

/**
 * The places of one path: every combination of what its arguments name. It ends before an optional argument that is absent,
 * and is left out when no argument comes before that one.
 */
function placesOn(steps: readonly Step[], args: JsonObject): string[][] {
  let places: string[][] = [[]];
  let isBound = false;
  let absent: string | undefined;
  for (const step of steps) {
    const segments = step.kind === "fixed" ? [[step.text]] : segmentsOf(step, args);
    if (absent !== undefined) {
      if (step.kind === "argument" && segments.length > 0)
        throw denial(step.name, `expected only together with ${absent}`);
    } else if (step.kind === "argument" && segments.length === 0) {
      absent = step.name;
    } else {
      if (places.length * segments.length > maxPlaces) throw tooMany();
      places = places.flatMap((place) => segments.map((named) => [...place, ...named]));
      isBound ||= step.kind === "argument";
    }
  }
  return absent !== undefined && !isBound ? [] : places;
}

/** The steps of all that an argument names; nothing for an optional one that is absent. */
function segmentsOf({ name, keys, isOptional, isFolder }: ArgumentStep, args: JsonObject): string[][] {
  let values: JsonValue[] = [args];
  for (const key of keys) values = values.flatMap((value) => within(value, key, { name, isOptional }));
  const named = values.map((value) => (isFolder ? foldersOf(value, name) : [segmentOf(value, name)]));
  return [...new Map(named.map((segments) => [JSON.stringify(segments), segments])).values()];
}

/** How many folders deep a path may be. With the steps before it, the kernel accepts 64. */
const maxFolders = 32;

/**
 * The folders of a path, each a step. Its beginning, such as `/srv` or `https://example.com`, is one step. INVARIANT: nothing in
 * it leads up or elsewhere, however a server reads it: with escapes, backslashes, or letters that normalize to dots or slashes.
 */
function foldersOf(value: JsonValue, name: string): string[] {
  const [, start = "", rest = ""] = /^((?:[a-z][a-z0-9+.-]*:\/\/|\/)?[^/]*)(?:\/(.*))?$/is.exec(String(value)) ?? [];
  if (typeof value !== "string" || start === "") throw denial(name, "expected a path, as a text that is not empty");
  const folders = rest === "" ? [] : rest.replace(/\/$/, "").split("/");
  const isRoot = value === "/";
  if (!isRoot && ![start.replace(/^.*\//s, ""), ...folders].every(isPlainFolder))
    throw denial(name, "expected a path without .. and what may be read as it; write the place itself");
  if (folders.length > maxFolders) throw denial(name, `expected at most ${maxFolders} folders`);
  return [start, ...folders].map((folder) => segmentOf(folder, name));
}

/** Whether a folder is a plain name in every way of reading it. Servers would skip an empty one. */
function isPlainFolder(folder: string): boolean {
  const decoded = decodeKey(folder);
  if (decoded === undefined || decoded.includes("%")) return false;
  return [folder, decoded].every((text) => {
    const read = text.normalize("NFKC");
    return !/^[.\s]*$|[/\\\p{Cc}\p{Default_Ignorable_Code_Point}]|^~/u.test(read);
  });
}

/** What is under a key of an object, the elements of a list one by one. */
function within(
  value: JsonValue | undefined,
  key: string,
  { name, isOptional }: Pick<ArgumentStep, "name" | "isOptional">,
): JsonValue[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw denial(name, "expected an object on the way to it");
  const other = otherSpelling(value, key);
  if (other !== undefined)
    throw denial(name, `leave out ${JSON.stringify(other.slice(0, 256))}, which a server may take for it`);
  const found = Object.hasOwn(value, key) ? value[key] : undefined;
  if (found === undefined || found === null) {
    if (isOptional) return [];
    throw denial(name, "this argument is missing; a rule of the host decides by it, so add it");
  }
  if (!Array.isArray(found)) return [found];
  if (found.length === 0 && !isOptional) throw denial(name, "this list is empty; name at least one");
  return found;
}

/**
 * A name in an object that differs only in case or separators. Many servers ignore those and use the last of such names, so they
 * would act on a value that the rule has not bound.
 */
function otherSpelling(value: JsonObject, key: string): string | undefined {
  const wanted = lettersOf(key);
  return Object.keys(value).find((name) => name !== key && wanted !== "" && lettersOf(name) === wanted);
}

function lettersOf(name: string): string {
  return name
    .normalize("NFKC")
    .replaceAll(/[\s_\-[\]\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, "")
    .toUpperCase()
    .toLowerCase();
}

function segmentOf(value: JsonValue, name: string): string {
  // Fractions, and numbers that are too large to be exact, can be written in more than one way.
  const text = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== "string") throw denial(name, "expected a text, a whole number, or a list of them");
  if (text === "") throw denial(name, "this text is empty; say what is meant, or leave the argument out");
  const segment = PathSegmentSchema.safeParse(encodeSegment(text));
  if (segment.success && !/\p{Cs}/u.test(text)) return segment.data;
  throw denial(name, "expected at most 256 characters, of which %, / and \\ count as three");
}

/**
 * A text as one step of a path. INVARIANT: two texts never become the same step, so a grant for one never covers another.
 */
export function encodeSegment(text: string): string {
  if (text === "." || text === "..") return text.replaceAll(".", escaped);
  return text.replaceAll(/[%/\\\p{Cc}]/gu, escaped);
}

function tooMany(): ArgumentRuleError {
  return new ArgumentRuleError(
    `The arguments name more than ${maxPlaces} places at once; split the call into smaller ones.`,
  );
}

function denial(name: string, problem: string): ArgumentRuleError {
  return new ArgumentRuleError(`${name}: ${problem}.`);
}
