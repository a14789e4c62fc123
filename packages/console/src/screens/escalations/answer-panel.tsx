import { useState } from "preact/hooks";
import { wantsText } from "turnpike-host/display";
import type { EscalationRecord } from "turnpike-host/admin-contract";
import { AdminClientError } from "turnpike-host/admin-contract/call";
import { useAct } from "../../shared/act.ts";
import { may, request } from "../../shared/api.ts";
import { session } from "../../shared/session.ts";
import { principalText } from "../../shared/words.ts";
import { Chips } from "../../parts/chips.tsx";
import { Form, TextField } from "../../parts/fields.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Problem } from "../../parts/states.tsx";
import { type AnswerDraft, noReason, termsOf, termsText } from "./answer-draft.ts";
import { changeDraft, draftOf } from "./drafts.ts";
import { approvalsText, droppedTexts, type ShownEscalation } from "./escalation-text.ts";

const times = [
  { value: "10m", text: "10 min" },
  { value: "1h", text: "1 hour" },
  { value: "8h", text: "8 hours" },
  { value: "own", text: "Until…" },
] as const;
const usual = { value: "usual", text: "As usual" } as const;
const uses = [
  { value: "one", text: "Once" },
  { value: "several", text: "Several" },
  { value: "any", text: "No limit" },
] as const;

/** Approves or denies exactly what is shown: the answer names its hash. */
export function AnswerPanel({
  shown,
  now,
  isWhole,
  onAnswer,
}: {
  shown: ShownEscalation;
  now: number;
  /** Whether everything that an approval is for is shown: without that it cannot be approved. */
  isWhole: boolean;
  /** Called with what became of the answer: it decided, it is one of several approvals that are needed, or it was too late. */
  onAnswer(became: "last" | "one" | "late"): void;
}) {
  const { escalation } = shown;
  const { id, namespaceId, ask, approval, requestedAuthority, requester, approvals = [] } = escalation;
  const { isBusy, problem, run } = useAct();
  const [said, setSaid] = useState<string>();
  const me = session.current.value?.operator;
  const draft = draftOf(id);
  const change = (changes: Partial<AnswerDraft>): void => changeDraft(id, changes);
  const terms = termsOf(draft, escalation, now);

  const answer = (send: () => Promise<{ escalation: EscalationRecord }>): Promise<void> =>
    run(async () => {
      try {
        const answered = (await send()).escalation;
        const isOpen = answered.status === "pending";
        if (isOpen)
          setSaid(["You approved it. Another operator has to approve it, too.", ...droppedTexts(answered)].join(" "));
        onAnswer(isOpen ? "one" : "last");
      } catch (error) {
        // The outcome is read again and replaces this panel.
        if (error instanceof AdminClientError && error.code === "conflict") onAnswer("late");
        throw error;
      }
    });
  const approve = async (): Promise<void> => {
    const { ok, ...chosen } = termsOf(draft, escalation, Date.now());
    // Problems with the terms are shown beside them, and the button is disabled.
    if (ok) await answer(() => request("approveEscalation", { namespaceId, id, ask, ...chosen }));
  };
  const deny = (): Promise<void> =>
    answer(() => request("denyEscalation", { namespaceId, id, ask, reason: draft.reason.trim() || noReason }));

  if (!may("approveEscalation"))
    return <p class="note wait">Your role reads questions. A reviewer or an admin answers them.</p>;
  const mine = me === undefined ? "" : principalText(me.actor);
  const obstacle =
    mine === principalText(requester)
      ? "You requested this yourself: another operator has to approve it."
      : approvals.some(({ by }) => principalText(by) === mine)
        ? "You approved it. Another operator has to approve it, too."
        : undefined;
  // The operator who tried the act, or asked for it, may neither approve nor deny it.
  const isParty = [escalation.triedBy ?? [], escalation.askedBy ?? []]
    .flat()
    .some(({ actor }) => principalText(actor) === mine);
  if (isParty)
    return <p class="note wait">You tried this, or asked about it, yourself: another operator has to answer it.</p>;
  const canApprove = approval !== undefined || requestedAuthority !== undefined;
  const people = approvalsText(shown);
  return (
    <section class="panel answer" aria-labelledby="answer-title">
      <h3 id="answer-title">Your answer</h3>
      {people !== undefined && (
        <p class="note wait">
          <ForeignText text={people} />
        </p>
      )}
      <div role="status">
        {said !== undefined && (
          <p class="note wait">
            <ForeignText text={said} />
          </p>
        )}
      </div>
      {canApprove && obstacle !== undefined && <p>{obstacle}</p>}
      {canApprove && obstacle === undefined && !isWhole && (
        <p class="note wait">You can approve it once all of it is shown above.</p>
      )}
      {canApprove && obstacle === undefined && isWhole && (
        <Form label="Approve" onSend={() => void approve()}>
          <div class="terms">
            <Chips
              label={approval === undefined ? "Until when" : "How long the approval can be used"}
              value={draft.expiry}
              options={approval === undefined ? times : [...times.slice(0, 3), usual, ...times.slice(3)]}
              onChange={(expiry) => change({ expiry })}
            />
            {draft.expiry === "own" && (
              <TextField
                label="It ends"
                type="datetime-local"
                value={draft.ownExpiry}
                onChange={(ownExpiry) => change({ ownExpiry })}
              />
            )}
            {approval === undefined && (
              <Chips
                label="How often"
                value={draft.uses}
                options={uses}
                onChange={(value) => change({ uses: value })}
              />
            )}
            {approval === undefined && draft.uses === "several" && (
              <TextField
                label="How many uses"
                type="number"
                value={draft.useCount}
                onChange={(useCount) => change({ useCount })}
              />
            )}
          </div>
          {terms.ok ? (
            <Summary shown={shown} {...termsText(terms, escalation, now)} />
          ) : (
            <p class="hint bad">{terms.problem}</p>
          )}
          <div class="actions">
            <button type="submit" class="button main" disabled={isBusy || !terms.ok} aria-busy={isBusy}>
              Approve
            </button>
          </div>
        </Form>
      )}
      <Form label="Deny" onSend={() => void deny()}>
        <div class="deny">
          <TextField
            label="Why not? (optional) The agent reads this"
            value={draft.reason}
            onChange={(reason) => change({ reason })}
          />
          <button type="submit" class="button danger" disabled={isBusy} aria-busy={isBusy}>
            Deny
          </button>
        </div>
      </Form>
      {problem !== undefined && <Problem text={problem} />}
    </section>
  );
}

/** What will be true after a click on Approve. */
function Summary({
  shown: { escalation },
  until,
  uses: often,
}: {
  shown: ShownEscalation;
  until: string;
  uses: string;
}) {
  const isAct = escalation.approval !== undefined;
  return (
    <p class="summary">
      <ForeignText text={principalText(escalation.requester)} /> may{" "}
      <strong>
        <ForeignText text={wantsText(escalation)} />
      </strong>
      {isAct ? " with exactly these arguments " : " "}
      <strong>{often}</strong>, until <strong>{until}</strong>
      {isAct ? "." : ", for "}
      {!isAct && <ForeignText text={escalation.purpose} />}
      {!isAct && " only."}
    </p>
  );
}
