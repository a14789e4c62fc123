import type { ComponentChildren } from "preact";
import { may, request } from "../shared/api.ts";
import { useLoad } from "../shared/load.ts";
import { addressOf, place } from "../shared/place.ts";
import { useRefresh } from "../shared/refresh.ts";
import { ForeignText } from "../parts/foreign-text.tsx";
import { Link } from "../parts/link.tsx";
import { Empty } from "../parts/states.tsx";

/** The tenant of the operators has an audit log, but no row in the list of tenants. */
const operatorsTenant = "operators";

/** Shows the screen of a tenant that exists. For a mistyped name it says so, and does not show an empty screen. */
export function KnownTenant({ children }: { children: ComponentChildren }) {
  const { tenant = "", screen } = place.value;
  const known = useLoad(async () => {
    if (tenant === operatorsTenant) return { isKnown: true };
    const { tenants } = await request("listTenants", { namespaceId: tenant });
    if (tenants.length > 0 || !may("readNames")) return { isKnown: tenants.length > 0 };
    return (await request("readNames", { namespaceId: tenant })).tenant;
  }, [tenant]);
  // An unknown tenant exists from the first thing that is made in it.
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
