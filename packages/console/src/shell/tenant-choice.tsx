import { useEffect } from "preact/hooks";
import { request } from "../shared/api.ts";
import { usePages } from "../shared/pages.ts";
import { addressOf, go } from "../shared/place.ts";
import { ForeignText } from "../parts/foreign-text.tsx";
import { Link } from "../parts/link.tsx";
import { ListEnd } from "../parts/list-end.tsx";
import { Empty } from "../parts/states.tsx";
import { Mark } from "./icons.tsx";

/** Which tenant to show. An operator of one tenant goes straight there. */
export function TenantChoice() {
  const tenants = usePages(async (cursor) => {
    const page = await request("listTenants", { limit: 100, cursor });
    return { items: page.tenants, cursor: page.cursor };
  }, []);
  const { items, hasMore } = tenants;
  const only = items?.length === 1 && !hasMore ? items[0]?.namespaceId : undefined;
  useEffect(() => {
    document.title = "Tenants · Turnpike";
    if (only !== undefined) go(addressOf(["now"], {}, only), "replace");
  }, [only]);
  return (
    <main class="entrance">
      <Mark />
      <h1>Tenants</h1>
      {items?.length === 0 && !hasMore && (
        <Empty title="There is no tenant yet.">
          <p>A tenant begins with its first credential:</p>
          <code>turnpike credential create …</code>
        </Empty>
      )}
      {items !== undefined && items.length > 0 && (
        <ul class="choices framed">
          {items.map(({ namespaceId, waiting }) => (
            <li key={namespaceId}>
              <Link to={addressOf(["now"], {}, namespaceId)}>
                <span class="clip">
                  <ForeignText text={namespaceId} />
                </span>
                {waiting > 0 && <span class="badge">{waiting} waiting</span>}
              </Link>
            </li>
          ))}
        </ul>
      )}
      <ListEnd what="tenants" of={tenants} />
    </main>
  );
}
