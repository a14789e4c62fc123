import { rowAfter } from "../shared/keys.ts";

/** The rows that the keys walk over: of tables, lists and trees, and the buttons that read more rows. */
const rowsOf = "tbody > tr, ul > li, ol > li, [role=treeitem], button.more";

/** The part of a row that Enter opens: its link or its button that unfolds it. Without one the row itself gets the focus. */
function targetOf(row: HTMLElement | SVGElement): HTMLElement | SVGElement {
  if (row.matches("button, [role=treeitem]")) return row;
  return row.querySelector<HTMLElement>("a[href], button[aria-expanded]") ?? row;
}

/** Puts the focus on the next row of the lists of the screen, or on the one before. */
export function walkList(main: Element, meaning: "next" | "previous"): void {
  const all = [...main.querySelectorAll<HTMLElement | SVGElement>(rowsOf)];
  // A row with rows inside is skipped, because the inner rows are walked over.
  const rows = all.filter((row) => row.checkVisibility() && row.querySelector("tbody > tr, ul > li, ol > li") === null);
  const current = rows.findLastIndex((row) => row.contains(document.activeElement));
  const wanted = rowAfter(current, rows.length, meaning);
  const row = wanted === undefined ? undefined : rows[wanted];
  if (row === undefined) return;
  const target = targetOf(row);
  if (target === row && !row.matches("button")) row.setAttribute("tabindex", "-1");
  target.focus();
  target.scrollIntoView({ block: "nearest" });
}
