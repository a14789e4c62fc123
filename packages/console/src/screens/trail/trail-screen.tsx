import { useRef } from "preact/hooks";
import { place, setQuery } from "../../base/place.ts";
import { count } from "../../base/words.ts";
import { CheckField } from "../../parts/check-field.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { Empty } from "../../parts/states.tsx";
import { ChainState } from "./chain-state.tsx";
import { TraceStory } from "./trace-story.tsx";
import { filterOf } from "./trail-filter.ts";
import { TrailFilters } from "./trail-filters.tsx";
import { countEntries } from "./trail-list.ts";
import { TrailRows } from "./trail-rows.tsx";
import { useTrail } from "./use-trail.ts";

/** The audit log of a tenant: everything that was decided and done, or one trace as a story. */
export function TrailScreen() {
  const { tenant = "", rest } = place.value;
  const [view, traceId] = rest;
  return view === "trace" && traceId !== undefined ? (
    <TraceStory tenant={tenant} traceId={traceId} />
  ) : (
    <TrailLog tenant={tenant} />
  );
}

function TrailLog({ tenant }: { tenant: string }) {
  const { query } = place.value;
  const filter = filterOf(query);
  const openKey = query.get("open") ?? undefined;
  const isTailing = query.get("tail") !== "off";
  const frame = useRef<HTMLDivElement>(null);
  // What somebody reads, points at or has opened stays where it is.
  const mayMove = (): boolean =>
    isTailing &&
    openKey === undefined &&
    globalThis.scrollY < 40 &&
    frame.current?.matches(":hover, :focus-within") === false;
  const trail = useTrail(tenant, filter, mayMove);
  const { list } = trail;
  const shown = countEntries(list);
  const coming = list.pending.length;
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <h1>Trail</h1>
      <ChainState tenant={tenant} />
      <TrailFilters filter={filter} />
      <div class="trail-head">
        <CheckField
          kind="switch"
          label="Live tail"
          isOn={isTailing}
          onChange={(isOn) => {
            setQuery({ tail: isOn ? undefined : "off" });
            if (isOn) trail.showNew();
          }}
        />
        <span class="hint" role="status">
          {trail.items !== undefined && `${count(shown, "row")} shown${trail.hasMore ? "" : ", all that fit"}`}
        </span>
        {coming > 0 && (
          <button
            type="button"
            class="button main new-rows"
            onClick={() => {
              trail.showNew();
              globalThis.scrollTo(0, 0);
            }}
          >
            ↑ {list.isGap ? "More than 1,000" : coming.toLocaleString()} new
          </button>
        )}
      </div>
      <div ref={frame}>
        <TrailRows blocks={list.blocks} openKey={openKey} />
      </div>
      {trail.items !== undefined && shown === 0 && (
        <Empty title={isFiltered ? "Nothing on the trail fits." : "Nothing is on this trail yet."}>
          {trail.hasMore
            ? "Nothing fits in the newest part of the trail."
            : isFiltered
              ? "Take a filter away, or a longer time."
              : "Whatever is decided or done in this tenant appears here."}
        </Empty>
      )}
      <ListEnd what="rows" of={trail} />
    </>
  );
}
