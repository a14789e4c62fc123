import { TextField } from "../../parts/fields.tsx";

/** Asks for the token of whoever is signed in: a session alone makes nothing that outlasts it. */
export function OwnTokenField({ value, onChange }: { value: string; onChange(token: string): void }) {
  return (
    <TextField
      label="Your own token"
      type="password"
      value={value}
      onChange={onChange}
      isRequired
      hint="The one you are an operator with. Whoever finds this page open has none."
    />
  );
}
