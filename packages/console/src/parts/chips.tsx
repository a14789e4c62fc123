import { useId } from "preact/hooks";

/** One of a few, all of them in sight. */
export function Chips<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: Value;
  options: readonly { value: Value; text: string }[];
  onChange(value: Value): void;
}) {
  const name = useId();
  return (
    <fieldset class="chips">
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value} class="chip">
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>{option.text}</span>
        </label>
      ))}
    </fieldset>
  );
}
