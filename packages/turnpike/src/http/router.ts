import { ServiceHttpError } from "./service-http-error.ts";

/** The verb and path of a route. A segment of the path in braces, such as `{executionId}`, matches any value. */
export interface RouteRow {
  method: string;
  path: string;
}

/** Finds rows of a route table by verb and path, byte for byte where the path of a row has no braces. */
export interface Router<Row extends RouteRow> {
  /** The row; undefined when there is none. */
  find(method: string, path: string): Row | undefined;
  /** The error when there is no row: `404` for an unknown path, `405` for a known one. */
  refusal(path: string): ServiceHttpError;
}

/**
 * Indexes a route table. Throws when two rows have the same verb and path.
 *
 * @example
 * import { createRouter } from "turnpike/http";
 *
 * const router = createRouter([{ method: "GET", path: "/notes/{id}" }]);
 * console.log(router.find("GET", "/notes/1")?.path); // /notes/{id}
 * console.log(router.refusal("/notes/1").status); // 405
 */
export function createRouter<Row extends RouteRow>(rows: readonly Row[]): Router<Row> {
  const exact = new Map<string, Map<string, Row>>();
  const patterns = new Map<string, Map<string, Row>>();
  for (const row of rows) {
    const table = isPattern(row.path) ? patterns : exact;
    const verbs = table.get(row.path) ?? new Map<string, Row>();
    if (verbs.has(row.method)) throw new TypeError(`Two routes are at ${row.method} ${row.path}.`);
    table.set(row.path, verbs.set(row.method, row));
  }
  const all = [...patterns];
  const verbsAt = (path: string): Map<string, Row> | undefined =>
    exact.get(path) ?? all.find(([pattern]) => fits(pattern, path))?.[1];
  return {
    find: (method, path) => verbsAt(path)?.get(method),
    refusal(path) {
      const verbs = verbsAt(path);
      if (verbs === undefined) return new ServiceHttpError(404, "not_found", "There is nothing at this path.");
      const allow = [...verbs.keys()].toSorted().join(", ");
      return new ServiceHttpError(405, "method_not_allowed", `This path knows ${allow}.`, { headers: { allow } });
    },
  };
}

/**
 * The first of these paths with braces that a path fits; undefined when it fits none.
 *
 * @example
 * import { patternOf } from "turnpike/http";
 *
 * console.log(patternOf(["/notes/{id}"], "/notes/1")); // /notes/{id}
 */
export function patternOf(patterns: readonly string[], path: string): string | undefined {
  return patterns.find((pattern) => fits(pattern, path));
}

function fits(pattern: string, path: string): boolean {
  return pathParameters(pattern, path) !== undefined;
}

/**
 * The decoded values of a path's segments in braces, by name; undefined when the path does not fit, or is encoded badly.
 *
 * @example
 * import { pathParameters } from "turnpike/http";
 *
 * console.log(pathParameters("/notes/{id}", "/notes/a%20b")); // { id: 'a b' }
 */
export function pathParameters(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const expected = pattern.split("/");
  const segments = path.split("/", expected.length + 1);
  if (segments.length !== expected.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, name] of expected.entries()) {
    const segment = segments[index] ?? "";
    if (!isPattern(name)) {
      if (segment !== name) return undefined;
      continue;
    }
    const value = decoded(segment);
    if (value === undefined || value === "") return undefined;
    parameters[name.slice(1, -1)] = value;
  }
  return parameters;
}

function isPattern(path: string): boolean {
  return path.includes("{");
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/**
 * The path of a request's URL, without its query.
 *
 * @example
 * import { pathOf } from "turnpike/http";
 *
 * console.log(pathOf("https://example.com/v1/reach?at=now")); // /v1/reach
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const path = start === -1 ? "/" : url.slice(start);
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}
