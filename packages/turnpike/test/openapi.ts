/** As much of the shape of an OpenAPI document as its tests read. */
interface Example {
  summary: string;
  value: unknown;
}
interface Content {
  schema: { $ref?: string; description?: string };
  examples: Record<string, Example>;
}
export interface Answer {
  $ref?: string;
  description: string;
  headers: Record<string, unknown>;
  content?: Record<string, Content>;
}
interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security?: unknown;
  parameters: unknown;
  requestBody?: { required: boolean; content: Record<string, Content> };
  responses: Record<string, Answer>;
}
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string };
  servers: unknown;
  security?: unknown;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, { description?: string }>> & { responses: Record<string, Answer> };
}

/** The operation of this id. Throws when there is none. */
export function operationOf(document: OpenApi, name: string): Operation {
  const found = Object.values(document.paths)
    .flatMap((verbs) => Object.values(verbs))
    .find(({ operationId }) => operationId === name);
  if (found === undefined) throw new Error(`The document has no operation ${name}.`);
  return found;
}
