import { useState } from "preact/hooks";

/** Copies a text, and says whether the browser let it. */
export function CopyButton({ text, what, isMain = false }: { text: string; what: string; isMain?: boolean }) {
  const [copied, setCopied] = useState<{ text: string; isDone: boolean }>();
  const copy = (): Promise<void> =>
    navigator.clipboard.writeText(text).then(
      () => setCopied({ text, isDone: true }),
      () => setCopied({ text, isDone: false }),
    );
  const isTold = copied?.text === text;
  return (
    <>
      <button type="button" class={isMain ? "button main" : "button"} onClick={() => void copy()}>
        {isTold && copied.isDone ? "Copied" : "Copy"}
        <span class="hidden"> {what}</span>
      </button>
      <span role="status">{isTold && !copied.isDone && "The browser does not let the page copy: select it."}</span>
    </>
  );
}

/** A text to take elsewhere: a command, or JSON. */
export function CopyText({ label, text }: { label: string; text: string }) {
  return (
    <div class="copy-text">
      <div class="copy-head">
        <span>{label}</span>
        <CopyButton text={text} what={label} />
      </div>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}
