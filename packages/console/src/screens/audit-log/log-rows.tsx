import { useMemo } from "preact/hooks";
import { setQuery } from "../../shared/place.ts";
import { principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { Windowed } from "../../parts/windowed.tsx";
import { EventDetails } from "./event-details.tsx";
import { eventText } from "./event-words.ts";
import { callOf, type LogEntry } from "./fold-calls.ts";
import { keyOf } from "./log-filter.ts";
import type { LogBlock } from "./log-list.ts";

/** How many rows are drawn together: more take longer than a frame. */
const chunkSize = 20;
/** How high a row is about, in pixels. */
const rowHeight = 30;

/** The rows of the audit log. Of thousands, those near the window are drawn. */
export function LogRows({ blocks, openKey }: { blocks: readonly LogBlock[]; openKey: string | undefined }) {
  // New rows that are only counted draw nothing here.
  return useMemo(
    () => (
      <>
        {blocks.map(({ key, entries }) => (
          <Block key={key} entries={entries} openKey={openKey} />
        ))}
      </>
    ),
    [blocks, openKey],
  );
}

/** Chunks are counted from the oldest row, so that they stay what they are when new rows come on top. */
function Block({ entries, openKey }: { entries: readonly LogEntry[]; openKey: string | undefined }) {
  const count = Math.ceil(entries.length / chunkSize);
  return (
    <>
      {Array.from({ length: count }, (_, index) => {
        const end = entries.length - (count - 1 - index) * chunkSize;
        const chunk = entries.slice(Math.max(0, end - chunkSize), end);
        return (
          <Windowed key={count - index} estimate={index === 0 ? undefined : chunk.length * rowHeight}>
            {() => (
              <ul class="log-rows">
                {chunk.map((entry) => (
                  <Entry key={nameOf(entry)} entry={entry} openKey={openKey} />
                ))}
              </ul>
            )}
          </Windowed>
        );
      })}
    </>
  );
}

/** The same for a call whichever of its rows are there yet. */
function nameOf([row]: LogEntry): string | undefined {
  return row && (callOf(row.event) ?? keyOf(row));
}

/** A call is shown by its outcome, with the decision beside it. Both are shown in full when it is opened. */
function Entry({ entry, openKey }: { entry: LogEntry; openKey: string | undefined }) {
  const [row] = entry;
  if (row === undefined) return null;
  const { event } = row;
  const isOpen = entry.some((one) => keyOf(one) === openKey);
  const decision = entry.find((one) => one.event.type === "authorization.checked")?.event;
  const isFolded = decision !== undefined && decision !== event;
  return (
    <li>
      <button
        type="button"
        class="log-line"
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
        <span class="clip log-what">
          <ForeignText text={isFolded ? `${eventText(event)}: ${eventText(decision)}` : eventText(event)} />
        </span>
        <span class="clip log-why">
          <ForeignText text={event.reason ?? decision?.reason ?? ""} />
        </span>
      </button>
      {isOpen && entry.toReversed().map((one) => <EventDetails key={keyOf(one)} row={one} />)}
    </li>
  );
}
