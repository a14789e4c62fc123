import type { AdminOutput } from "turnpike-host/admin-contract";
import { may, request } from "../../shared/api.ts";
import { instantText } from "../../shared/instants.ts";
import { useRead } from "../../shared/load.ts";
import { session } from "../../shared/session.ts";
import { ruleText, violationText } from "../../shared/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Tag } from "../../parts/tag.tsx";

type Rule = AdminOutput<"listInvariants">["invariants"][number];

/** The rules that no write of grants may break, and what breaks those that are only reported on. */
export function RulesView({ tenant }: { tenant: string }) {
  const rules = useRead("listInvariants", { namespaceId: tenant });
  return (
    <Show what="The rules" of={rules}>
      {({ invariants }) =>
        invariants.length === 0 ? (
          <Empty title="There are no rules about grants here.">
            An admin adds one with turnpike invariant add: what grants may never allow.
          </Empty>
        ) : (
          <>
            <Table
              label="Rules about grants"
              columns={columnsFor(rules.reload)}
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

function columnsFor(reload: () => void): Column<Rule>[] {
  const columns: Column<Rule>[] = [
    { title: "Id", kind: "code", cell: ({ id }) => <ForeignText text={id} /> },
    { title: "Rule", cell: (rule) => <ForeignText text={ruleText(rule)} /> },
    { title: "Of", cell: ({ namespaceId }) => (namespaceId === undefined ? "every tenant" : "this tenant") },
    { title: "Refuses", cell: ({ reportOnly }) => <Tag text={reportOnly === true ? "nothing" : "writes"} /> },
  ];
  if (!may("removeInvariant")) return columns;
  return [...columns, { title: "Remove", cell: (rule) => <Remove rule={rule} onDone={reload} /> }];
}

/** Only operators of all tenants remove what is about every tenant. */
function Remove({ rule: { namespaceId, id }, onDone }: { rule: Rule; onDone(): void }) {
  if (namespaceId === undefined && session.current.value?.operator.tenant !== undefined) return null;
  const act = async (): Promise<void> => {
    await request("removeInvariant", { id, ...(namespaceId !== undefined && { namespaceId }) });
    onDone();
  };
  return (
    <ActionButton kind="danger" act={act}>
      Remove
    </ActionButton>
  );
}

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
