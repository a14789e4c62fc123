import { TextField } from "../../parts/fields.tsx";

/** Asks for the operator's own token, because a session alone must not make anything that outlasts it. */
export function OwnTokenField({ value, onChange }: { value: string; onChange(token: string): void }) {
  return (
    <TextField
      label="Your own token"
      type="password"
      value={value}
      onChange={onChange}
      isRequired
      hint="The one you are an operator with. A stranger who finds this page open does not have it."
    />
  );
}
