import { useRef } from "preact/hooks";
import { place, setQuery } from "../../shared/place.ts";
import { count } from "../../shared/words.ts";
import { CheckField } from "../../parts/check-field.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { Empty } from "../../parts/states.tsx";
import { ChainState } from "./chain-state.tsx";
import { TraceStory } from "./trace-story.tsx";
import { filterOf } from "./log-filter.ts";
import { LogFilters } from "./log-filters.tsx";
import { countEntries, hasRow } from "./log-list.ts";
import { LogRows } from "./log-rows.tsx";
import { useAuditLog } from "./use-audit-log.ts";

/** The audit log of a tenant: everything that was decided and done, or one trace as a story. */
export function AuditLogScreen() {
  const { tenant = "", rest } = place.value;
  const [view, traceId] = rest;
  return view === "trace" && traceId !== undefined ? (
    <TraceStory tenant={tenant} traceId={traceId} />
  ) : (
    <AuditLogView tenant={tenant} />
  );
}

function AuditLogView({ tenant }: { tenant: string }) {
  const { query } = place.value;
  const filter = filterOf(query);
  const openKey = query.get("open") ?? undefined;
  const isTailing = query.get("tail") !== "off";
  const frame = useRef<HTMLDivElement>(null);
  // What the operator reads, points at or has opened stays where it is.
  const mayMove = (): boolean =>
    isTailing &&
    openKey === undefined &&
    globalThis.scrollY < 40 &&
    frame.current?.matches(":hover, :focus-within") === false;
  const log = useAuditLog(tenant, filter, mayMove);
  const { list } = log;
  const shown = countEntries(list);
  const coming = list.pending.length;
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <h1>Audit log</h1>
      <ChainState tenant={tenant} />
      <LogFilters filter={filter} />
      <div class="log-head">
        <CheckField
          kind="switch"
          label="Live tail"
          isOn={isTailing}
          onChange={(isOn) => {
            setQuery({ tail: isOn ? undefined : "off" });
            if (isOn) log.showNew();
          }}
        />
        <span class="hint" role="status">
          {log.items !== undefined && `${count(shown, "row")} shown${log.hasMore ? "" : ", all that fit"}`}
        </span>
        {coming > 0 && (
          <button
            type="button"
            class="button main new-rows"
            onClick={() => {
              log.showNew();
              globalThis.scrollTo(0, 0);
            }}
          >
            ↑ {list.isGap ? "More than 1,000" : coming.toLocaleString()} new
          </button>
        )}
      </div>
      {openKey !== undefined && log.items !== undefined && !hasRow(list, openKey) && (
        <p class="note">The row that this address opens is not among these: it is older, filtered out, or not there.</p>
      )}
      <div ref={frame}>
        <LogRows blocks={list.blocks} openKey={openKey} />
      </div>
      {log.items !== undefined && shown === 0 && (
        <Empty title={isFiltered ? "Nothing in the audit log fits." : "Nothing is in this audit log yet."}>
          {log.hasMore
            ? "Nothing fits in the newest part of the audit log."
            : isFiltered
              ? "Take a filter away, or a longer time."
              : "Whatever is decided or done in this tenant appears here."}
        </Empty>
      )}
      <ListEnd what="rows" of={log} />
    </>
  );
}
