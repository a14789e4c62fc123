import type { Reply } from "./reply.ts";
import type { ServiceRoute } from "./service-call.ts";

/** The same routes below a prefix, with links that have the prefix too. Throws when the prefix is no path. */
export function routesBelow(basePath: string, rows: readonly ServiceRoute[]): readonly ServiceRoute[] {
  const base = checkBasePath(basePath);
  if (base === "") return rows;
  return rows.map((row) => ({
    ...row,
    path: `${base}${row.path}`,
    // Answers read the path of their row in the route table, which has no prefix.
    answer: async (call) => linkedBelow(base, await row.answer({ ...call, path: call.path.slice(base.length) })),
  }));
}

/** The prefix without a slash at its end. It is compared byte for byte, so it has to have the form that it has in URLs. */
function checkBasePath(given: string): string {
  const isPath = typeof given === "string" && (given === "" || isUrlPath(given));
  if (!isPath) {
    const expected = 'a path as URLs write it, such as "/api/turnpike"';
    throw new TypeError(`basePath: expected ${expected}, and not ${JSON.stringify(given)}.`);
  }
  return given.endsWith("/") ? given.slice(0, -1) : given;
}

/** False for a path that a URL would change: with segments of dots, a query, spaces, braces or letters beyond ASCII. */
function isUrlPath(path: string): boolean {
  return !path.includes("//") && new URL(path, "http://host").pathname === path;
}

function linkedBelow(base: string, reply: Reply): Reply {
  const { location } = reply.headers;
  return location === undefined ? reply : { ...reply, headers: { ...reply.headers, location: `${base}${location}` } };
}
