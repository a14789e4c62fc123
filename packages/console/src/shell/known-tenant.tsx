import type { ComponentChildren } from "preact";
import { may, request } from "../base/api.ts";
import { useLoad } from "../base/load.ts";
import { addressOf, place } from "../base/place.ts";
import { useRefresh } from "../base/refresh.ts";
import { ForeignText } from "../parts/foreign-text.tsx";
import { Link } from "../parts/link.tsx";
import { Empty } from "../parts/states.tsx";

/** The tenant of the operators has no row in the list of tenants, and has a trail. */
const operatorsTenant = "operators";

/** The screen of a tenant that there is. A mistyped one has no screens that are calm and empty: it is said to be none. */
export function KnownTenant({ children }: { children: ComponentChildren }) {
  const { tenant = "", screen } = place.value;
  const known = useLoad(async () => {
    if (tenant === operatorsTenant) return { isKnown: true };
    const { tenants } = await request("listTenants", { namespaceId: tenant });
    if (tenants.length > 0 || !may("readNames")) return { isKnown: tenants.length > 0 };
    return (await request("readNames", { namespaceId: tenant })).tenant;
  }, [tenant]);
  // It begins with the first thing that is made in it.
  useRefresh(known.reload, ({ kind }) => kind === "trail" && known.value?.isKnown === false);
  if (known.value?.isKnown !== false) return children;
  // A tenant begins with its first credential, and that is made here.
  if (screen === "access" && may("createCredential"))
    return (
      <>
        <p class="calm">Nothing is of this tenant yet: it begins with its first credential.</p>
        {children}
      </>
    );
  const { nearest } = known.value as { nearest?: string };
  return (
    <>
      <h1>No such tenant</h1>
      <Empty title={`Nothing on this host is of the tenant ${tenant}.`}>
        {nearest !== undefined && (
          <p>
            Did you mean{" "}
            <Link to={addressOf([screen], {}, nearest)}>
              <ForeignText text={nearest} />
            </Link>
            ?
          </p>
        )}
        <p>
          <Link to="/console/">Choose a tenant</Link>
          {may("createCredential") && (
            <>
              {" "}
              or <Link to={addressOf(["access"])}>make its first credential</Link>
            </>
          )}
        </p>
      </Empty>
    </>
  );
}
