import type { JsonObject, RouteName } from "../contracts/index.ts";
import { responseHeaders } from "./openapi-errors.ts";

/** The parameters of requests, by name. */
export const parameters: JsonObject = {
  RequestId: {
    name: "x-request-id",
    in: "header",
    description:
      "Names the request in answers and logs. It is echoed when it is 1-128 visible ASCII characters; otherwise a fresh UUID takes its place.",
    schema: { type: "string" },
    example: "request-1",
  },
  Prefer: {
    name: "prefer",
    in: "header",
    description:
      "`respond-async` starts a turn that goes on without its caller. Other preferences are ignored, and so is this one where the host has no journal of turns.",
    schema: { type: "string" },
    example: "respond-async",
  },
  PreferWait: {
    name: "prefer",
    in: "header",
    description:
      "`wait=30` lets the answer wait for as many seconds, 60 at most, while a person is asked. It is ignored where the host holds as many requests as it may.",
    schema: { type: "string" },
    example: "wait=30",
  },
  ExecutionId: {
    name: "executionId",
    in: "path",
    required: true,
    description: "The id that the turn was started under, percent-encoded.",
    schema: { type: "string" },
    example: "turn-1",
  },
  ActId: {
    name: "id",
    in: "path",
    required: true,
    description: "The id that the act began under, percent-encoded.",
    schema: { type: "string" },
    example: "act-1",
  },
  ActTraceId: {
    name: "traceId",
    in: "query",
    description: "The trace that the act began with; needed for an act that began without an execution.",
    schema: { type: "string" },
    example: "trace-1",
  },
  ActExecutionId: {
    name: "executionId",
    in: "query",
    description: "The execution that the act began with.",
    schema: { type: "string" },
  },
  Status: {
    name: "status",
    in: "query",
    description: "Lists only the turns of this status, or of several with commas between them.",
    schema: { type: "string" },
    example: "running,waiting",
  },
  Limit: {
    name: "limit",
    in: "query",
    description: "How many turns a page has at most.",
    schema: { type: "integer", minimum: 1, maximum: 200, default: 50 },
  },
  Before: {
    name: "before",
    in: "query",
    description: "The `next` of the page before.",
    schema: { type: "string" },
  },
  After: {
    name: "after",
    in: "query",
    description: "The sequence of the last event that the caller has seen; `-1` is before the first.",
    schema: { type: "integer", minimum: -1, default: -1 },
  },
  LastEventId: {
    name: "last-event-id",
    in: "header",
    description: "The same as `after`, as a browser says it that reconnects; it counts when both are there.",
    schema: { type: "string" },
  },
};

/** The headers of responses, by name. */
export const headers: JsonObject = {
  RequestId: {
    description: "The id of the request: the caller's, or a fresh one.",
    required: true,
    schema: { type: "string", pattern: "^[!-~]{1,128}$" },
    example: "request-1",
  },
  CacheControl: {
    description: "Nothing is ever cached.",
    required: true,
    schema: { type: "string", const: "no-store" },
  },
  Allow: {
    description: "The verbs that this path knows.",
    required: true,
    schema: { type: "string" },
    example: "GET, PUT",
  },
  Location: {
    description: "Where the turn is.",
    required: true,
    schema: { type: "string" },
    example: "/v1/turns/turn-4",
  },
  PreferenceApplied: {
    description: "Whether the request's preference was followed.",
    schema: { type: "string", const: "respond-async" },
  },
  WaitApplied: {
    description: "For how many seconds the answer was allowed to wait; absent where it did not wait.",
    schema: { type: "string", pattern: "^wait=[0-9]+$" },
    example: "wait=30",
  },
  RetryAfter: {
    description: "How many seconds to wait before the request is sent again.",
    schema: { type: "string", pattern: "^[0-9]+$" },
    example: "1",
  },
  IdempotencyReplayed: {
    description: "The same request was answered before: this is what became of it then.",
    schema: { type: "string", const: "true" },
  },
};

const ofItsOwn: Partial<Record<RouteName, readonly string[]>> = {
  executeTurn: ["Prefer"],
  listTurns: ["Status", "Limit", "Before"],
  getTurn: ["ExecutionId"],
  listTurnEvents: ["ExecutionId", "After", "LastEventId"],
  cancelTurn: ["ExecutionId"],
  beginAct: ["PreferWait"],
  finishAct: ["ActId"],
  getAct: ["ActId", "ActTraceId", "ActExecutionId"],
};

/** References to the parameters of one route. */
export function parametersOf(name: RouteName): JsonObject[] {
  const names = ["RequestId", ...(ofItsOwn[name] ?? [])];
  return names.map((parameter) => ({ $ref: `#/components/parameters/${parameter}` }));
}

/** References to the headers of an answer without an error. */
export function successHeaders(name: RouteName, status: 200 | 202): JsonObject {
  const replayed = { "idempotency-replayed": { $ref: "#/components/headers/IdempotencyReplayed" } };
  if (name === "beginAct") {
    const waited = { "preference-applied": { $ref: "#/components/headers/WaitApplied" } };
    return { ...responseHeaders, ...(status === 200 && replayed), ...waited };
  }
  if (name !== "executeTurn") return responseHeaders;
  const own: JsonObject = status === 200 ? replayed : { location: { $ref: "#/components/headers/Location" } };
  return { ...responseHeaders, ...own, "preference-applied": { $ref: "#/components/headers/PreferenceApplied" } };
}
