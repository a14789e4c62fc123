/** The part of an OpenAPI document that the page shows. */
interface Document {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  requestBody?: { content: Record<string, Media> };
  responses?: Record<string, { description?: string; content?: Record<string, Media> }>;
}

interface Media {
  example?: unknown;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

const verbs = ["get", "put", "post", "delete", "patch", "head"];

/** The API description as one HTML page without scripts and external resources. */
export function renderDocs(openApi: object): string {
  const { info, paths } = openApi as Document;
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => (item[verb] === undefined ? [] : [renderOperation(verb, path, item[verb])])),
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(info.title)} ${escape(info.version)}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
  details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .6rem 0; }
  summary { cursor: pointer; }
  code, pre { font: .875rem/1.45 ui-monospace, monospace; }
  pre { overflow-x: auto; padding: .75rem; border-radius: .4rem; background: color-mix(in srgb, currentColor 8%, transparent); }
  .verb { display: inline-block; min-width: 3.5rem; font-weight: 700; }
</style>
<h1>${escape(info.title)} <small>${escape(info.version)}</small></h1>
<p>${escape(info.description ?? "")}</p>
<p>The same as a document for machines: <a href="/openapi.json">openapi.json</a></p>
${operations.join("\n")}
</html>
`;
}

function renderOperation(verb: string, path: string, operation: Operation): string {
  const { summary = "", description = "", requestBody, responses = {} } = operation;
  const answers = Object.entries(responses).map(([status, { description: meaning = "", content }]) => {
    return `<h4>${escape(status)}</h4><p>${escape(meaning)}</p>${renderExamples(content)}`;
  });
  return `<details>
<summary><code><span class="verb">${verb.toUpperCase()}</span> ${escape(path)}</code> ${escape(summary)}</summary>
<p>${escape(description)}</p>
${requestBody === undefined ? "" : `<h3>Request</h3>${renderExamples(requestBody.content)}`}
<h3>Answers</h3>
${answers.join("\n")}
</details>`;
}

function renderExamples(content: Record<string, Media> | undefined): string {
  return Object.values(content ?? {})
    .flatMap(({ example, examples }) => [...(example === undefined ? [] : [example]), ...valuesOf(examples)])
    .map((value) => `<pre>${escape(typeof value === "string" ? value : JSON.stringify(value, null, 2))}</pre>`)
    .join("\n");
}

function valuesOf(examples: Media["examples"]): unknown[] {
  return Object.values(examples ?? {}).map(({ value }) => value);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
