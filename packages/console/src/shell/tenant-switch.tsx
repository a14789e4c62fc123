import { useId } from "preact/hooks";
import { request } from "../shared/api.ts";
import { useLoad } from "../shared/load.ts";
import { addressOf, go, place } from "../shared/place.ts";
import { session } from "../shared/session.ts";
import { isolatedText } from "../shared/words.ts";

/** The tenant that is shown; where there are several, a choice of them that stays on the same screen. */
export function TenantSwitch() {
  const { tenant = "", screen } = place.value;
  const id = useId();
  const isBound = session.current.value?.operator.tenant !== undefined;
  const loaded = useLoad(async () => (isBound ? [] : (await request("listTenants", { limit: 500 })).tenants), [tenant]);
  const others = (loaded.value ?? []).filter(({ namespaceId }) => namespaceId !== tenant);
  const options = [{ namespaceId: tenant, waiting: 0 }, ...others];
  return (
    <div class="tenant">
      <label class="hidden" for={id}>
        Tenant
      </label>
      <select
        id={id}
        value={tenant}
        disabled={others.length === 0}
        onChange={(event) => go(addressOf([screen], {}, event.currentTarget.value))}
      >
        {options.map(({ namespaceId, waiting }) => (
          <option key={namespaceId} value={namespaceId}>
            {isolatedText(namespaceId)}
            {waiting > 0 ? ` (${waiting} waiting)` : ""}
          </option>
        ))}
      </select>
    </div>
  );
}
