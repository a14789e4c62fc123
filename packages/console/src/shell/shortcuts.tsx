import { useEffect, useState } from "preact/hooks";
import { meaningOf, takesLetters } from "../shared/keys.ts";
import { KeyHelp } from "./key-help.tsx";
import { Search } from "./search.tsx";
import { walkList } from "./walk-list.ts";

/** The keys of every screen, and the field that finds things. */
export function Shortcuts() {
  const [shown, setShown] = useState<"search" | "help">();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isAsked = document.querySelector("dialog[open]") !== null;
      const meaning = meaningOf(event, takesLetters(document.activeElement as HTMLInputElement | null), isAsked);
      if (meaning === undefined) return;
      event.preventDefault();
      const main = document.querySelector("main");
      if (meaning === "search" || meaning === "help") setShown(meaning);
      else if (main !== null) walkList(main, meaning);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  const close = (): void => setShown(undefined);
  return (
    <>
      <button type="button" class="find-button" aria-keyshortcuts="/ Control+K" onClick={() => setShown("search")}>
        <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
          <path d="M13.5 13.5 17 17M4 9a5 5 0 1 0 10 0a5 5 0 1 0 -10 0" />
        </svg>
        <span class="find-text">Find</span>
        <kbd aria-hidden="true">/</kbd>
      </button>
      {shown === "search" && <Search onClose={close} />}
      {shown === "help" && <KeyHelp onClose={close} />}
    </>
  );
}
