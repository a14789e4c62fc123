import type { ComponentChildren } from "preact";
import { go } from "../shared/place.ts";

/** A link to a place of the page. Opens like any other link in a new tab on request. */
export function Link({
  to,
  class: name,
  isCurrent = false,
  onFollow,
  children,
}: {
  to: string;
  class?: string;
  isCurrent?: boolean;
  /** Called when the operator goes there on this page. */
  onFollow?: () => void;
  children: ComponentChildren;
}) {
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
    onFollow?.();
  };
  return (
    <a href={to} class={name} aria-current={isCurrent ? "page" : undefined} onClick={follow}>
      {children}
    </a>
  );
}
