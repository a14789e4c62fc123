import { useEffect } from "preact/hooks";
import type { EscalationRecord } from "turnpike-host/admin-contract";
import { request } from "../../shared/api.ts";
import { useHeldRows } from "../../shared/held-rows.ts";
import { useNow } from "../../shared/now.ts";
import { usePages } from "../../shared/pages.ts";
import { addressOf, go, place, setQuery } from "../../shared/place.ts";
import { isAboutEscalations, useRefresh } from "../../shared/refresh.ts";
import { SelectField } from "../../parts/fields.tsx";
import { ListEnd, News } from "../../parts/list-end.tsx";
import { Empty } from "../../parts/states.tsx";
import { BatchDetail } from "./batch-detail.tsx";
import { EscalationDetail } from "./escalation-detail.tsx";
import { EscalationList } from "./escalation-list.tsx";

const statuses = [
  { value: "", text: "Waiting, then the rest" },
  { value: "pending", text: "Waiting" },
  { value: "approved", text: "Approved" },
  { value: "denied", text: "Denied" },
  { value: "expired", text: "Expired or closed" },
  { value: "withdrawn", text: "Withdrawn" },
];

const pageSize = 50;

/** The escalations of a tenant: what waits for an answer, and what was answered, one of them in full. */
export function EscalationsScreen() {
  const { query, rest } = place.value;
  const [id, view] = rest;
  const status = query.get("status") ?? "";
  const now = useNow(5000);
  const waiting = useEscalations("pending", status === "" || status === "pending");
  const others = useEscalations(status === "pending" ? "" : status, status !== "pending");
  const held = useHeldRows(waiting.rows, keyOf, status);
  // An escalation that was answered while the pointer is over the list stays in the list.
  const open = new Set(held.rows.map(keyOf));
  const answered = others.rows.filter((row) => row.status !== "pending" && !open.has(row.id));
  const shown = [...held.rows, ...answered];

  // Beside the list there is always one in full. It becomes part of the address: what is shown never changes by itself.
  const first = held.rows[0]?.id ?? (waiting.isRead ? answered[0]?.id : undefined);
  useEffect(() => {
    if (id === undefined && first !== undefined && isWide()) go(escalationAddress(first), "replace");
  }, [id, first]);

  const reload = (): void => {
    waiting.reload();
    others.reload();
  };
  const isEmpty = shown.length === 0 && waiting.isRead && others.isRead;
  return (
    <>
      <h1>Questions</h1>
      <div class={id === undefined ? "split" : "split chosen"}>
        <div class="split-list">
          <div class="form row filters">
            <SelectField
              label="Show"
              value={status}
              options={statuses}
              onChange={(value) => setQuery({ status: value || undefined })}
            />
          </div>
          {isEmpty ? (
            <Nothing status={status} />
          ) : (
            <>
              {held.rows.length > 0 && (
                <div class="live-list" {...held.hold}>
                  <EscalationList title="Waiting" rows={held.rows} selected={id} now={now} />
                  <News count={held.news} onShow={held.showNews} />
                </div>
              )}
              {waiting.isShown && <ListEnd what="that wait" of={waiting.pages} />}
              {held.rows.length === 0 && status === "" && waiting.isRead && (
                <p class="calm">Nothing waits for an answer.</p>
              )}
              {answered.length > 0 && (
                <EscalationList
                  title={statuses.find(({ value }) => value !== "" && value === status)?.text ?? "Answered"}
                  rows={answered}
                  selected={id}
                  now={now}
                />
              )}
              {others.isShown && <ListEnd what="answered" of={others.pages} />}
            </>
          )}
        </div>
        <div class="split-detail">
          {id !== undefined && view === "batch" ? (
            waiting.isRead && <BatchDetail key={`batch ${id}`} id={id} waiting={waiting.rows} onAnswer={reload} />
          ) : id !== undefined ? (
            <EscalationDetail key={id} id={id} next={nextOf(held.rows, id)} onAnswer={reload} />
          ) : (
            !isEmpty && <p class="hint choose">Choose a question to see all of it.</p>
          )}
        </div>
      </div>
    </>
  );
}

/** One list of escalations, which is read again when one was asked or answered, unless the operator reads further down in it. */
function useEscalations(status: string, isShown: boolean) {
  const { tenant = "" } = place.value;
  const pages = usePages(
    async (cursor) => {
      if (!isShown) return { items: [] };
      const input = { namespaceId: tenant, status: status || undefined, cursor, limit: pageSize };
      const page = await request("listEscalations", input);
      return { items: page.escalations, cursor: page.cursor };
    },
    [tenant, status, String(isShown)],
  );
  const rows = pages.items ?? [];
  const reload = (): void => {
    if (isShown && rows.length <= pageSize) pages.reload();
  };
  useRefresh(reload, isAboutEscalations);
  return { pages, rows, isShown, isRead: pages.items !== undefined, reload };
}

function keyOf({ id }: EscalationRecord): string {
  return id;
}

function nextOf(rows: readonly EscalationRecord[], id: string): string | undefined {
  return rows.find((row) => row.id !== id && row.status === "pending")?.id;
}

function escalationAddress(id: string): string {
  return addressOf(["questions", id], { status: place.value.query.get("status") ?? undefined });
}

function isWide(): boolean {
  return globalThis.matchMedia("(width >= 56rem)").matches;
}

function Nothing({ status }: { status: string }) {
  if (status === "pending" || status === "")
    return (
      <Empty title="Nothing waits for an answer.">
        When an agent needs a person's approval, its turn waits and its question is listed here.
      </Empty>
    );
  return <Empty title="There is none of these.">Choose another list above.</Empty>;
}
