import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** Something that is on or off. A switch takes effect at once, a box with what it belongs to. */
export function CheckField({
  label,
  isOn,
  onChange,
  isDisabled = false,
  kind = "box",
  hint,
}: {
  label: ComponentChildren;
  isOn: boolean;
  onChange(isOn: boolean): void;
  isDisabled?: boolean;
  kind?: "box" | "switch";
  hint?: string;
}) {
  const id = useId();
  return (
    <div class={`check ${kind}`}>
      <input
        id={id}
        type="checkbox"
        role={kind === "switch" ? "switch" : undefined}
        checked={isOn}
        disabled={isDisabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => {
          const { checked } = event.currentTarget;
          // A switch shows the state at the host, so that a click changes it only after the host has answered.
          if (kind === "switch") event.currentTarget.checked = isOn;
          onChange(checked);
        }}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
