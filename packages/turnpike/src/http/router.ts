import { ServiceHttpError } from "./service-http-error.ts";

/** What a route is found by. */
export interface RouteRow {
  method: string;
  path: string;
}

/** Finds rows of a route table by verb and path, byte for byte. */
export interface Router<Row extends RouteRow> {
  /** The row; undefined when there is none. */
  find(method: string, path: string): Row | undefined;
  /** Why there is none: `404` for a path that is not known, `405` for one that is. */
  refusal(path: string): ServiceHttpError;
}

/** Indexes a route table. Throws when two rows have the same verb and path. */
export function createRouter<Row extends RouteRow>(rows: readonly Row[]): Router<Row> {
  const byPath = new Map<string, Map<string, Row>>();
  for (const row of rows) {
    const verbs = byPath.get(row.path) ?? new Map<string, Row>();
    if (verbs.has(row.method)) throw new TypeError(`Two routes are at ${row.method} ${row.path}.`);
    byPath.set(row.path, verbs.set(row.method, row));
  }
  return {
    find: (method, path) => byPath.get(path)?.get(method),
    refusal(path) {
      const verbs = byPath.get(path);
      if (verbs === undefined) return new ServiceHttpError(404, "not_found", "There is nothing at this path.");
      const allow = [...verbs.keys()].toSorted().join(", ");
      return new ServiceHttpError(405, "method_not_allowed", `This path knows ${allow}.`, { headers: { allow } });
    },
  };
}

/** The path of a request's URL, without its query. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const path = start === -1 ? "/" : url.slice(start);
  const end = path.search(/[?#]/);
  return end === -1 ? path : path.slice(0, end);
}
