import { useId } from "preact/hooks";
import { briefText, closedText, wantsText } from "turnpike-host/display";
import type { EscalationRecord } from "turnpike-host/admin-contract";
import { agoText } from "../../shared/instants.ts";
import { addressOf, place } from "../../shared/place.ts";
import { principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { type Batch, batchesOf } from "./batch.ts";
import { stateWord } from "./escalation-text.ts";

/** A list of escalations: who wants what, and since when. */
export function EscalationList({
  title,
  rows,
  selected,
  now,
}: {
  title: string;
  rows: readonly EscalationRecord[];
  selected: string | undefined;
  now: number;
}) {
  const heading = useId();
  return (
    <section aria-labelledby={heading}>
      <h2 class="list-title" id={heading}>
        {title}
      </h2>
      <ul class="escalation-list">
        {batchesOf(rows).map((batch) => (
          <li key={batch[0].id}>
            <BatchLink batch={batch} selected={selected} now={now} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** One escalation, or several that differ only in their arguments, as a link to all details. */
export function BatchLink({ batch, selected, now }: { batch: Batch; selected?: string | undefined; now: number }) {
  const [first] = batch;
  if (batch.length === 1) return <EscalationLink row={first} isCurrent={first.id === selected} now={now} />;
  const isCurrent = batch.some(({ id }) => id === selected);
  const status = place.value.screen === "questions" ? place.value.query.get("status") : null;
  return (
    <Link
      to={addressOf(["questions", first.id, "batch"], { status: status ?? undefined })}
      class="escalation-link"
      isCurrent={isCurrent}
    >
      <span class="escalation-who">
        <ForeignText text={principalText(first.requester)} />
        <span class="badge">{batch.length} times</span>
      </span>
      <span class="escalation-what">
        <ForeignText text={wantsText(first)} />
      </span>
      <span class="hint">with other arguments each time, the last {agoText(first.requestedAt, now)}</span>
    </Link>
  );
}

/** One escalation as a link to all its details. */
function EscalationLink({ row, isCurrent = false, now }: { row: EscalationRecord; isCurrent?: boolean; now: number }) {
  const { id, status, requester, requestedAt } = row;
  const isOpen = status === "pending" && Date.parse(row.expiresAt) > now;
  const shown = place.value.screen === "questions" ? place.value.query.get("status") : null;
  return (
    <Link
      to={addressOf(["questions", id], { status: shown ?? undefined })}
      class="escalation-link"
      isCurrent={isCurrent}
    >
      <span class="escalation-who">
        <ForeignText text={principalText(requester)} />
        {isOpen ? <span class="hint">{agoText(requestedAt, now)}</span> : <StateTag state={stateWord(row)} />}
      </span>
      <span class="escalation-what">
        <ForeignText text={wantsText(row)} />
      </span>
      {row.approval !== undefined && (
        <span class="hint brief clip">
          <ForeignText text={briefText(row.approval.act)} />
        </span>
      )}
      {!isOpen && (
        <span class="hint">
          <Time at={requestedAt} />
          {row.closed && <ForeignText text={` ${closedText(row.closed)}`} />}
        </span>
      )}
    </Link>
  );
}
