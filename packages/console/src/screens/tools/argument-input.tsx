import { visibleText } from "../../shared/words.ts";
import { SelectField, TextArea, TextField } from "../../parts/fields.tsx";
import type { ArgumentField } from "./argument-form.ts";

/** The field of one argument. Its name and what it says of itself are a server's texts. */
export function ArgumentInput({
  field: { kind, name, description, isRequired, options },
  ...typed
}: {
  field: ArgumentField;
  value: string;
  problem: string | undefined;
  onChange(value: string): void;
}) {
  const label = `${visibleText(name)}${isRequired ? "" : " (optional)"}`;
  const hint = [description && visibleText(description), kind === "json" && "As JSON."].filter(Boolean).join(" ");
  const field = { ...typed, label, hint };
  switch (kind) {
    case "choice":
    case "boolean": {
      const values = (kind === "boolean" ? [true, false] : options).map((option) => JSON.stringify(option));
      const choices = values.map((value) => ({ value, text: visibleText(value) }));
      return <SelectField {...field} options={[{ value: "", text: "not given" }, ...choices]} />;
    }
    case "lines":
    case "json":
      return <TextArea {...field} isCode={kind === "json"} />;
    default:
      // Not a field for numbers: those hide what they cannot read, and then the page cannot say what is wrong.
      return <TextField {...field} inputMode={kind === "text" ? undefined : "decimal"} />;
  }
}
