/** The page as its browser shows it, puts it away and brings it back. */
export interface Page {
  window: Pick<EventTarget, "addEventListener" | "removeEventListener">;
  document: Pick<EventTarget, "addEventListener" | "removeEventListener">;
  isShown(): boolean;
}

/**
 * Calls `begin` when the page is there, and `end` when it is put away: left with Back in mind, frozen, or, where only a page that
 * is seen counts, hidden. `change` is called when it is seen or hidden otherwise. Returns the function that stops it.
 */
export function watchPage(
  { window, document, isShown }: Page,
  isOnlyWhileShown: boolean,
  { begin, end, change }: { begin(): void; end(): void; change(): void },
): () => void {
  const comeBack = (): void => {
    if (!isOnlyWhileShown || isShown()) begin();
  };
  const turn = (): void => {
    if (!isOnlyWhileShown) change();
    else if (isShown()) begin();
    else end();
  };
  const rows = [
    [window, "pagehide", end],
    [window, "pageshow", comeBack],
    [document, "freeze", end],
    [document, "resume", comeBack],
    [document, "visibilitychange", turn],
  ] as const;
  for (const [target, name, listener] of rows) target.addEventListener(name, listener);
  comeBack();
  return () => {
    for (const [target, name, listener] of rows) target.removeEventListener(name, listener);
  };
}
