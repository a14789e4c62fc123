import { visibleParts } from "../base/visible-text.ts";

/** A text that an agent, a server or anybody else wrote: never more than text, with nothing hidden, and in a direction of its own. */
export function ForeignText({ text }: { text: string }) {
  return (
    <bdi>
      {visibleParts(text).map((part, place) =>
        part.isHidden ? (
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

/** Any value as JSON, a text as it is, on as many lines as it has. */
export function ForeignValue({ value }: { value: unknown }) {
  return (
    <pre class="foreign" tabIndex={0}>
      <ForeignParagraph text={typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "")} />
    </pre>
  );
}
