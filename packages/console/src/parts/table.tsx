import type { ComponentChildren } from "preact";
import { visibleText } from "../shared/words.ts";
import { ForeignText } from "./foreign-text.tsx";

/** One column of a table. */
export interface Column<Row> {
  title: string;
  /** How a cell is set: numbers to the right, code in a fixed pitch. */
  kind?: "text" | "number" | "code";
  /** Left out where the page is narrow. */
  isMinor?: boolean;
  cell(row: Row): ComponentChildren;
}

/** A table of rows, each known by a key. On narrow screens each row becomes a card with the titles beside its cells. */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
}) {
  return (
    <div class="table-frame" role="region" aria-label={label} tabIndex={0}>
      <table>
        <caption class="hidden">{label}</caption>
        <thead>
          <tr>
            {columns.map(({ title, kind, isMinor }) => (
              <th key={title} scope="col" class={classOf(kind, isMinor)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, kind, isMinor, cell }) => (
                <td key={title} class={classOf(kind, isMinor)} data-title={title}>
                  {shownCell(cell(row))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf(kind = "text", isMinor = false): string {
  return isMinor ? `${kind} minor` : kind;
}

/** Texts that are no longer than this have words that are not broken. */
const shortText = 24;

/** A text may be any caller's. */
function shownCell(content: ComponentChildren): ComponentChildren {
  if (typeof content !== "string" || content === "") return content;
  const text = <ForeignText text={content} />;
  return visibleText(content).length <= shortText ? <span class="short">{text}</span> : text;
}
