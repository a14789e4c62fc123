import { useState } from "preact/hooks";
import { rulesText, typeText } from "./describe-schema.ts";
import { resolve, type ApiDocument, type ApiResponse, type Media, type Operation, type Schema } from "./document.ts";
import { Prose } from "./prose.tsx";
import { SchemaView } from "./schema-view.tsx";
import { TryIt } from "./try-it.tsx";

/** One operation, closed until an operator wants to read it. */
export function OperationView({
  document,
  operation,
  isOpen,
}: {
  document: ApiDocument;
  operation: Operation;
  isOpen: boolean;
}) {
  const [isShown, setShown] = useState(isOpen);
  const { id, method, path, summary } = operation;
  return (
    <details id={id} class="operation" open={isOpen} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        <h3>
          <span class={`method ${method.toLowerCase()}`}>{method}</span> <code>{path}</code>
        </h3>
        <span class="operation-summary">{summary}</span>
      </summary>
      {isShown && <OperationBody document={document} operation={operation} />}
    </details>
  );
}

function OperationBody({ document, operation }: { document: ApiDocument; operation: Operation }) {
  const { description, isOpen, parameters, body, responses } = operation;
  return (
    <div class="operation-body">
      <Prose text={description} />
      <p class="hint">{isOpen ? "Needs no credential." : "Needs a credential: authorization: Bearer <token>."}</p>
      {parameters.length > 0 && (
        <section>
          <h4>Parameters and headers</h4>
          <ul class="fields">
            {parameters.map(({ name, in: place, required = false, schema = {}, description: about = "" }) => (
              <li key={name}>
                <p class="field-head">
                  <code class="field-name">{name}</code> <code class="field-type">{typeText(document, schema)}</code>
                  <span class="tag">{place}</span>
                  <span class={required ? "tag accent" : "tag"}>{required ? "required" : "optional"}</span>
                </p>
                <p class="hint">{rulesText(resolve<Schema>(document, schema))}</p>
                <Prose text={about} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {body?.schema !== undefined && (
        <section>
          <h4>Body</h4>
          <SchemaView document={document} schema={body.schema} />
        </section>
      )}
      <section>
        <h4>Answers</h4>
        {responses.map((response) => (
          <ResponseView key={response.status} document={document} response={response} />
        ))}
      </section>
      <TryIt operation={operation} />
    </div>
  );
}

function ResponseView({ document, response }: { document: ApiDocument; response: ApiResponse & { status: string } }) {
  const { status, description = "", headers = {}, content = {} } = response;
  return (
    <details>
      <summary>
        <code class={status.startsWith("2") ? "status good" : "status bad"}>{status}</code> {firstLine(description)}
      </summary>
      <Prose text={description} />
      {Object.keys(headers).length > 0 && (
        <p class="hint">
          Headers: <code>{Object.keys(headers).join(", ")}</code>
        </p>
      )}
      {Object.entries(content).map(([type, media]) => (
        <div key={type}>
          {media.schema !== undefined && <SchemaView document={document} schema={media.schema} />}
          <Examples media={media} />
        </div>
      ))}
    </details>
  );
}

function Examples({ media: { example, examples = {} } }: { media: Media }) {
  const all = [...(example === undefined ? [] : [{ summary: "Example", value: example }]), ...Object.values(examples)];
  return (
    <>
      {all.map(({ summary = "Example", value }) => (
        <figure key={summary}>
          <figcaption class="hint">{summary}</figcaption>
          <pre tabIndex={0}>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
        </figure>
      ))}
    </>
  );
}

function firstLine(text: string): string {
  return (text.split("\n")[0] ?? "").replaceAll("`", "").replace(/^- /, "");
}
