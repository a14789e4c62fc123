import { describeExpectation } from "turnpike/contracts";
import type { z } from "zod";
import { type ConfigFile, inFile, kindOf, nearestName } from "../shared/index.ts";
import { environmentName } from "./config-variables.ts";

/** Where the settings came from, for messages about them. */
export interface SettingOrigins {
  file: ConfigFile | undefined;
  /** The keys that the environment and flags set. */
  variables: Readonly<Record<string, string>>;
  flags: Readonly<Record<string, string>>;
}

/** The flags of settings that have one of their own. */
const ownFlags: Readonly<Record<string, string>> = {
  "listen.host": "--host",
  "listen.port": "--port",
  database: "--database",
};

/** One line for each mistake: where, the key, what was found, what is expected. */
export function mistakesIn(
  issue: z.core.$ZodIssue,
  config: unknown,
  schemas: ReadonlyMap<string, z.core.$ZodType>,
  origins: SettingOrigins,
): string[] {
  const { path } = issue;
  if (issue.code === "invalid_union") {
    // What is wrong in the shape that it has. One of another kind altogether has none of them.
    const errors = issue.errors.find((option) =>
      option.every((one) => one.code !== "invalid_type" || one.path.length > 0),
    );
    if (errors !== undefined && errors.length > 0)
      return errors.flatMap((one) => mistakesIn({ ...one, path: [...path, ...one.path] }, config, schemas, origins));
  }
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey([...path, key], schemas, origins));
  let found: unknown = config;
  for (const name of path) found = (found as Record<PropertyKey, unknown> | undefined)?.[name];
  const key = path.map(String).join(".");
  return [`${whereIs(path, origins)}: found ${shown(found, path)}, ${expectation(issue, schemas.get(key))}.`];
}

/** The key of a setting, and the flag, variable or file that it, or something below it, is in. */
function whereIs(path: readonly PropertyKey[], { file, variables, flags }: SettingOrigins, isName = false): string {
  const key = path.map(String).join(".");
  const isAt = (set: string): boolean => set === key || set.startsWith(`${key}.`);
  const flag = Object.keys(flags).find(isAt);
  if (flag !== undefined) return `${Object.hasOwn(ownFlags, flag) ? ownFlags[flag] : "--set"} (${key})`;
  const variable = Object.keys(variables).find(isAt);
  if (variable !== undefined) return `${environmentName(variable)} (${key})`;
  const [part = ""] = path;
  if (file === undefined || (path.length > 0 && !Object.hasOwn(file.settings, part))) return key || "configuration";
  const { keyPlaceOf, placeOf } = file.places;
  return `${inFile(file.path, isName ? keyPlaceOf(path) : placeOf(path))}: ${key || "configuration"}`;
}

/** Says that there is no such key, and which one was meant. */
function unknownKey(
  path: readonly PropertyKey[],
  schemas: ReadonlyMap<string, z.core.$ZodType>,
  origins: SettingOrigins,
): string {
  const key = path.map(String).join(".");
  const where = whereIs(path, origins, true);
  const keys = [...schemas.keys()].flatMap((known) => {
    const names = known.split(".");
    return names.map((_, place) => names.slice(0, place + 1).join("."));
  });
  // A key of another variant of this part, such as one that only a model has.
  if (keys.includes(key)) return `${where}: found something that does not go with the other settings there.`;
  const meant = nearestName(key, keys);
  return `${where}: there is no such key.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
}

/** Parts of the configuration whose values are not shown: there may be a secret, also one pasted by mistake. */
const secretive = new Set<PropertyKey | undefined>(["mcp", "runtime", "notify"]);
const maxShown = 60;

/** A value that may be shown, or its kind. */
function shown(found: unknown, path: readonly PropertyKey[]): string {
  const isShort = typeof found === "string" || typeof found === "number";
  // Of several lines is no setting: it is what should be in a file, such as a key.
  const isContent = typeof found === "string" && /[\r\n]|-----BEGIN /.test(found);
  if (!isShort || isContent || secretive.has(path[0])) return kindOf(found);
  const text = hidePasswords(JSON.stringify(found));
  return text.length > maxShown ? `${text.slice(0, maxShown)}...` : text;
}

/** What is expected of a setting, in words. */
function expectation(issue: z.core.$ZodIssue, schema: z.core.$ZodType | undefined): string {
  // A rule about several settings says itself what it expects of this one.
  if (issue.code === "custom") return describeExpectation(issue);
  if (schema?._zod.def.type === "number") return `expected ${numberOf(schema as z.ZodNumber)}`;
  if (issue.code !== "invalid_type") return describeExpectation(issue);
  return `expected ${kinds[issue.expected] ?? issue.expected}`;
}

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  number: "a number",
  int: "a whole number",
};

function numberOf({ minValue, maxValue, format }: z.ZodNumber): string {
  const kind = format === "safeint" ? "a whole number" : "a number";
  const from = minValue !== null && minValue > Number.MIN_SAFE_INTEGER ? ` from ${minValue}` : "";
  const to = maxValue !== null && maxValue < Number.MAX_SAFE_INTEGER ? ` to ${maxValue}` : "";
  return `${kind}${from}${to}`;
}

/** A text without the passwords of URLs in it. */
export function hidePasswords(text: string): string {
  return withoutUserPassword(text).replaceAll(/([?&](?:ssl)?password=)[^&]*/gi, "$1***");
}

/** Hides everything from the first colon after `:/` to the last `@`, because a password may contain either of them. */
function withoutUserPassword(text: string): string {
  const scheme = text.indexOf(":/");
  const colon = text.indexOf(":", scheme + 1);
  const end = text.lastIndexOf("@");
  return scheme !== -1 && colon !== -1 && colon < end ? `${text.slice(0, colon)}:***${text.slice(end)}` : text;
}
