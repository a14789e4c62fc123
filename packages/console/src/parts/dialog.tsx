import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** Something that has to be answered before the page goes on; Escape closes it. */
export function Dialog({ title, onClose, children }: { title: string; onClose(): void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Whoever closes it by an answer goes on where they were, once the page behind it can be used again.
    return () => queueMicrotask(() => before instanceof HTMLElement && before.focus());
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="button" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}
