import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { isolatedText } from "../shared/words.ts";

/** What every field has. */
export interface FieldProps {
  label: string;
  value: string;
  onChange(value: string): void;
  hint?: string | undefined;
  /** What is wrong with the value, said instead of the hint. */
  problem?: string | undefined;
  isRequired?: boolean;
}

/** A label, what it is for, and what to know about it. `input` is what belongs on the element that takes the value. */
function Labelled({
  field: { label, value, hint, problem, isRequired = false },
  children,
}: {
  field: Omit<FieldProps, "onChange">;
  children(input: object, id: string): ComponentChildren;
}) {
  const id = useId();
  const said = problem ?? hint;
  const about = { "aria-invalid": problem !== undefined, "aria-describedby": said && `${id}-hint` };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, value, required: isRequired, autocomplete: "off", spellcheck: false, dir: "auto", ...about }, id)}
      {said && (
        <p class={problem === undefined ? "hint" : "hint bad"} id={`${id}-hint`}>
          {said}
        </p>
      )}
    </div>
  );
}

/** A text that the operator types. */
export function TextField({
  type = "text",
  inputMode,
  suggestions,
  ...field
}: FieldProps & {
  type?: "text" | "password" | "number" | "datetime-local" | "search";
  inputMode?: "decimal" | undefined;
  suggestions?: readonly string[];
}) {
  return (
    <Labelled field={field}>
      {(input, id) => (
        <>
          <input
            {...input}
            type={type}
            inputMode={inputMode}
            list={suggestions && `${id}-list`}
            onInput={(event) => field.onChange(event.currentTarget.value)}
          />
          {suggestions && (
            <datalist id={`${id}-list`}>
              {suggestions.map((suggestion) => (
                <option key={suggestion} value={suggestion} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  );
}

/** A text of several lines. Ctrl and Enter sends the form around it. */
export function TextArea({ rows = 2, isCode = false, ...field }: FieldProps & { rows?: number; isCode?: boolean }) {
  return (
    <Labelled field={field}>
      {(input) => (
        <textarea
          {...input}
          rows={rows}
          class={isCode ? "code" : undefined}
          onInput={(event) => field.onChange(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
      )}
    </Labelled>
  );
}

export interface Option {
  value: string;
  text: string;
}

/** One of several; a plain text is its own value. A value of a mistyped address is shown as what it is: none of them. */
export function SelectField({ options, ...field }: FieldProps & { options: readonly (Option | string)[] }) {
  const all = options.map((option) => (typeof option === "string" ? { value: option, text: option } : option));
  const isKnown = field.value === "" || all.some(({ value }) => value === field.value);
  return (
    <Labelled field={field}>
      {(input) => (
        <select {...input} onChange={(event) => field.onChange(event.currentTarget.value)}>
          {!isKnown && <option value={field.value}>{isolatedText(field.value)}: no such choice</option>}
          {all.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

/** Fields that belong together, sent by Enter as well. In a row they are beside each other. */
export function Form({
  label,
  isRow = false,
  onSend,
  onLeave,
  children,
}: {
  label: string;
  isRow?: boolean;
  /** Nothing where a button of the form does what there is to do. */
  onSend?: () => void;
  /** Called when a field is left: for filters, which count without a button. */
  onLeave?: () => void;
  children: ComponentChildren;
}) {
  return (
    <form
      class={isRow ? "form row filters" : "form"}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSend?.();
      }}
      onFocusOut={onLeave}
    >
      {children}
    </form>
  );
}
