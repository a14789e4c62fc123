import { useState } from "preact/hooks";
import type { TurnEvent, TurnState } from "turnpike/contracts";
import { spanText } from "../../shared/instants.ts";
import { ForeignText, LongText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { whyAddress } from "../why-address.ts";
import { timeScale, type TimeScale } from "./time-scale.ts";
import { costText, type Decision, type Step, stepsOf } from "./turn-steps.ts";

/** A turn as a picture: one row for each step, with what came of it, and a bar for when it was. */
export function Timeline({
  events,
  state,
  acts = [],
  decisions,
  now,
  most = 100,
}: {
  events: readonly TurnEvent[];
  state: TurnState;
  /** What the turn's agent carried out elsewhere. */
  acts?: readonly Step[];
  decisions?: ReadonlyMap<string, Decision> | undefined;
  /** The instant at which steps that have not ended end in the picture. */
  now: number;
  /** How many steps are shown at first: the last ones. */
  most?: number;
}) {
  const [shownCount, setShownCount] = useState(most);
  const journaled = stepsOf(events, state.status);
  const steps = acts.length === 0 ? journaled : inOrder([...journaled, ...acts]);
  const shown = steps.slice(-shownCount);
  const end = state.completedAt === undefined ? now : Date.parse(state.completedAt);
  const scale = timeScale(shown.flatMap(({ startedAt, endedAt }) => [startedAt, Math.max(startedAt, endedAt ?? end)]));
  const began = Date.parse(state.startedAt);
  if (steps.length === 0) return <p class="hint">Nothing has happened in it yet.</p>;
  return (
    <>
      {steps.length > shown.length && (
        <button type="button" class="button" onClick={() => setShownCount(shownCount + 200)}>
          Show earlier steps ({steps.length - shown.length})
        </button>
      )}
      <ol class="timeline">
        {shown.map((step) => (
          <StepRow key={step.key} step={step} began={began} end={end} scale={scale} decisions={decisions} />
        ))}
      </ol>
    </>
  );
}

function inOrder(steps: readonly Step[]): Step[] {
  return steps.toSorted((one, other) => one.startedAt - other.startedAt);
}

function StepRow({
  step,
  began,
  end,
  scale,
  decisions,
}: {
  step: Step;
  began: number;
  end: number;
  scale: TimeScale;
  decisions: ReadonlyMap<string, Decision> | undefined;
}) {
  const { kind, title, state, code, startedAt, endedAt, text, notes, tokens, cost, callId } = step;
  const decision = callId === undefined ? undefined : decisions?.get(callId);
  const took = (endedAt ?? end) - startedAt;
  const tone = toneOf(step);
  const facts = [
    ...(decision === undefined ? [] : [`needs ${decision.needs}`]),
    ...(decision?.grantId === undefined || state === "denied" ? [] : [`by ${decision.grantId}`]),
    ...notes,
    ...(tokens === undefined ? [] : [`${tokens.input} tokens in, ${tokens.output} out`]),
    ...(cost === undefined ? [] : [costText(cost)]),
  ];
  const isPoint = kind === "start" || kind === "end" || kind === "event";
  return (
    <li class={`step ${kind}`}>
      <span class="step-time">+{spanText(startedAt - began)}</span>
      <span class={`step-mark ${tone}`} aria-hidden="true" />
      <div class="step-body">
        <p class="step-title">
          <ForeignText text={title} />
          {state !== undefined && hasTag(step) && <StateTag state={state} />}
          {!isPoint && <span class="hint">{tookText(step, took)}</span>}
        </p>
        {code !== undefined && (
          <p class="step-reason">
            <code>{code}</code>
            {state === "denied" && decision !== undefined && <Link to={whyAddress(decision.why)}>Why?</Link>}
          </p>
        )}
        {facts.length > 0 && (
          <p class="hint">
            <ForeignText text={facts.join(" · ")} />
          </p>
        )}
        {text !== undefined && (
          <div class="step-text">
            <LongText text={text} most={longest} />
          </div>
        )}
      </div>
      <svg class="step-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        {scale.gaps.map((gap) => (
          <rect key={gap.from} class="gap" x={gap.from} y={0} width={gap.to - gap.from} height={10} />
        ))}
        <rect
          class={tone}
          x={Math.min(99, scale.place(startedAt))}
          y={2.5}
          width={Math.max(1, scale.place(Math.max(startedAt, endedAt ?? end)) - scale.place(startedAt))}
          height={5}
        />
      </svg>
    </li>
  );
}

/** Of a longer text of a model the beginning is shown first. */
const longest = 600;

/** A model that has answered and a turn that has ended say so by themselves. */
function hasTag({ kind, endedAt }: Step): boolean {
  return kind !== "end" && (kind !== "model" || endedAt === undefined);
}

function tookText({ kind, endedAt }: Step, took: number): string {
  if (kind === "escalation") return `${endedAt === undefined ? "has waited" : "waited"} ${spanText(took)}`;
  return `${endedAt === undefined ? "for" : "took"} ${spanText(took)}`;
}

function toneOf({ kind, state }: Step): string {
  if (state === "denied" || state === "failed") return "bad";
  if (kind === "escalation" || state === "waiting" || state === "escalated") return "wait";
  if (kind === "model" || state === "running") return "accent";
  return state === "succeeded" ? "good" : "quiet";
}
