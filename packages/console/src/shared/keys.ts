/** What a key means on every screen. */
export type KeyMeaning = "search" | "help" | "next" | "previous";

/** The facts that are used of a pressed key. */
interface PressedKey {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  isComposing: boolean;
  defaultPrevented: boolean;
}

const meanings: Readonly<Record<string, KeyMeaning>> = { "/": "search", "?": "help", j: "next", k: "previous" };

/** What a key means; nothing while the operator types, or has a dialog to answer. */
export function meaningOf(pressed: PressedKey, isTyping: boolean, isAsked: boolean): KeyMeaning | undefined {
  if (isTyping || isAsked || pressed.isComposing || pressed.defaultPrevented || pressed.altKey) return undefined;
  if (pressed.ctrlKey || pressed.metaKey) return pressed.key.toLowerCase() === "k" ? "search" : undefined;
  return Object.hasOwn(meanings, pressed.key) ? meanings[pressed.key] : undefined;
}

/** Inputs that take no letters: keys mean the same there as everywhere. */
const withoutLetters = new Set(["checkbox", "radio", "button", "submit", "reset"]);

/** Whether letters go into an element. */
export function takesLetters(element: { tagName: string; type?: string; isContentEditable?: boolean } | null): boolean {
  if (element === null) return false;
  const name = element.tagName.toUpperCase();
  if (name === "INPUT") return !withoutLetters.has(element.type ?? "text");
  return name === "TEXTAREA" || name === "SELECT" || element.isContentEditable === true;
}

/** The row to go to from one of several; undefined where the list ends. */
export function rowAfter(current: number, count: number, meaning: "next" | "previous"): number | undefined {
  if (count === 0) return undefined;
  if (current === -1) return 0;
  const wanted = meaning === "next" ? current + 1 : current - 1;
  return wanted >= 0 && wanted < count ? wanted : undefined;
}
