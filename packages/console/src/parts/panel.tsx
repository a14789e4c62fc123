import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** A part of a screen with a heading of its own, and beside it the way to more. */
export function Panel({
  title,
  class: name = "",
  way,
  children,
}: {
  title: ComponentChildren;
  class?: string;
  way?: ComponentChildren;
  children: ComponentChildren;
}) {
  const id = useId();
  return (
    <section class={`panel ${name}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {way}
      </div>
      {children}
    </section>
  );
}
