import { IdentifierSchema, TurnStatusSchema, type TurnStatus } from "../contracts/index.ts";
import type { TurnFilter } from "../runtime/index.ts";
import { pathParameters } from "./router.ts";
import type { RequestHeaders } from "./service-call.ts";
import { ServiceHttpError } from "./service-http-error.ts";

/** Reads which turns `GET /v1/turns` asks for; throws `invalid_request`. Unknown parameters are ignored. */
export function readTurnFilter(target: string): TurnFilter {
  const query = queryOf(target);
  const statuses = single(query, "status");
  const limit = single(query, "limit") ?? "50";
  const before = single(query, "before");
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > 200) {
    throw invalid("limit", "an integer from 1 to 200");
  }
  if (before !== undefined && !IdentifierSchema.safeParse(before).success) {
    throw invalid("before", "the `next` of a page of turns");
  }
  return { limit: Number(limit), before, statuses: statuses === undefined ? undefined : readStatuses(statuses) };
}

/** Reads the last event that the caller has seen; throws `invalid_request`. A browser that reconnects sends it in a header. */
export function readCursor(target: string, headers: RequestHeaders): number {
  const seen = headers.get("last-event-id") ?? "";
  const [name, cursor] =
    seen === "" ? (["after", single(queryOf(target), "after")] as const) : (["last-event-id", seen] as const);
  if (cursor === undefined) return -1;
  if (!/^(-1|0|[1-9]\d{0,14})$/.test(cursor)) throw invalid(name, "the sequence of an event, or -1");
  return Number(cursor);
}

/** The id in a path of a turn; undefined when it cannot be the id of any. */
export function readExecutionId(pattern: string, path: string): string | undefined {
  const id = pathParameters(pattern, path)?.["executionId"];
  return IdentifierSchema.safeParse(id).success ? id : undefined;
}

/** The path of a turn; throws `invalid_request` for the few ids that no URL can name. */
export function turnPath(executionId: string): string {
  if (!isNameable(executionId))
    throw new ServiceHttpError(400, "invalid_request", "/executionId: expected an id that a URL can name");
  return `/v1/turns/${encodeURIComponent(executionId)}`;
}

/** Half of a surrogate pair has no encoding, and URLs leave out segments of dots however they are encoded. */
export function isNameable(id: string): boolean {
  return !/\p{Surrogate}/u.test(id) && id !== "." && id !== "..";
}

function readStatuses(text: string): readonly TurnStatus[] {
  const statuses = text.split(",").map((status) => TurnStatusSchema.safeParse(status));
  return statuses.map(({ data }) => {
    if (data === undefined) throw invalid("status", `${TurnStatusSchema.options.join(", ")}, or several with commas`);
    return data;
  });
}

export function queryOf(target: string): URLSearchParams {
  const [before = ""] = target.split("#", 1);
  const start = before.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : before.slice(start + 1));
}

/** The one value of a parameter; throws `invalid_request` for several. */
export function single(query: URLSearchParams, name: string): string | undefined {
  const [value, ...more] = query.getAll(name);
  if (more.length > 0) throw invalid(name, "one value");
  return value;
}

function invalid(name: string, expected: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", `${name}: expected ${expected}`);
}
