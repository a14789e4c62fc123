import { useRead } from "../shared/load.ts";
import { place } from "../shared/place.ts";
import { useSettled } from "../shared/settled.ts";
import { principalText } from "../shared/words.ts";
import { type FieldProps, TextField } from "./fields.tsx";

/** A principal as `kind:id`. Those that the tenant knows are suggested; any other can be typed. */
export function PrincipalField(field: FieldProps) {
  const { tenant = "" } = place.value;
  const search = useSettled(field.value.trim());
  const known = useRead("listPrincipals", { namespaceId: tenant, limit: 20, ...(search !== "" && { search }) });
  // When suggestions cannot be read, the field still works without them.
  const suggestions = known.value?.principals.map(({ principal }) => principalText(principal)) ?? [];
  return <TextField {...field} suggestions={suggestions} />;
}
