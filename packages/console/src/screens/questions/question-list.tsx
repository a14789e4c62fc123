import { useId } from "preact/hooks";
import type { EscalationRecord } from "turnpike-host/management";
import { agoText } from "../../base/moments.ts";
import { addressOf, place } from "../../base/place.ts";
import { principalText } from "../../base/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { briefText } from "./act-rows.ts";
import { wantsText } from "./question-text.ts";

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
        {rows.map((row) => (
          <li key={row.id}>
            <QuestionLink row={row} isCurrent={row.id === selected} now={now} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** One question as a link to all of it. */
export function QuestionLink({
  row,
  isCurrent = false,
  now,
}: {
  row: EscalationRecord;
  isCurrent?: boolean;
  now: number;
}) {
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
