import type { AdminOutput } from "turnpike-host/admin-contract";
import { may, request } from "../../shared/api.ts";
import { usePages } from "../../shared/pages.ts";
import { addressOf } from "../../shared/place.ts";
import { isAboutPeople, useRefresh } from "../../shared/refresh.ts";
import { principalText, visibleText } from "../../shared/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";

type Person = AdminOutput<"listPeople">["people"][number];

const columns: readonly Column<Person>[] = [
  {
    title: "Person",
    cell: ({ principal }) => (
      <Link to={addressOf(["trail"], { actor: principalText(principal) })}>
        <ForeignText text={principalText(principal)} />
      </Link>
    ),
  },
  { title: "Name, as the provider says", cell: ({ name }) => name ?? "" },
  { title: "Signs in with", cell: ({ issuer }) => issuer },
  { title: "Last sign-in", cell: ({ lastSignInAt }) => <Time at={lastSignInAt} /> },
  { title: "State", cell: ({ isRevoked }) => <StateTag state={isRevoked ? "revoked" : "live"} /> },
];

/** Who signs in to a tenant with an identity provider, and shutting them out. */
export function People({ tenant }: { tenant: string }) {
  const pages = usePages(
    async (cursor) => {
      const page = await request("listPeople", { namespaceId: tenant, limit: 200, cursor });
      return { items: page.people, cursor: page.cursor };
    },
    [tenant],
  );
  useRefresh(() => (pages.items?.length ?? 0) <= 200 && pages.reload(), isAboutPeople);
  const change: Column<Person> = {
    title: "Change",
    cell: (person) => <Change of={person} onChanged={pages.reload} />,
  };
  return (
    <>
      <p class="hint">Revoking ends their sessions and lets them in no more. Grants that they hold stay.</p>
      {pages.items?.length === 0 && (
        <Empty title="No one has signed in here.">
          People sign in at /me, where an identity provider is configured.
        </Empty>
      )}
      {pages.items !== undefined && pages.items.length > 0 && (
        <Table
          label="People"
          columns={[...columns, ...(may("revokePerson") ? [change] : [])]}
          rows={pages.items}
          keyOf={({ credentialId }) => credentialId}
        />
      )}
      <ListEnd what="people" of={pages} />
    </>
  );
}

function Change({ of: { namespaceId, principal, isRevoked }, onChanged }: { of: Person; onChanged: () => void }) {
  const whose = <span class="hidden"> {visibleText(principalText(principal))}</span>;
  const send = async (name: "revokePerson" | "restorePerson"): Promise<void> => {
    await request(name, { namespaceId, principal });
    onChanged();
  };
  return isRevoked ? (
    <ActionButton act={() => send("restorePerson")}>Restore{whose}</ActionButton>
  ) : (
    <ActionButton kind="danger" act={() => send("revokePerson")}>
      Revoke{whose}
    </ActionButton>
  );
}
