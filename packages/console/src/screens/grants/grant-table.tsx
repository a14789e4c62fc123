import { request } from "../../shared/api.ts";
import { usePages } from "../../shared/pages.ts";
import { isAboutGrants, useRefresh } from "../../shared/refresh.ts";
import { grantText, needsApproval, principalText } from "../../shared/words.ts";
import { GrantLink } from "../../parts/grant-link.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { Empty } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { StateTag, Tag } from "../../parts/tag.tsx";
import { type GrantFilter, queryOf } from "./grant-filter.ts";
import { termsText } from "./grant-words.ts";

/** The grants as rows, page by page: for when there are too many to draw. */
export function GrantTable({ tenant, filter }: { tenant: string; filter: GrantFilter }) {
  const query = queryOf(filter);
  const grants = usePages(
    async (cursor) => {
      const page = await request("listGrants", { namespaceId: tenant, limit: 50, ...query, cursor });
      return { items: page.grants, cursor: page.cursor };
    },
    [tenant, JSON.stringify(query)],
  );
  // Only a list that shows its first page is read again, so that an operator who reads further down keeps their rows.
  useRefresh(() => (grants.items?.length ?? 0) <= 50 && grants.reload(), isAboutGrants);
  const { items = [] } = grants;
  return (
    <>
      {grants.items?.length === 0 && !grants.hasMore && (
        <Empty title="No grant is like that.">The table takes a whole kind:id and the namespace of a resource.</Empty>
      )}
      {items.length > 0 && (
        <Table
          label="Grants"
          rows={items}
          keyOf={({ grant }) => grant.id}
          columns={[
            {
              title: "Grant",
              kind: "code",
              cell: ({ grant: { id } }) => <GrantLink id={id} query={{ view: "table" }} />,
            },
            {
              title: "State",
              cell: ({ grant, state }) => (
                <span>
                  <StateTag state={state} /> {needsApproval(grant) && <Tag text="needs approval" tone="wait" />}
                </span>
              ),
            },
            { title: "To", cell: ({ grant }) => principalText(grant.subject) },
            { title: "From", cell: ({ grant }) => principalText(grant.issuer) },
            { title: "May", kind: "code", cell: ({ grant }) => grantText(grant) },
            { title: "Terms", isMinor: true, cell: ({ grant, used = 0 }) => termsText(grant.constraints, used) },
          ]}
        />
      )}
      <ListEnd what="grants" of={grants} />
    </>
  );
}
