import * as contracts from "turnpike/contracts";
import type { CodeEntry, JsonObject } from "turnpike/contracts";
import { jsonSchemasOf, nameVariants, openApiDocument } from "turnpike/http";
import { version } from "../../shared/index.ts";
import {
  hostHeaders,
  hostParameters,
  openAccessSchemes,
  refTo,
  securitySchemes,
  type AccessSchemes,
} from "./openapi-access.ts";
import { adminPaths, adminShapes, adminTag } from "./openapi-admin.ts";
import { hostRoutes, hostShapes, hostTags, type HostRoute } from "./openapi-routes.ts";
import { servicePaths } from "./openapi-service.ts";
import { remedies } from "./remedies.ts";

/** The parts of an OpenAPI document that the host adds to. */
interface Document {
  paths: Parameters<typeof servicePaths>[0]["paths"];
  components: Parameters<typeof servicePaths>[0]["components"] &
    Record<"schemas" | "parameters" | "headers", JsonObject>;
  tags: { name: string; description: string }[];
}

const prefix = "#/components/schemas/";

/** What every response says about itself. */
const commonHeaders: JsonObject = {
  "x-request-id": refTo("headers", "RequestId"),
  "cache-control": refTo("headers", "CacheControl"),
};

/** The description of everything that the host serves, from the tables that answer. */
export function hostOpenApi(): object {
  const service = openApiDocument({ title: "Turnpike", version, securitySchemes: {}, security: [] }) as Document;
  const { tags, components, ...rest } = service;
  const ways = openAccessSchemes();
  const paths = { ...servicePaths(service, ways), ...hostPaths(ways), ...adminPaths(ways, commonHeaders) };
  const responses = ways.components();
  const shapes = nameVariants(jsonSchemasOf({ ...contracts, ...adminShapes(), ...hostShapes }, prefix), prefix);
  const schemas = { ...shapes, ...(components.schemas as Record<string, JsonObject>) };
  const own = Object.entries(hostTags).map(([name, description]) => ({ name, description }));
  const document = {
    ...rest,
    security: [{ credential: [] }],
    tags: [...tags, ...own, adminTag],
    paths,
    components: {
      schemas: reachable(schemas, JSON.stringify([paths, responses])),
      responses,
      parameters: { ...components.parameters, ...hostParameters },
      headers: { ...components.headers, ...hostHeaders },
      securitySchemes,
    },
    "x-error-codes": codesWithRemedies(),
  };
  // Copied through JSON, so that no two documents, and no two places in one, share an object.
  return JSON.parse(JSON.stringify(document)) as object;
}

/** Every code: where it occurs, what it means, and what to do. */
function codesWithRemedies(): JsonObject[] {
  return Object.entries(remedies).map(([code, remedy]) => {
    const { status, families, meaning, retry } = contracts.errorCodes[code as keyof typeof remedies] as CodeEntry;
    return { code, ...(status !== undefined && { status }), seenIn: [...families], meaning, remedy, retry };
  });
}

function hostPaths(ways: AccessSchemes): Record<string, JsonObject> {
  return Object.fromEntries(
    Object.entries(hostRoutes).map(([name, route]) => {
      const { method, path, access, errors = [] } = route;
      return [path, { [method.toLowerCase()]: ways.describe(access, hostOperation(name, route), errors) }];
    }),
  );
}

function hostOperation(operationId: string, route: HostRoute): JsonObject & { responses: JsonObject } {
  const { tag, summary, description, request, examples = {}, parameters = [], answers } = route;
  const responses = Object.entries(answers).map(([status, answer]) => {
    const { description: text, schema, types = ["application/json"], headers } = answer;
    const isBodiless = schema === undefined && answer.types === undefined;
    const content = types.map((type) => [type, { schema: schema ? shapeRef(schema) : { type: "string" } }]);
    const described = { description: text, headers: { ...commonHeaders, ...headers } };
    return [status, isBodiless ? described : { ...described, content: Object.fromEntries(content) as JsonObject }];
  });
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    parameters,
    ...(request && {
      requestBody: { required: true, content: { "application/json": { schema: shapeRef(request), examples } } },
    }),
    responses: Object.fromEntries(responses) as JsonObject,
  };
}

function shapeRef(schema: HostRoute["request"]): JsonObject {
  const name = Object.keys(hostShapes).find((key) => hostShapes[key] === schema) ?? "";
  return refTo("schemas", name.replace(/Schema$/, ""));
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
