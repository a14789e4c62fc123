/** The parts of an OpenAPI document that the page shows. */
export interface ApiDocument {
  info: { title: string; version: string; description?: string };
  tags?: readonly { name: string; description?: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  components?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  "x-error-codes"?: readonly CodeOfApi[];
}

/** One code: where it is seen, what it means, and what to do. */
export interface CodeOfApi {
  code: string;
  status?: number;
  seenIn: readonly string[];
  meaning: string;
  remedy: string;
  retry: boolean;
}

export interface Ref {
  $ref: string;
}

export interface Schema {
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema | Ref>>;
  required?: readonly string[];
  items?: Schema | Ref;
  oneOf?: readonly (Schema | Ref)[];
  anyOf?: readonly (Schema | Ref)[];
  allOf?: readonly (Schema | Ref)[];
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema | Ref;
  example?: unknown;
}

export interface Media {
  schema?: Schema | Ref;
  example?: unknown;
  examples?: Readonly<Record<string, { summary?: string; value: unknown }>>;
}

export interface ApiResponse {
  description?: string;
  headers?: Readonly<Record<string, unknown>>;
  content?: Readonly<Record<string, Media>>;
}

interface RawOperation {
  operationId?: string;
  tags?: readonly string[];
  summary?: string;
  description?: string;
  security?: readonly object[];
  parameters?: readonly (Parameter | Ref)[];
  requestBody?: { content: Readonly<Record<string, Media>> };
  responses?: Readonly<Record<string, ApiResponse | Ref>>;
}

/** One operation with everything that it refers to put in its place, except for schemas. */
export interface Operation {
  /** What its address is made of. */
  id: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string;
  isOpen: boolean;
  parameters: readonly Parameter[];
  body: Media | undefined;
  responses: readonly (ApiResponse & { status: string })[];
}

const methods = ["get", "put", "post", "delete", "patch", "head"];

/** The operations of a document, in its order. */
export function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const raw = item[method];
      if (raw === undefined) return [];
      return [
        {
          id: raw.operationId ?? `${method}-${path}`,
          method: method.toUpperCase(),
          path,
          tag: raw.tags?.[0] ?? "",
          summary: raw.summary ?? "",
          description: raw.description ?? "",
          isOpen: raw.security?.length === 0,
          parameters: (raw.parameters ?? []).map((each) => resolve<Parameter>(document, each)),
          body: raw.requestBody?.content["application/json"],
          responses: Object.entries(raw.responses ?? {}).map(([status, response]) => ({
            status,
            ...resolve<ApiResponse>(document, response),
          })),
        },
      ];
    }),
  );
}

/** What a reference leads to; anything else is itself. A reference that leads nowhere is an empty object. */
export function resolve<T extends object>(document: ApiDocument, value: T | Ref): T {
  if (!("$ref" in value)) return value;
  const [kind = "", name = ""] = String(value.$ref).replace("#/components/", "").split("/");
  return (document.components?.[kind]?.[name] ?? {}) as T;
}

/** The name of the schema that is referred to. */
export function refName(value: object | undefined): string | undefined {
  return value !== undefined && "$ref" in value ? String(value.$ref).split("/").at(-1) : undefined;
}

/** The operations that have every word of a search somewhere. */
export function searchOperations(operations: readonly Operation[], words: string): Operation[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter((operation) => {
    const { id, method, path, tag, summary, description, parameters } = operation;
    const names = parameters.map(({ name }) => name);
    const text = [id, method, path, tag, summary, description, ...names].join(" ").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
