import { useMemo } from "preact/hooks";
import { setQuery } from "../../base/place.ts";
import { principalText } from "../../base/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { Windowed } from "../../parts/windowed.tsx";
import { EventDetails } from "./event-details.tsx";
import { eventText } from "./event-words.ts";
import { keyOf, type TrailRow } from "./trail-filter.ts";
import type { TrailBlock } from "./trail-list.ts";

/** How many rows are drawn together: more take longer than a frame. */
const chunkSize = 20;
/** How high a row is about, in pixels. */
const rowHeight = 30;

/** The rows of the trail. Of thousands, those near the window are drawn. */
export function TrailRows({ blocks, openKey }: { blocks: readonly TrailBlock[]; openKey: string | undefined }) {
  // New rows that are only counted draw nothing here.
  return useMemo(
    () => (
      <>
        {blocks.map(({ key, rows }) => (
          <Block key={key} rows={rows} openKey={openKey} />
        ))}
      </>
    ),
    [blocks, openKey],
  );
}

/** Chunks are counted from the oldest row, so that they stay what they are when new rows come on top. */
function Block({ rows, openKey }: { rows: readonly TrailRow[]; openKey: string | undefined }) {
  const count = Math.ceil(rows.length / chunkSize);
  return (
    <>
      {Array.from({ length: count }, (_, index) => {
        const end = rows.length - (count - 1 - index) * chunkSize;
        const chunk = rows.slice(Math.max(0, end - chunkSize), end);
        return (
          <Windowed key={count - index} estimate={index === 0 ? undefined : chunk.length * rowHeight}>
            {() => (
              <ul class="trail-rows">
                {chunk.map((row) => (
                  <Row key={keyOf(row)} row={row} isOpen={keyOf(row) === openKey} />
                ))}
              </ul>
            )}
          </Windowed>
        );
      })}
    </>
  );
}

function Row({ row, isOpen }: { row: TrailRow; isOpen: boolean }) {
  const { event } = row;
  return (
    <li>
      <button
        type="button"
        class="trail-line"
        aria-expanded={isOpen}
        onClick={() => setQuery({ open: isOpen ? undefined : keyOf(row) })}
      >
        <Time at={event.at} />
        <span>
          <StateTag state={event.outcome} />
        </span>
        <span class="clip">
          <ForeignText text={principalText(event.actor)} />
        </span>
        <span class="clip trail-what">
          <ForeignText text={eventText(event)} />
        </span>
        <span class="clip trail-why">
          <ForeignText text={event.reason ?? ""} />
        </span>
      </button>
      {isOpen && <EventDetails row={row} />}
    </li>
  );
}
