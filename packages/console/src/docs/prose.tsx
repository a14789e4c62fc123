import type { ComponentChildren } from "preact";

/** The few marks that texts of the API use: paragraphs, lists, `code` and **stress**. */
export function Prose({ text }: { text: string }) {
  if (text === "") return null;
  return (
    <div class="prose">
      {text.split(/\n{2,}/).map((block) => {
        const lines = block.split("\n");
        if (!lines.every((line) => line.startsWith("- "))) return <p key={block}>{marked(block)}</p>;
        return (
          <ul key={block}>
            {lines.map((line) => (
              <li key={line}>{marked(line.slice(2))}</li>
            ))}
          </ul>
        );
      })}
    </div>
  );
}

function marked(text: string): ComponentChildren[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith("`") && part.length > 2) return <code key={part}>{part.slice(1, -1)}</code>;
    if (part.startsWith("**") && part.length > 4) return <strong key={part}>{part.slice(2, -2)}</strong>;
    return part;
  });
}
