import type { ComponentChildren } from "preact";
import type { Loaded } from "../shared/load.ts";
import { ForeignText } from "./foreign-text.tsx";

/** What went wrong, near the cause, and read out by screen readers. */
export function Problem({ text, again }: { text: string; again?: () => void }) {
  return (
    <div class="problem" role="alert">
      <ForeignText text={text} />
      {again && (
        <button type="button" class="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** There is nothing, why that is so, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">
        <ForeignText text={title} />
      </p>
      {typeof children === "string" ? <p>{children}</p> : children}
    </div>
  );
}

/** Holds the place of what is being read. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status">
      <span class="hidden">Loading {what}</span>
    </div>
  );
}

/** What was read; while it is read the first time, a placeholder; and what went wrong, with what was read before. */
export function Show<T>({
  what,
  of: { value, problem, reload },
  children,
}: {
  what: string;
  of: Loaded<T>;
  children: (value: T) => ComponentChildren;
}) {
  return (
    <>
      {problem !== undefined && <Problem text={`${what}: ${problem}`} again={reload} />}
      {value === undefined ? problem === undefined && <Loading what={what} /> : children(value)}
    </>
  );
}
