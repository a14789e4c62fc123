import { may, request } from "../../shared/api.ts";
import { usePages } from "../../shared/pages.ts";
import { addressOf } from "../../shared/place.ts";
import { principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { ListEnd } from "../../parts/list-end.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { eventText } from "../audit-log/event-words.ts";
import { foldRows } from "../audit-log/fold-calls.ts";
import { keyOf, type LogRow } from "../audit-log/log-filter.ts";

const pageSize = 20;
/** A page may be empty before the end: so many are read until there is something to show. */
const maxEmptyPages = 5;

/** What became of a grant: who issued and changed it, and who used it for what. */
export function GrantHistory({ tenant, id }: { tenant: string; id: string }) {
  return may("listAudit") ? <History tenant={tenant} id={id} /> : null;
}

function History({ tenant, id }: { tenant: string; id: string }) {
  const pages = usePages<LogRow>(
    async (from) => {
      let [cursor, rows]: [string | undefined, LogRow[]] = [from, []];
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
          {pages.hasMore ? "Nothing in the newest part of the audit log." : "The audit log has nothing of it."}
        </p>
      )}
      <ListEnd what="history" of={pages} />
      <p>
        <Link to={addressOf(["trail"], { grant: id })}>In the audit log</Link>
      </p>
    </section>
  );
}

function HistoryRow({ row: { event } }: { row: LogRow }) {
  const { outcome, at, actor } = event;
  return (
    <li>
      <Time at={at} /> <StateTag state={outcome} /> <ForeignText text={principalText(actor)} />{" "}
      <ForeignText text={eventText(event)} />
    </li>
  );
}
