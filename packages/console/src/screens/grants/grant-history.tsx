import { may, request } from "../../base/api.ts";
import { usePages } from "../../base/pages.ts";
import { addressOf } from "../../base/place.ts";
import { principalText } from "../../base/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { eventText } from "../trail/event-words.ts";
import { foldRows } from "../trail/fold-calls.ts";
import { keyOf, type TrailRow } from "../trail/trail-filter.ts";

const pageSize = 20;
/** A page may be empty before the end: so many are read until somebody has something to look at. */
const maxEmptyPages = 5;

/** What became of a grant: who issued and changed it, and who used it for what. */
export function GrantHistory({ tenant, id }: { tenant: string; id: string }) {
  return may("listAudit") ? <History tenant={tenant} id={id} /> : null;
}

function History({ tenant, id }: { tenant: string; id: string }) {
  const pages = usePages<TrailRow>(
    async (from) => {
      let [cursor, rows]: [string | undefined, TrailRow[]] = [from, []];
      for (let count = 0; count < maxEmptyPages && rows.length === 0; count += 1) {
        const page = await request("listAudit", { namespaceId: tenant, grant: id, limit: pageSize, cursor });
        [cursor, rows] = [page.cursor, page.events];
        if (cursor === undefined) break;
      }
      return { items: rows, cursor };
    },
    [tenant, id],
  );
  const entries = foldRows(pages.items ?? []);
  return (
    <section aria-label="What became of it">
      <h3>What became of it</h3>
      {entries.length > 0 && (
        <ul class="plain-list">{entries.map(([row]) => row && <HistoryRow key={keyOf(row)} row={row} />)}</ul>
      )}
      {pages.items?.length === 0 && (
        <p class="hint">
          {pages.hasMore ? "Nothing in the newest part of the trail." : "The trail has nothing of it."}
        </p>
      )}
      <ListEnd what="history" of={pages} />
      <p>
        <Link to={addressOf(["trail"], { grant: id })}>On the trail</Link>
      </p>
    </section>
  );
}

function HistoryRow({ row: { event } }: { row: TrailRow }) {
  const { outcome, at, actor } = event;
  return (
    <li>
      <Time at={at} /> <StateTag state={outcome} /> <ForeignText text={principalText(actor)} />{" "}
      <ForeignText text={eventText(event)} />
    </li>
  );
}
