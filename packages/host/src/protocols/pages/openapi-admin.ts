import * as contracts from "turnpike/contracts";
import type { ErrorCode, JsonObject } from "turnpike/contracts";
import type { CodeAtStatus } from "turnpike/http";
import { z } from "zod";
import { type AdminRoute, type AdminRouteName, adminRoutes, sharedShapes } from "../../admin-contract/index.ts";
import { adminExamples, type AdminExample } from "./admin-examples.ts";
import { refTo, type AccessSchemes } from "./openapi-access.ts";

export const adminTag = { name: "operators", description: "What operators do: with an operator's credential only." };

/** The paths of the operators' routes, from the same table that answers them. */
export function adminPaths(ways: AccessSchemes, headers: JsonObject): Record<string, JsonObject> {
  const paths: Record<string, JsonObject> = {};
  for (const [name, route] of Object.entries<AdminRoute>(adminRoutes)) {
    const described = operation(name as AdminRouteName, route, headers);
    const operationOfWay = ways.describe("operator", described, codesOf(route));
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOfWay };
  }
  return paths;
}

/** The schemas that have names of their own. */
const named: Readonly<Record<string, unknown>> = { ...contracts, ...sharedShapes };

/** The bodies and answers as named schemas, such as `CreateGrantBody` and `CreateGrantAnswer`, and what they share. */
export function adminShapes(): Record<string, z.ZodType> {
  const shapes: Record<string, z.ZodType> = {};
  for (const [name, { request, response }] of Object.entries<AdminRoute>(adminRoutes)) {
    if (request !== undefined) shapes[shapeName(name, "Body")] = request;
    shapes[shapeName(name, "Answer")] = response;
  }
  const known = new Set(Object.values(named));
  return { ...sharedShapes, ...Object.fromEntries(Object.entries(shapes).filter(([, schema]) => !known.has(schema))) };
}

function shapeName(name: string, part: "Body" | "Answer"): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${part}`;
}

function schemaRef(name: string, part: "Body" | "Answer", schema: z.ZodType): JsonObject {
  const own = Object.keys(named).find((key) => named[key] === schema);
  return refTo("schemas", own?.replace(/Schema$/, "") ?? shapeName(name, part));
}

function codesOf({ request, path, errors = [] }: AdminRoute): (ErrorCode | CodeAtStatus)[] {
  const hasPlace = path.includes("{");
  return [...(request ? (["invalid_json"] as const) : []), ...(hasPlace ? (["not_found"] as const) : []), ...errors];
}

function operation(
  name: AdminRouteName,
  route: AdminRoute,
  common: JsonObject,
): JsonObject & { responses: JsonObject } {
  const { summary, request, response, query, status = 200, isStream = false, isFile = false, isOpen = false } = route;
  const example: AdminExample = adminExamples[name];
  const schema = schemaRef(name, "Answer", response);
  const headers = { ...common, ...(cookieSetting.has(name) && { "set-cookie": refTo("headers", "SetCookie") }) };
  return {
    operationId: name,
    tags: [adminTag.name],
    summary,
    description: accessText(route),
    ...(isOpen && { security: [] }),
    parameters: [...(query ? parametersOf(route.path, query, example.query) : []), ...(isStream ? [lastEventId] : [])],
    ...(request && { requestBody: requestBody(schemaRef(name, "Body", request), summary, example) }),
    responses: {
      [status]: isStream
        ? { description: streamText, headers, content: { "text/event-stream": { schema } } }
        : isFile
          ? { description: "The file.", headers, content: { "application/vnd.sqlite3": { schema } } }
          : { description: "Done.", headers, content: { "application/json": { schema } } },
    },
  };
}

const cookieSetting: ReadonlySet<AdminRouteName> = new Set(["createSession", "endSession"]);

/** Who may use a route. */
function accessText({ roles, about, isOpen }: AdminRoute): string {
  if (isOpen === true) return "For every caller: the body has what admits them.";
  const who = `For operators with the role ${roles.join(", ").replace(/, (?=[^,]*$)/, " or ")}`;
  return about === "host" ? `${who} of all tenants.` : `${who}.`;
}

function requestBody(schema: JsonObject, summary: string, { body }: AdminExample): JsonObject {
  const examples = { demo: { summary, value: body ?? {} } };
  return { required: true, content: { "application/json": { schema, examples } } };
}

const streamText =
  "Server-sent events without an end. The data of each is this as JSON, and its id is the cursor behind it. A comment line " +
  "breaks every 15 seconds of silence. The stream ends when the credential does, and when the host stops.";

const lastEventId: JsonObject = {
  name: "last-event-id",
  in: "header",
  required: false,
  description: "the id of the last event that was read, as browsers send it by themselves; it counts before `cursor`",
  schema: { type: "string" },
};

function parametersOf(path: string, query: z.ZodObject, examples: AdminExample["query"] = {}): JsonObject[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: "input" });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = JSON.parse(JSON.stringify(property)) as JsonObject;
    const example = examples[name];
    return {
      name,
      in: path.includes(`{${name}}`) ? "path" : "query",
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema,
      ...(example !== undefined && { example }),
    };
  });
}
