import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { holdPlace } from "../shared/place.ts";

/**
 * A dialog that blocks the rest of the page; Escape closes it. With a `warning` about what is lost by that, it asks
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
  // It is open before any effect of what it contains, so that a field in it can take the focus.
  useLayoutEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // When it closes, the focus returns to where it was, as soon as the page behind it can be used again.
    return () => queueMicrotask(() => before instanceof HTMLElement && before.focus());
  }, []);
  useEffect(() => (isWarned ? holdPlace(() => setAsking(true)) : undefined), [isWarned]);
  const close = (): void => (isWarned ? setAsking(true) : onClose());
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // The key itself is handled, because browsers let a page prevent closing once and close the dialog at the second Escape.
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isWarned) return;
        event.preventDefault();
        setAsking(true);
      }}
      // The key does not come here while nothing in the dialog has the focus.
      onCancel={(event) => {
        if (!isWarned) return;
        event.preventDefault();
        setAsking(true);
      }}
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
