import { useEffect, useRef, useState } from "preact/hooks";
import { actRows, requestText, wantsText } from "turnpike-host/display";
import type { EscalationRecord } from "turnpike-host/admin-contract";
import { may } from "../../shared/api.ts";
import { useRead } from "../../shared/load.ts";
import { spanText } from "../../shared/instants.ts";
import { useNow } from "../../shared/now.ts";
import { addressOf, place } from "../../shared/place.ts";
import { isAboutEscalations, useRefresh } from "../../shared/refresh.ts";
import { session } from "../../shared/session.ts";
import { count, partiesNote, principalText } from "../../shared/words.ts";
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
import { droppedTexts, outcomeText, type ShownEscalation, stateWord } from "./escalation-text.ts";
import { WithdrawPanel } from "./withdraw-panel.tsx";

/** One escalation in full, with the form to answer it. */
export function EscalationDetail({
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
    // Where the page is narrow, the escalation is below the list.
    if (!globalThis.matchMedia("(width >= 56rem)").matches) whole.current?.scrollIntoView({ block: "start" });
  }, []);
  return (
    <article ref={whole} class="escalation" aria-label="The question">
      <Show what="This question" of={shown}>
        {(value) => (
          <OpenEscalation
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

function OpenEscalation({
  shown,
  next,
  onAnswer,
}: {
  shown: ShownEscalation;
  next: string | undefined;
  onAnswer(): void;
}) {
  const { escalation, turn } = shown;
  const now = useNow(1000);
  const [mine, setMine] = useState<Mine>();
  const isOpen = escalation.status === "pending";
  const rows = escalation.approval === undefined ? [] : actRows(escalation.approval.act);
  const [isShown, setShown] = useState(false);
  const isWhole = isShown || !shortAct(rows).isCut;
  return (
    <>
      <header class="escalation-head">
        <h2>
          <ForeignText text={principalText(escalation.requester)} /> wants to{" "}
          <strong>
            <ForeignText text={wantsText(escalation)} />
          </strong>
        </h2>
        <Wait escalation={escalation} now={now} />
      </header>
      {partiesNote(escalation) !== "" && (
        <p class="note wait">
          <ForeignText text={partiesNote(escalation)} />
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
function Wait({ escalation, now }: { escalation: EscalationRecord; now: number }) {
  const { status, requestedAt, expiresAt } = escalation;
  if (status !== "pending") return <StateTag state={stateWord(escalation)} />;
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

/** What an approval grants, and what it allows. */
function Authority({ escalation }: { escalation: EscalationRecord }) {
  const { requestedAuthority, requester, reviewer, authority, purpose } = escalation;
  const [isPreviewed, setPreviewed] = useState(false);
  if (requestedAuthority === undefined)
    return <p class="note wait">It requests no authority: it can only be denied.</p>;
  const { capabilities, constraints = {}, owner } = requestedAuthority;
  return (
    <Panel title="What an approval allows">
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

/** The one act that an approval is for, to its last argument. Of a large one the beginning, until an operator wants all of it. */
function ExactAct({
  shown: { escalation, grant },
  isWhole,
  onShow,
}: {
  shown: ShownEscalation;
  isWhole: boolean;
  onShow(): void;
}) {
  const { approval, requester, authority, purpose } = escalation;
  if (approval === undefined) return null;
  const all = actRows(approval.act);
  const short = shortAct(all);
  const rows = isWhole ? all.map((row) => ({ ...row, left: 0 })) : short.rows;
  return (
    <Panel title="An approval is for exactly this, once">
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
              {grant?.revokedAt !== undefined && " (revoked: an approval would not help any more)"}
            </>,
          ],
        ]}
      />
      <p class="hint">With other arguments, or a second time, it asks again.</p>
    </Panel>
  );
}

/** The outcome of the operator's own answer, if there is one. */
type Mine = "last" | "one" | "late" | undefined;

/** The answer and who gave it. An operator whose answer came too late is told so, and sees what they had typed. */
function Outcome({
  shown: { escalation },
  mine,
  next,
}: {
  shown: ShownEscalation;
  mine: Mine;
  next: string | undefined;
}) {
  const { reason } = draftOf(escalation.id);
  const { status, grantId, decidedBy } = escalation;
  const me = session.current.value?.operator.id;
  const whole = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The button that the operator pressed is gone, so the focus moves here.
    if (mine === "last" || mine === "late") whole.current?.focus();
  }, []);
  return (
    <div ref={whole} class={`outcome ${status}`} role={mine === "late" ? "alert" : "status"} tabIndex={-1}>
      {mine === "late" && (
        <strong>
          {escalation.closed
            ? "Your answer did not count."
            : "Another operator was first, so your answer did not count."}
        </strong>
      )}
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
