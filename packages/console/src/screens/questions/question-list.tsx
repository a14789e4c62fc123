import { useId } from "preact/hooks";
import { briefText, wantsText } from "turnpike-host/display";
import type { EscalationRecord } from "turnpike-host/management";
import { agoText } from "../../base/moments.ts";
import { addressOf, place } from "../../base/place.ts";
import { principalText } from "../../base/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { type Batch, batchesOf } from "./batch.ts";

/** A list of questions: who wants what, and since when. */
export function QuestionList({
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
      <ul class="question-list">
        {batchesOf(rows).map((batch) => (
          <li key={batch[0].id}>
            <BatchLink batch={batch} selected={selected} now={now} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** One question, or several that differ in their arguments alone, as a link to all of it. */
export function BatchLink({ batch, selected, now }: { batch: Batch; selected?: string | undefined; now: number }) {
  const [first] = batch;
  if (batch.length === 1) return <QuestionLink row={first} isCurrent={first.id === selected} now={now} />;
  const isCurrent = batch.some(({ id }) => id === selected);
  const kept = place.value.screen === "questions" ? place.value.query.get("status") : null;
  return (
    <Link
      to={addressOf(["questions", first.id, "batch"], { status: kept ?? undefined })}
      class="question-link"
      isCurrent={isCurrent}
    >
      <span class="question-who">
        <ForeignText text={principalText(first.requester)} />
        <span class="badge">{batch.length} times</span>
      </span>
      <span class="question-what">
        <ForeignText text={wantsText(first)} />
      </span>
      <span class="hint">with other arguments each time, the last {agoText(first.requestedAt, now)}</span>
    </Link>
  );
}

/** One question as a link to all of it. */
function QuestionLink({ row, isCurrent = false, now }: { row: EscalationRecord; isCurrent?: boolean; now: number }) {
  const { id, status, requester, requestedAt } = row;
  const isOpen = status === "pending" && Date.parse(row.expiresAt) > now;
  const kept = place.value.screen === "questions" ? place.value.query.get("status") : null;
  return (
    <Link to={addressOf(["questions", id], { status: kept ?? undefined })} class="question-link" isCurrent={isCurrent}>
      <span class="question-who">
        <ForeignText text={principalText(requester)} />
        {isOpen ? <span class="hint">{agoText(requestedAt, now)}</span> : <StateTag state={status} />}
      </span>
      <span class="question-what">
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
        </span>
      )}
    </Link>
  );
}
