import * as contracts from "turnpike/contracts";
import type { JsonObject } from "turnpike/contracts";
import { jsonSchemasOf, openApiDocument } from "turnpike/http";
import { z } from "zod";
import { version } from "../../base/index.ts";
import { type AdminRoute, adminRoutes } from "../../management/index.ts";

/** The parts of an OpenAPI document that the operators' routes are added to. */
interface Document {
  paths: Record<string, JsonObject>;
  components: { schemas: Record<string, JsonObject>; responses: JsonObject };
  tags: { name: string; description: string }[];
}

const prefix = "#/components/schemas/";
const tag = { name: "operators", description: "What operators do: with an operator's credential only." };

/** The description of everything that the host serves. */
export function hostOpenApi(): object {
  const service = openApiDocument({
    title: "Turnpike",
    version,
    securitySchemes: { credential: { type: "http", scheme: "bearer" } },
    security: [{ credential: [] }],
  });
  return withAdminRoutes(service);
}

/** The service's document with the operators' routes added, from the same table that answers them. */
export function withAdminRoutes(document: object): object {
  const { paths, components, tags, ...rest } = document as Document;
  const shapes = jsonSchemasOf({ ...contracts, ...shapesOf() }, prefix);
  const schemas = { ...shapes, ...components.schemas };
  const all: Record<string, JsonObject> = { ...paths };
  for (const [name, route] of Object.entries<AdminRoute>(adminRoutes)) {
    all[route.path] = { ...all[route.path], [route.method.toLowerCase()]: operation(name, route) };
  }
  const used = reachable(schemas, JSON.stringify([all, components.responses]));
  return { ...rest, tags: [...tags, tag], paths: all, components: { ...components, schemas: used } };
}

/** The bodies and answers as named schemas, such as `CreateGrantBody` and `CreateGrantAnswer`. */
function shapesOf(): Record<string, z.ZodType> {
  const shapes: Record<string, z.ZodType> = {};
  for (const [name, { request, response }] of Object.entries<AdminRoute>(adminRoutes)) {
    if (request !== undefined) shapes[shapeName(name, "Body")] = request;
    shapes[shapeName(name, "Answer")] = response;
  }
  // A schema of the contracts keeps its name.
  const named = new Set<unknown>(Object.values(contracts));
  return Object.fromEntries(Object.entries(shapes).filter(([, schema]) => !named.has(schema)));
}

function shapeName(name: string, part: "Body" | "Answer"): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${part}`;
}

function schemaRef(name: string, part: "Body" | "Answer", schema: z.ZodType): JsonObject {
  const contract = Object.entries(contracts).find(([, exported]) => exported === schema)?.[0];
  return { $ref: `${prefix}${contract?.replace(/Schema$/, "") ?? shapeName(name, part)}` };
}

function operation(name: string, route: AdminRoute): JsonObject {
  const { summary, request, response, query, status = 200 } = route;
  return {
    operationId: name,
    tags: [tag.name],
    summary,
    description: accessText(route),
    ...(query && { parameters: parametersOf(route.path, query) }),
    ...(request && { requestBody: { required: true, content: json(schemaRef(name, "Body", request)) } }),
    responses: {
      [status]: answer("Done.", schemaRef(name, "Answer", response)),
      "4XX": answer("Refused: the body says why.", requestError),
      "5XX": answer("Not available right now.", requestError),
    },
  };
}

/** Who may use a route. */
function accessText({ roles, about }: AdminRoute): string {
  const who = `For operators with the role ${roles.join(", ").replace(/, (?=[^,]*$)/, " or ")}`;
  return about === "host" ? `${who} of all tenants.` : `${who}.`;
}

const requestError: JsonObject = { $ref: `${prefix}RequestError` };

const headers: JsonObject = {
  "x-request-id": { $ref: "#/components/headers/RequestId" },
  "cache-control": { $ref: "#/components/headers/CacheControl" },
};

function answer(description: string, schema: JsonObject): JsonObject {
  return { description, headers, content: json(schema) };
}

function json(schema: JsonObject): JsonObject {
  return { "application/json": { schema } };
}

function parametersOf(path: string, query: z.ZodObject): JsonObject[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: "input" });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = JSON.parse(JSON.stringify(property)) as JsonObject;
    const place = path.includes(`{${name}}`) ? "path" : "query";
    const isRequired = required.includes(name);
    return { name, in: place, required: isRequired, ...(description !== undefined && { description }), schema };
  });
}

/** The schemas that are referred to, directly or indirectly. No other schema belongs into the document. */
function reachable(schemas: Readonly<Record<string, JsonObject>>, text: string): Record<string, JsonObject> {
  const used = new Set<string>();
  const visit = (part: string): void => {
    for (const [, name = ""] of part.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(JSON.stringify(schemas[name] ?? {}));
    }
  };
  visit(text);
  return Object.fromEntries([...used].toSorted().map((name) => [name, schemas[name] ?? {}]));
}
