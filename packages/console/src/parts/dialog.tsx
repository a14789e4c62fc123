import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { keepPlace } from "../base/place.ts";

/**
 * Something that has to be answered before the page goes on; Escape closes it. With a `warning` about what is lost by that, it asks
 * before it is closed, left by Back, or left with the page.
 */
export function Dialog({
  title,
  warning,
  onClose,
  children,
}: {
  title: string;
  warning?: string | undefined;
  onClose(): void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [isAsking, setAsking] = useState(false);
  const isWarned = warning !== undefined;
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Whoever closes it by an answer goes on where they were, once the page behind it can be used again.
    return () => queueMicrotask(() => before instanceof HTMLElement && before.focus());
  }, []);
  useEffect(() => (isWarned ? keepPlace(() => setAsking(true)) : undefined), [isWarned]);
  const close = (): void => (isWarned ? setAsking(true) : onClose());
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // Browsers let a page keep a dialog open once, and close it at the second Escape: the key itself is taken.
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isWarned) return;
        event.preventDefault();
        setAsking(true);
      }}
      onCancel={(event) => isWarned && event.preventDefault()}
      onClose={() => {
        if (isWarned) dialog.current?.showModal();
        close();
      }}
    >
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="button" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {isAsking && isWarned && (
        <div class="problem" role="alert">
          <span>{warning}</span>
          <button type="button" class="button" onClick={() => setAsking(false)}>
            Stay
          </button>
          <button type="button" class="button danger" onClick={onClose}>
            Close it
          </button>
        </div>
      )}
      {children}
    </dialog>
  );
}
