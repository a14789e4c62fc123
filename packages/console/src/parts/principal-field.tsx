import { useRead } from "../base/load.ts";
import { place } from "../base/place.ts";
import { useSettled } from "../base/settled.ts";
import { principalText } from "../base/words.ts";
import { type FieldProps, TextField } from "./fields.tsx";

/** A principal as `kind:id`. Those that the tenant knows are suggested; any other can be typed. */
export function PrincipalField(field: FieldProps) {
  const { tenant = "" } = place.value;
  const search = useSettled(field.value.trim());
  const known = useRead("listPrincipals", { namespaceId: tenant, limit: 20, ...(search !== "" && { search }) });
  // Without suggestions the field is what it was: what cannot be read here is no reason to stop somebody.
  const suggestions = known.value?.principals.map(({ principal }) => principalText(principal)) ?? [];
  return <TextField {...field} suggestions={suggestions} />;
}
