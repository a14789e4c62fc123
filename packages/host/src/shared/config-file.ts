import { existsSync, readFileSync } from "node:fs";
import { ConfigError } from "./config.ts";
import { JsonTextError, parseJsonWithPlaces, type PlacedJson } from "./json-places.ts";

/** The file that is read when none is named. */
const defaultConfigFile = "turnpike.config.json";

/** A configuration file, as far as it is JSON. */
export interface ConfigFile {
  path: string;
  settings: Readonly<Record<string, unknown>>;
  places: Pick<PlacedJson, "placeOf" | "keyPlaceOf">;
}

/** Reads the configuration file of this name, or the one of the working directory if there is one. Throws `ConfigError`. */
export function readConfigFile(named: string | undefined): ConfigFile | undefined {
  if (named === undefined && !existsSync(defaultConfigFile)) return undefined;
  const path = named ?? defaultConfigFile;
  const places = parsePlaced(path, readText(path));
  const { value } = places;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw mistake(`${inFile(path, places.placeOf([]))}: found ${kindOf(value)}, expected an object.`);
  // Where editors find the JSON Schema of the file; it sets nothing.
  const { $schema: schema, ...settings } = value as Record<string, unknown>;
  if (schema !== undefined && typeof schema !== "string")
    throw mistake(
      `${inFile(path, places.placeOf(["$schema"]))}: $schema: found ${kindOf(schema)}, expected the address of a JSON Schema.`,
    );
  return { path, settings, places };
}

/** A file with a line and a column, as editors and terminals open them. */
export function inFile(path: string, { line, column }: { line: number; column: number }): string {
  return `${path}:${line}:${column}`;
}

/** The kind of a JSON value, for messages that do not repeat it. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return { string: "a text", number: "a number", boolean: String(value), object: "an object" }[
    typeof value as "string" | "number" | "boolean" | "object"
  ];
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const why = { ENOENT: "does not exist", EACCES: "cannot be read by this user", EISDIR: "is a folder" }[code];
    throw mistake(`${path} ${why ?? `cannot be read (${code})`}.`, cause);
  }
}

/** Parses the text of a file. Throws a `ConfigError` that names the place of what is wrong. */
export function parsePlaced(path: string, text: string): PlacedJson {
  try {
    return parseJsonWithPlaces(text);
  } catch (cause) {
    if (!(cause instanceof JsonTextError)) throw cause;
    throw mistake(`${inFile(path, cause.place)}: ${cause.message}.`, cause);
  }
}

function mistake(message: string, cause?: unknown): ConfigError {
  return new ConfigError(message, { code: "invalid_config", cause });
}
