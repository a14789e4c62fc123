import { may, request } from "../../shared/api.ts";
import { useLoad } from "../../shared/load.ts";
import { spanText } from "../../shared/instants.ts";
import { addressOf, place, setQuery } from "../../shared/place.ts";
import { useRefresh } from "../../shared/refresh.ts";
import { principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { whyAddress } from "../why-address.ts";
import { EventDetails } from "./event-details.tsx";
import { eventText } from "./event-words.ts";
import { type Story, type StoryPart, type StoryStep, tellStory } from "./story.ts";
import { keyOf, type LogRow } from "./log-filter.ts";

/** How many rows a story has at most, and how many pages are read for them. */
const [maxRows, maxPages] = [2000, 50];

async function readTrace(tenant: string, traceId: string): Promise<{ rows: LogRow[]; isCut: boolean }> {
  const rows: LogRow[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    pages += 1;
    const page = await request("listAudit", { namespaceId: tenant, traceId, limit: 500, cursor });
    rows.push(...page.events);
    ({ cursor } = page);
  } while (cursor !== undefined && rows.length < maxRows && pages < maxPages);
  return { rows: rows.toReversed(), isCut: cursor !== undefined };
}

/** One trace as a story: who did what, in order, how long it took, and what was decided about it. */
export function TraceStory({ tenant, traceId }: { tenant: string; traceId: string }) {
  const trace = useLoad(() => readTrace(tenant, traceId), [tenant, traceId]);
  // A story only gets longer at its end, so that nothing moves.
  useRefresh(trace.reload, (event) => event.kind === "trail" && event.event.traceId === traceId);
  return (
    <>
      <p>
        <Link to={addressOf(["trail"])}>Audit log</Link>
      </p>
      <h1>
        Trace <ForeignText text={traceId} />
      </h1>
      <Show what="trace" of={trace}>
        {({ rows, isCut }) =>
          rows.length === 0 ? (
            <Empty title="Nothing in the audit log has this trace.">It may be another tenant's, or removed.</Empty>
          ) : (
            <WholeStory story={tellStory(rows)} rows={rows.length} isCut={isCut} traceId={traceId} />
          )
        }
      </Show>
    </>
  );
}

function WholeStory({ story, rows, isCut, traceId }: { story: Story; rows: number; isCut: boolean; traceId: string }) {
  const { parts, startedAt, ms, actors } = story;
  return (
    <>
      <p>
        <Time at={startedAt} /> · {spanText(ms)} · {rows} rows · <ForeignText text={actors.join(", ")} /> ·{" "}
        <Link to={addressOf(["trail"], { traceId })}>as rows</Link>
      </p>
      {isCut && <p class="hint">Only the newest {rows.toLocaleString()} rows are told; there may be older ones.</p>}
      {parts.map((part, index) => (
        <Part key={`${index} ${part.executionId ?? ""}`} part={part} wholeMs={ms} />
      ))}
    </>
  );
}

function Part({ part: { executionId, steps, ms }, wholeMs }: { part: StoryPart; wholeMs: number }) {
  return (
    <section class="panel story-part">
      <h2>
        {executionId === undefined ? (
          "Outside of a turn"
        ) : (
          <>
            Turn{" "}
            <Link to={addressOf(["turns", executionId])}>
              <ForeignText text={executionId} />
            </Link>
          </>
        )}{" "}
        <span class="hint">{spanText(ms)}</span>
      </h2>
      <ol class="story">
        {steps.map((step) => (
          <Step key={step.rows[0] && keyOf(step.rows[0])} step={step} wholeMs={wholeMs} />
        ))}
      </ol>
    </section>
  );
}

/** What became of it is the headline; the decision before it is a line below. */
function Step({ step: { rows, ms, afterMs }, wholeMs }: { step: StoryStep; wholeMs: number }) {
  const last = rows.at(-1);
  if (last === undefined) return null;
  const openKey = place.value.query.get("open");
  const open = rows.find((row) => keyOf(row) === openKey);
  return (
    <li>
      <div class="story-line">
        <span class="story-after number">+{spanText(afterMs)}</span>
        <StateTag state={last.event.outcome} />
        <div class="story-words">
          <Words row={last} isActorNamed />
          {rows.slice(0, -1).map((row) => (
            <Words key={keyOf(row)} row={row} />
          ))}
        </div>
        <Span afterMs={afterMs} ms={ms} wholeMs={wholeMs} />
        <span class="number hint">{rows.length > 1 ? spanText(ms) : ""}</span>
      </div>
      {open && <EventDetails row={open} />}
    </li>
  );
}

function Words({ row, isActorNamed = false }: { row: LogRow; isActorNamed?: boolean }) {
  const { event } = row;
  const isOpen = place.value.query.get("open") === keyOf(row);
  const because = event.reason ?? (event.grantId && `by grant ${event.grantId}`);
  return (
    <p class={isActorNamed ? "" : "hint"}>
      <button
        type="button"
        class="plain-button"
        aria-expanded={isOpen}
        onClick={() => setQuery({ open: isOpen ? undefined : keyOf(row) })}
      >
        {isActorNamed && (
          <b>
            <ForeignText text={principalText(event.actor)} />{" "}
          </b>
        )}
        <ForeignText text={eventText(event)} />
      </button>
      {because !== undefined && (
        <>
          {" "}
          <span class="hint">
            <ForeignText text={because} />
          </span>
          {isActorNamed && event.outcome === "denied" && may("explainDenial") && (
            <>
              {" "}
              <Link to={whyAddress(event)}>Why?</Link>
            </>
          )}
        </>
      )}
    </p>
  );
}

/** When in the trace it was, as a picture; the words beside it say the same. */
function Span({ afterMs, ms, wholeMs }: { afterMs: number; ms: number; wholeMs: number }) {
  const of = (part: number): number => (wholeMs === 0 ? 0 : (part / wholeMs) * 100);
  return (
    <svg class="story-span" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="whole" x={0} y={4.5} width={100} height={1} />
      <rect class="part" x={Math.min(of(afterMs), 99)} y={1} width={Math.max(of(ms), 1)} height={8} />
    </svg>
  );
}
