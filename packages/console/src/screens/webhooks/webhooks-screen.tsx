import type { Delivery } from "turnpike-host/admin-contract";
import { may, request } from "../../shared/api.ts";
import { usePages } from "../../shared/pages.ts";
import { place, setQuery } from "../../shared/place.ts";
import { useRefresh } from "../../shared/refresh.ts";
import { ActionButton } from "../../parts/button.tsx";
import { SelectField } from "../../parts/fields.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { Empty } from "../../parts/states.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { Tag, type Tone } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";

const pageSize = 50;

/** What webhooks were told of a tenant, what failed, and what is tried again. */
export function WebhooksScreen() {
  const { tenant = "", query } = place.value;
  const state = query.get("state") ?? "";
  const pages = usePages(
    async (cursor) => {
      const filter = { state: state || undefined, cursor, limit: pageSize };
      const page = await request("listDeliveries", { namespaceId: tenant, ...filter });
      return { items: page.deliveries, cursor: page.cursor };
    },
    [tenant, state],
  );
  const rows = pages.items ?? [];
  // An operator who reads further down is not taken back to the first page by what happens meanwhile.
  useRefresh(
    () => rows.length <= pageSize && pages.reload(),
    ({ kind }) => kind !== "turn",
  );
  return (
    <>
      <h1>Webhooks</h1>
      <div class="form row">
        <SelectField
          label="State"
          value={state}
          options={[{ value: "", text: "any" }, ...Object.keys(tones)]}
          onChange={(wanted) => setQuery({ state: wanted })}
        />
        <button type="button" class="button" onClick={pages.reload}>
          Read again
        </button>
      </div>
      {rows.length > 0 && (
        <Table label="Messages to webhooks" columns={columnsFor(pages.reload)} rows={rows} keyOf={({ id }) => id} />
      )}
      {pages.items?.length === 0 && (
        <Empty title={state === "" ? "No webhook was told of anything yet." : "No message is in this state."}>
          Webhooks are set in notify.webhooks. Deliveries are stored for a week.
        </Empty>
      )}
      <ListEnd what="messages" of={pages} />
    </>
  );
}

const tones: Readonly<Record<Delivery["state"], Tone>> = {
  waiting: "wait",
  retrying: "wait",
  delivered: "good",
  failed: "bad",
};

function columnsFor(reload: () => void): Column<Delivery>[] {
  const columns: Column<Delivery>[] = [
    { title: "State", cell: ({ state }) => <Tag text={state} tone={tones[state]} /> },
    { title: "Event", cell: ({ type }) => type },
    { title: "To", cell: ({ webhook }) => webhook?.url ?? "not configured any more" },
    { title: "Made", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "Tried", kind: "number", cell: ({ attempts }) => String(attempts) },
    { title: "Why not", cell: ({ lastError = "" }) => lastError },
    { title: "Next, or over", cell: ({ nextAttemptAt, finishedAt }) => <Instant at={nextAttemptAt ?? finishedAt} /> },
    { title: "Id", kind: "code", isMinor: true, cell: ({ id }) => id },
  ];
  if (!may("retryDelivery")) return columns;
  return [...columns, { title: "Again", cell: (delivery) => <Again delivery={delivery} onDone={reload} /> }];
}

function Instant({ at }: { at: string | undefined }) {
  return at === undefined ? null : <Time at={at} />;
}

/** A message that was not tried yet is sent after those before it. */
function Again({ delivery, onDone }: { delivery: Delivery; onDone(): void }) {
  const { namespaceId, id, state, webhook } = delivery;
  if (state === "waiting" || webhook === undefined) return null;
  const act = async (): Promise<void> => {
    await request("retryDelivery", { namespaceId, id });
    onDone();
  };
  return <ActionButton act={act}>{state === "retrying" ? "Try now" : "Send again"}</ActionButton>;
}
