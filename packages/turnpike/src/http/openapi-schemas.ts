import * as contracts from "../contracts/index.ts";
import type { JsonObject, JsonValue } from "../contracts/index.ts";
import { jsonSchemasOf, nameVariants } from "../internal/index.ts";

const prefix = "#/components/schemas/";

// The generator orval makes a type `ReachResult` for the operation `reach`, so no component may have that name.
const { ReachResultSchema: ReachAnswerSchema, ...others } = contracts;
const exported = { ...others, ReachAnswerSchema };

/** A reference to the component of a schema that the contracts export. */
export function schemaRef(schema: contracts.Route["response"]): JsonObject {
  const name = Object.entries(exported).find(([, known]) => known === schema)?.[0];
  if (name === undefined) throw new TypeError("A route uses a schema that the contracts do not export.");
  return { $ref: `${prefix}${name.replace(/Schema$/, "")}` };
}

/** The schemas that requests and responses are made of, sorted by name: those that a route refers to, directly or not. */
export function schemaComponents(): Record<string, JsonObject> {
  const all: Record<string, JsonObject> = {
    ...nameVariants(jsonSchemasOf(exported, prefix), prefix),
    JsonValue: jsonValue,
  };
  const used = new Set<string>();
  const use = (name: string): void => {
    const schema = all[name];
    if (used.has(name) || schema === undefined) return;
    used.add(name);
    refsIn(schema).forEach(use);
  };
  refsIn([contracts.RequestErrorSchema, ...routeSchemas()].map(schemaRef)).forEach(use);
  return Object.fromEntries([...used].toSorted().map((name) => [name, described(name, all[name] ?? {})]));
}

/** Written out, because generators read an empty schema as an object. */
const jsonValue: JsonObject = {
  anyOf: [
    { type: "string" },
    { type: "number" },
    { type: "boolean" },
    { type: "null" },
    { type: "array", items: {} },
    { $ref: `${prefix}JsonObject` },
  ],
};

function routeSchemas(): contracts.Route["response"][] {
  return Object.values<contracts.Route>(contracts.routes).flatMap(({ request, response }) =>
    request === undefined ? [response] : [request, response],
  );
}

function refsIn(value: JsonValue): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === "$ref" && typeof part === "string" ? [part.slice(prefix.length)] : refsIn(part),
  );
}

function described(name: string, schema: JsonObject): JsonObject {
  const description = schemaTexts[name];
  const shown = oneKindEach(schema);
  return description === undefined ? shown : { description, ...shown };
}

/** Writes an enum of numbers and texts as a choice between constants, because generators give the entries `1` and `"1"` the same name. */
function oneKindEach({ enum: values, ...schema }: JsonObject): JsonObject {
  const kinds = (values as JsonValue[] | undefined)?.map((value) => ({ type: typeof value, const: value })) ?? [];
  if (new Set(kinds.map(({ type }) => type)).size > 1) return { ...schema, anyOf: kinds };
  return values === undefined ? schema : { ...schema, enum: values };
}

const schemaTexts: Readonly<Record<string, string>> = {
  ActError: "Why an effect failed, as its caller says. `nothingHappened` frees the act's id.",
  ActOutcome:
    "What became of an effect. It names the act by its `executionId`, or by its `traceId` if it began without one.",
  ActRequest: "An effect that the caller carries out itself. Each of `needs` has to be covered by some grant alone.",
  ActState:
    "Where an act is. `interrupted`: its lease ran out without an outcome, so its effect may have happened; it is never handed out again.",
  Action: 'What is done to a resource. In a capability, `"*"` covers every action.',
  AgentRef: "An agent, the one kind of principal that runs turns.",
  Amount: "How much of something an act costs. Exact: a text, or a number whose shortest text is one.",
  Amounts: "What an act costs. Amounts of one unit are added.",
  AuthorityRequest:
    "Something to approve: it asks for authority and is none. The same ask has the same id at any time.",
  AuthorizationDecision: "The answer to an authorization request. A denial may restate what authority is needed.",
  AuthorizationRequest: "One act on one resource.",
  AuthorizeRequest:
    "A question whether one act on one resource would be allowed. A grant with budgets covers no act that does not say what it spends.",
  Budget:
    "How much of a unit may be spent under a grant in one window. Windows are those of the UTC calendar; weeks begin on Monday.",
  Capability: "What may be done where.",
  Constraints: "Conditions on authority; each narrows, none widens. `notBefore` is not after `expiresAt`.",
  ErrorObject: "Why a result is `denied`, `failed` or `cancelled`. Codes are open-ended; `retryable` is a hint.",
  Escalation: "An escalation to the owner that a turn ended with. Nothing inside a turn can answer it.",
  Health: "The service is up.",
  Identifier: "1-256 characters, not only white space. Compared as it is, never trimmed.",
  JsonObject: "A JSON object: no `__proto__` key, at most 64 levels of nesting.",
  JsonValue: "Any JSON value: no `__proto__` key, at most 64 levels of nesting.",
  MessageEnvelope: "A message between principals; it carries no authority.",
  MessageResult: "What became of a message.",
  NamespaceCatalog: "The tool namespaces of the caller, sorted by name. The summary agrees with the entries.",
  NamespaceEntry: "One tool namespace: where its tools come from, how many there are, and whether it is switched on.",
  NamespaceUpdate: "Which tool namespaces to switch on and off. Both lists are sets, and no name is in both.",
  Path: "A place within a namespace, from its root.",
  PathSegment: "One step of a path: no slash, no backslash, no control character, neither `.` nor `..`.",
  PrincipalRef: "Someone who acts, owns, issues, sends, receives or reviews.",
  Provenance: "Where a message comes from.",
  Purpose: "The declared reason of an act, matched exactly.",
  ReachAnswer: "Everywhere the caller may act, or why that cannot be said.",
  ReachEntry: "One place where the caller may act right now, and how.",
  RequestError: "The body of every HTTP error. Codes are open-ended. Only operators are told details.",
  ResourceOperationRequest: "One act on one resource, to be carried out. The context is never the caller's to bring.",
  ResourceRef: "A place; without an owner it is that of the owner the caller acts for.",
  ResourceResult: "What became of a resource operation.",
  Scope: "Whether a path means itself alone, or itself and everything below.",
  Timestamp: "RFC 3339 date-time with an offset or `Z`.",
  ToolAnnotations: "Hints about a tool's effect. A `read` tool is not `destructive`, a `write` tool is not `readOnly`.",
  ToolCall: "One call of one tool. The trace has to be the caller's own.",
  ToolCatalog: "The usable tools, sorted by name, each once.",
  ToolDescriptor: "What a tool is called, takes and needs. No call needs more than `requiredCapability`.",
  ToolResult: "What became of a tool call.",
  TurnEvent: "One thing that happened in a turn; `sequence` counts from 0 without gaps.",
  TurnEventList: "The events of a turn, from a cursor on.",
  TurnEventType: "What kind of thing happened in a turn.",
  TurnList: "A page of the caller's own turns, the newest first. `next` is there when there are older ones.",
  TurnOptions:
    "Limits of a turn. Left out, `maxSteps` is 16, `maxToolCalls` is `maxSteps` and `timeoutMs` is 120000, unless the host says otherwise.",
  TurnRequest: "One bounded agent turn to run.",
  TurnResult: "How a turn ended, with all of its events.",
  TurnState: "The state of a turn: with its escalation while it waits, with its result once it has ended.",
  TurnStatus: "A turn runs, waits for an answer, or has ended as its result says.",
  Version: "The version of the protocol, as a number or as text. A result repeats the form its request used.",
};
