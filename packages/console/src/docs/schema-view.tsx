import { shapesOf, type Field } from "./describe-schema.ts";
import { refName, type ApiDocument, type Ref, type Schema } from "./document.ts";
import { Prose } from "./prose.tsx";

/** The fields of a schema as tables, and those of its parts below when the operator opens them. */
export function SchemaView({
  document,
  schema,
  seen = [],
}: {
  document: ApiDocument;
  schema: Schema | Ref;
  seen?: readonly string[];
}) {
  const shapes = shapesOf(document, schema);
  const name = refName(schema);
  const path = name === undefined ? seen : [...seen, name];
  return (
    <>
      {shapes.map(({ title, fields }, place) => (
        <div key={`${title}${place}`} class="shape">
          {shapes.length > 1 && title !== "" && <p class="shape-title code">{title}</p>}
          <ul class="fields">
            {fields.map((field) => (
              <FieldRow key={field.name} document={document} field={field} seen={path} />
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

function FieldRow({ document, field, seen }: { document: ApiDocument; field: Field; seen: readonly string[] }) {
  const { name, isRequired, type, rules, description, schema } = field;
  // A schema inside itself has been shown.
  const isOpenable = schema !== undefined && !seen.includes(refName(schema) ?? "");
  return (
    <li>
      <p class="field-head">
        <code class="field-name">{name}</code> <code class="field-type">{type}</code>
        {isRequired ? <span class="tag accent">required</span> : <span class="tag">optional</span>}
      </p>
      {rules !== "" && <p class="hint">{rules}</p>}
      <Prose text={description} />
      {isOpenable && (
        <details>
          <summary>What {type.replace(/\[\]$/, "")} consists of</summary>
          <SchemaView document={document} schema={schema} seen={seen} />
        </details>
      )}
    </li>
  );
}
