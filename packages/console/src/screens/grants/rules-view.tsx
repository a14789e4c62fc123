import type { AdminOutput } from "turnpike-host/admin-contract";
import { instantText } from "../../shared/instants.ts";
import { useRead } from "../../shared/load.ts";
import { ruleText, violationText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";

type Rule = AdminOutput<"listInvariants">["invariants"][number];

/** The rules that no write of grants may break, and what breaks those that are only reported on. Commands add and remove them. */
export function RulesView({ tenant }: { tenant: string }) {
  const rules = useRead("listInvariants", { namespaceId: tenant });
  return (
    <Show what="The rules" of={rules}>
      {({ invariants }) =>
        invariants.length === 0 ? (
          <Empty title="There are no rules about grants here.">turnpike invariant add adds one.</Empty>
        ) : (
          <>
            <Table
              label="Rules about grants"
              columns={columns}
              rows={invariants}
              keyOf={({ namespaceId = "", id }) => JSON.stringify([namespaceId, id])}
            />
            <h2>What breaks them</h2>
            <Breaches tenant={tenant} />
          </>
        )
      }
    </Show>
  );
}

const columns: readonly Column<Rule>[] = [
  { title: "Id", kind: "code", cell: ({ id }) => <ForeignText text={id} /> },
  { title: "Rule", cell: (rule) => <ForeignText text={ruleText(rule)} /> },
  { title: "Of", cell: ({ namespaceId }) => (namespaceId === undefined ? "every tenant" : "this tenant") },
  { title: "Refuses", cell: ({ reportOnly }) => (reportOnly === true ? "nothing" : "writes") },
];

function Breaches({ tenant }: { tenant: string }) {
  const found = useRead("checkInvariants", { namespaceId: tenant });
  return (
    <Show what="The check" of={found}>
      {({ violations, more }) =>
        violations.length === 0 ? (
          <p>Nothing does.</p>
        ) : (
          <ul>
            {violations.map((violation) => (
              <li key={JSON.stringify(violation)}>
                <ForeignText text={violationText(violation, { instant: instantText })} />
              </li>
            ))}
            {more === true && <li>There is more than this.</li>}
          </ul>
        )
      }
    </Show>
  );
}
