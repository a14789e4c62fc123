import { useEffect, useRef, useState } from "preact/hooks";
import { actRows, requestText, wantsText } from "turnpike-host/display";
import type { EscalationRecord } from "turnpike-host/management";
import { may } from "../../base/api.ts";
import { useRead } from "../../base/load.ts";
import { spanText } from "../../base/moments.ts";
import { useNow } from "../../base/now.ts";
import { addressOf, place } from "../../base/place.ts";
import { isAboutEscalations, useRefresh } from "../../base/refresh.ts";
import { session } from "../../base/session.ts";
import { count, partiesText, principalText } from "../../base/words.ts";
import { Facts } from "../../parts/facts.tsx";
import { ForeignParagraph, ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/states.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { CapabilityList } from "../grants/grant-facts.tsx";
import { termsText as limitsText } from "../grants/grant-words.ts";
import { Preview } from "../grants/preview.tsx";
import { Timeline } from "../turns/timeline.tsx";
import { turnAddress } from "../turns/turn-address.ts";
import { shortAct } from "./act-size.ts";
import { approvedGrant } from "./answer-draft.ts";
import { AnswerPanel } from "./answer-panel.tsx";
import { draftOf } from "./drafts.ts";
import { droppedTexts, outcomeText, type ShownQuestion } from "./question-text.ts";
import { WithdrawPanel } from "./withdraw-panel.tsx";

/** All of one question, and the answer to it. */
export function QuestionDetail({
  id,
  next,
  onAnswer,
}: {
  id: string;
  /** Another one that waits. */
  next: string | undefined;
  onAnswer(): void;
}) {
  const { tenant = "" } = place.value;
  const shown = useRead("showEscalation", { namespaceId: tenant, id });
  const executionId = shown.value?.escalation.executionId;
  useRefresh(
    shown.reload,
    (event) => isAboutEscalations(event) || (event.kind === "turn" && event.executionId === executionId),
  );
  const whole = useRef<HTMLElement>(null);
  useEffect(() => {
    // Where the page is narrow, the question is below the list.
    if (!globalThis.matchMedia("(width >= 56rem)").matches) whole.current?.scrollIntoView({ block: "start" });
  }, []);
  return (
    <article ref={whole} class="question" aria-label="The question">
      <Show what="This question" of={shown}>
        {(value) => (
          <Question
            shown={value}
            next={next}
            onAnswer={() => {
              shown.reload();
              onAnswer();
            }}
          />
        )}
      </Show>
    </article>
  );
}

function Question({ shown, next, onAnswer }: { shown: ShownQuestion; next: string | undefined; onAnswer(): void }) {
  const { escalation, turn } = shown;
  const now = useNow(1000);
  const [mine, setMine] = useState<Mine>();
  const isOpen = escalation.status === "pending";
  const rows = escalation.approval === undefined ? [] : actRows(escalation.approval.act);
  const [isShown, setShown] = useState(false);
  const isWhole = isShown || !shortAct(rows).isCut;
  return (
    <>
      <header class="question-head">
        <h2>
          <ForeignText text={principalText(escalation.requester)} /> wants to{" "}
          <strong>
            <ForeignText text={wantsText(escalation)} />
          </strong>
        </h2>
        <Wait escalation={escalation} now={now} />
      </header>
      {partiesText(escalation) !== "" && (
        <p class="note wait">
          <ForeignText text={`It was ${partiesText(escalation)}, who cannot answer it.`} />
        </p>
      )}
      <figure class="quote">
        <figcaption class="hint">
          {escalation.approval === undefined ? "Its reason, in its own words" : "Why it asks"}
        </figcaption>
        <blockquote>
          <ForeignParagraph text={escalation.reason} />
        </blockquote>
      </figure>
      {escalation.approval === undefined ? (
        <Authority escalation={escalation} />
      ) : (
        <ExactAct shown={shown} isWhole={isWhole} onShow={() => setShown(true)} />
      )}
      {isOpen ? (
        <AnswerPanel
          shown={shown}
          now={now}
          isWhole={isWhole}
          onAnswer={(became) => {
            setMine(became);
            onAnswer();
          }}
        />
      ) : (
        <>
          <Outcome shown={shown} mine={mine} next={next} />
          {escalation.status === "approved" && <WithdrawPanel escalation={escalation} onWithdrawn={onAnswer} />}
        </>
      )}
      {turn !== undefined && (
        <Panel
          title="What its turn did so far"
          way={may("inspectTurn") && <Link to={turnAddress(turn)}>The whole turn</Link>}
        >
          <Timeline events={turn.events} state={turn.state} now={now} most={8} />
        </Panel>
      )}
    </>
  );
}

/** How long it still waits, as a text and a bar that runs out. */
function Wait({ escalation: { status, requestedAt, expiresAt }, now }: { escalation: EscalationRecord; now: number }) {
  if (status !== "pending") return <StateTag state={status} />;
  const [from, to] = [Date.parse(requestedAt), Date.parse(expiresAt)];
  const left = Math.max(0, to - now);
  return (
    <div class="time-left">
      <span>{left === 0 ? "Its time is over." : `Waits ${spanText(left)} more`}</span>
      <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="rest" width="100" height="4" />
        <rect class="left" width={to > from ? Math.min(100, (left / (to - from)) * 100) : 0} height="4" />
      </svg>
    </div>
  );
}

/** What a yes grants, and to what that opens the way. */
function Authority({ escalation }: { escalation: EscalationRecord }) {
  const { requestedAuthority, requester, reviewer, authority, purpose } = escalation;
  const [isPreviewed, setPreviewed] = useState(false);
  if (requestedAuthority === undefined)
    return <p class="note wait">It requests no authority: it can only be denied.</p>;
  const { capabilities, constraints = {}, owner } = requestedAuthority;
  return (
    <Panel title="What a yes opens the way to">
      <CapabilityList of={capabilities} />
      <Facts
        of={[
          ["For", principalText(requester)],
          ["On things of", principalText(owner)],
          ["In the name of", principalText(authority)],
          ["Only for the purpose", purpose],
          ["Asked of", principalText(reviewer) === principalText(authority) ? undefined : principalText(reviewer)],
          ["Requested", limitsText(constraints) || undefined],
        ]}
      />
      {escalation.status === "pending" && may("previewGrant") && (
        <>
          <div class="actions">
            <button type="button" class="button" aria-expanded={isPreviewed} onClick={() => setPreviewed(!isPreviewed)}>
              What would have been different lately?
            </button>
          </div>
          {isPreviewed && <Preview change={{ draft: approvedGrant(escalation) }} />}
        </>
      )}
    </Panel>
  );
}

/** The one act that a yes is for, to its last argument. Of a large one the beginning, until somebody wants all of it. */
function ExactAct({
  shown: { escalation, grant },
  isWhole,
  onShow,
}: {
  shown: ShownQuestion;
  isWhole: boolean;
  onShow(): void;
}) {
  const { approval, requester, authority, purpose } = escalation;
  if (approval === undefined) return null;
  const all = actRows(approval.act);
  const short = shortAct(all);
  const rows = isWhole ? all.map((row) => ({ ...row, left: 0 })) : short.rows;
  return (
    <Panel title="A yes is for exactly this, once">
      {rows.length === 0 ? (
        <p>It has no arguments.</p>
      ) : (
        <dl class="arguments">
          {rows.map(({ name, value, left }) => (
            <div key={name}>
              <dt>
                <ForeignText text={name} />
              </dt>
              <dd>
                <ForeignParagraph text={value} />
                {left > 0 && <span class="hint">… and {count(left, "more character")}</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {!isWhole && (
        <div class="actions">
          <span class="hint">Not all of it is shown{short.left > 0 && `: ${count(short.left, "argument")} more`}.</span>
          <button type="button" class="button" onClick={onShow}>
            Show all {count(all.length, "argument")} whole
          </button>
        </div>
      )}
      <Facts
        of={[
          ["By", principalText(requester)],
          ["Needs", requestText(approval.request)],
          ["In the name of", principalText(authority)],
          ["For the purpose", purpose],
          [
            "Carried by the grant",
            <>
              <GrantLink id={approval.grantId} />
              {grant?.revokedAt !== undefined && " (revoked: a yes would not help any more)"}
            </>,
          ],
        ]}
      />
      <p class="hint">With other arguments, or a second time, it asks again.</p>
    </Panel>
  );
}

/** What became of the answer of who looks, if they gave one. */
type Mine = "last" | "one" | "late" | undefined;

/** What was answered and by whom; to who was late, that they were, and what they had been typing. */
function Outcome({
  shown: { escalation },
  mine,
  next,
}: {
  shown: ShownQuestion;
  mine: Mine;
  next: string | undefined;
}) {
  const { reason } = draftOf(escalation.id);
  const { status, grantId, decidedBy } = escalation;
  const me = session.current.value?.operator.id;
  const whole = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that somebody pressed is gone: they go on here.
    if (mine === "last" || mine === "late") whole.current?.focus();
  }, []);
  return (
    <div ref={whole} class={`outcome ${status}`} role={mine === "late" ? "alert" : "status"} tabIndex={-1}>
      {mine === "late" && <strong>Somebody was first, so your answer did not count.</strong>}
      <p>
        <ForeignText text={outcomeText(escalation, me)} />
      </p>
      {droppedTexts(escalation).map((text) => (
        <p key={text}>
          <ForeignText text={text} />
        </p>
      ))}
      {grantId !== undefined && (
        <p>
          Granted as <GrantLink id={grantId} />
        </p>
      )}
      {decidedBy !== me && reason !== "" && (
        <p>
          You had typed: <ForeignText text={reason} />
        </p>
      )}
      {next !== undefined && (
        <p>
          <Link to={addressOf(["questions", next])}>Go to the next one that waits</Link>
        </p>
      )}
    </div>
  );
}
