import { hostOpenApi } from "../src/protocols/pages/openapi.ts";
import { createRouter, type Router } from "turnpike/http";

/** What a test got of an answer. */
interface Received {
  method: string;
  path: string;
  status: number;
  headers: Headers;
  /** The body as JSON; undefined when it is none. */
  body: unknown;
}

interface Described {
  method: string;
  path: string;
  responses: Record<string, { $ref?: string }>;
}

interface DescribedResponse {
  headers?: Record<string, { $ref: string }>;
  "x-error-codes"?: string[];
}

type Components = Record<"responses" | "headers", Record<string, object>>;

let known: { router: Router<Described>; components: Components } | undefined;

/** The operations of the host's description; read when the first answer comes. */
function description(): NonNullable<typeof known> {
  if (known !== undefined) return known;
  const { paths, components } = hostOpenApi() as {
    paths: Record<string, Record<string, Pick<Described, "responses">>>;
    components: Components;
  };
  const rows = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, { responses }]) => ({ method: verb.toUpperCase(), path, responses })),
  );
  return (known = { router: createRouter(rows), components });
}

/**
 * What an answer has that the API description of the host does not say: its status, its code, or a header that the description
 * promises and that did not come. Nothing for a path or a verb that is not described.
 */
export function undocumented({ method, path, status, headers, body }: Received): string[] {
  const { router, components } = description();
  const operation = router.find(method, path.replace(/\?.*$/, ""));
  if (operation === undefined) return [];
  const at = `${method} ${operation.path} ${status}`;
  const found = operation.responses[String(status)];
  if (found === undefined) return [`${at}: the status is not described`];
  const name = found.$ref?.split("/").at(-1);
  const response = (name === undefined ? found : components.responses[name]) as DescribedResponse;
  const codes = response["x-error-codes"];
  const code = (body as { error?: { code?: string } } | undefined)?.error?.code;
  const isUnknownCode = codes !== undefined && code !== undefined && !codes.includes(code);
  const missing = Object.entries(response.headers ?? {}).filter(([header, { $ref }]) => {
    const { required = false } = components.headers[$ref.split("/").at(-1) ?? ""] as { required?: boolean };
    return required && headers.get(header) === null;
  });
  return [
    ...(isUnknownCode ? [`${at}: the code ${code} is not described`] : []),
    ...missing.map(([header]) => `${at}: the header ${header} is described and did not come`),
  ];
}

/** Throws for an answer that the API description does not have. Whatever a test sends checks the description, too. */
export function requireDocumented(received: Received): void {
  const [problem] = undocumented(received);
  if (problem !== undefined) throw new Error(`The API description is wrong. ${problem}.`);
}
