import { rowAfter } from "../base/keys.ts";

/** Everything that is a row of a list: of a table, of a list, of a picture, and what reads more of it. */
const rowsOf = "tbody > tr, ul > li, ol > li, [role=treeitem], button.more";

/** What of a row is opened by Enter: its link, or what unfolds it. A row without either is only walked over. */
function targetOf(row: HTMLElement | SVGElement): HTMLElement | SVGElement {
  if (row.matches("button, [role=treeitem]")) return row;
  return row.querySelector<HTMLElement>("a[href], button[aria-expanded]") ?? row;
}

/** Puts the focus on the next row of the lists of the screen, or on the one before. */
export function walkList(main: Element, meaning: "next" | "previous"): void {
  const all = [...main.querySelectorAll<HTMLElement | SVGElement>(rowsOf)];
  // A row that has rows of its own stands for those.
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
