import { useState } from "preact/hooks";
import { visibleParts } from "turnpike-host/display";

/** A text that an agent, a server or another caller wrote. It is shown as plain text, with nothing hidden, and in its own direction. */
export function ForeignText({ text }: { text: string }) {
  return (
    <bdi>
      {visibleParts(text).map((part, place) =>
        part.isNumber ? (
          <mark key={place} class="hidden-character">
            {part.text}
          </mark>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}

/** The same on as many lines as it has, set as a paragraph. */
export function ForeignParagraph({ text }: { text: string }) {
  return (
    <>
      {text.split("\n").map((line, place) => (
        <span key={place} class="foreign-line">
          <ForeignText text={line} />
        </span>
      ))}
    </>
  );
}

/** The same of a text that may be long: its beginning, and the rest on request. */
export function LongText({ text, most }: { text: string; most: number }) {
  const [isWhole, setWhole] = useState(false);
  const start = text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "");
  if (isWhole || text.length <= most) return <ForeignParagraph text={text} />;
  return (
    <>
      <ForeignParagraph text={start} />
      <button type="button" class="button more" onClick={() => setWhole(true)}>
        Show {(text.length - start.length).toLocaleString()} more characters
      </button>
    </>
  );
}

/** Any value as JSON, a text as it is, on as many lines as it has. */
export function ForeignValue({ value }: { value: unknown }) {
  return (
    <pre class="foreign" tabIndex={0}>
      <ForeignParagraph text={typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "")} />
    </pre>
  );
}
