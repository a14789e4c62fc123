import { useEffect, useRef } from "preact/hooks";
import { visibleText } from "../../shared/words.ts";
import { CopyButton } from "../../parts/copy-text.tsx";

/** Asked before the token is gone. */
export const tokenWarning = "Have you stored the token? Once this is closed, it cannot be shown again.";

/** Shows a token once. It is not stored anywhere, so it is lost when this is closed. */
export function TokenOnce({ id, token, onDone }: { id: string; token: string; onDone(): void }) {
  // The button that was pressed for it is gone.
  const whole = useRef<HTMLDivElement>(null);
  useEffect(() => whole.current?.querySelector("button")?.focus(), []);
  return (
    <div class="form" ref={whole}>
      <p>
        The token of <code>{visibleText(id)}</code>. It is shown this once: not even the host can show it again.
      </p>
      <output class="token">{token}</output>
      <div class="actions">
        <CopyButton text={token} what="the token" isMain />
        <button type="button" class="button" onClick={onDone}>
          I have it, close
        </button>
      </div>
    </div>
  );
}
