import { useState } from "preact/hooks";
import type { AdminExplanation } from "turnpike-host/admin-contract";
import { count, grantText, principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";
import { Empty } from "../../parts/states.tsx";
import { Tag } from "../../parts/tag.tsx";
import { type Lane, lanesOf, type Step } from "./lanes.ts";

const firstLanes = 6;

/** Every grant that was considered, as a lane through the conditions: each runs until the first that it fails. */
export function LanePicture({ explanation }: { explanation: AdminExplanation }) {
  const [isAll, setAll] = useState(false);
  const lanes = lanesOf(explanation);
  const { request, access } = explanation;
  const [first] = lanes;
  if (first === undefined)
    return (
      <Empty title={request === undefined ? "The act itself was never decided." : "There was no grant to consider."}>
        {request !== undefined && (
          <p>
            <ForeignText
              text={`${principalText(access.actor)} holds no grant of ${principalText(access.authority)}.`}
            />
          </p>
        )}
      </Empty>
    );
  const shown = isAll ? lanes : lanes.slice(0, firstLanes);
  return (
    <section class="lanes" aria-label="Grants that were considered">
      <h2>{count(lanes.length, "grant")} considered</h2>
      <ol class="lane-heads" aria-hidden="true">
        {first.steps.map(({ title }) => (
          <li key={title}>{title}</li>
        ))}
      </ol>
      <ul class="plain-list">
        {shown.map((lane) => (
          <LaneRow key={lane.grant.id} lane={lane} />
        ))}
      </ul>
      {lanes.length > shown.length && (
        <p class="actions">
          <button type="button" class="button" onClick={() => setAll(true)}>
            Show {lanes.length - shown.length} more
          </button>
        </p>
      )}
    </section>
  );
}

function LaneRow({ lane: { grant, outcome, steps, stop, because } }: { lane: Lane }) {
  return (
    <li class={`lane${outcome === "not needed" ? " spare" : ""}${stop === "Approval" ? " waits" : ""}`}>
      <div class="lane-grant">
        <GrantLink id={grant.id} />
        <span class="hint code">
          <ForeignText text={grantText(grant)} />
        </span>
      </div>
      <ol class="steps">
        {steps.map((step) => (
          <li key={step.title} class={step.state}>
            <StepMark state={step.state} />
            <span class="hidden">
              {step.title}: {stepWords[step.state]}
            </span>
          </li>
        ))}
      </ol>
      <p class="because">
        {outcome === "carries" && <Tag text="carries it" tone="good" />}
        {outcome === "not needed" && <Tag text="not needed" />}
        {stop !== undefined && <Tag text={`stops at ${stop}`} tone={stop === "Approval" ? "wait" : "bad"} />}{" "}
        <ForeignText text={because} />
      </p>
    </li>
  );
}

const stepWords: Readonly<Record<Step["state"], string>> = { met: "met", failed: "not met", open: "not checked" };

function StepMark({ state }: { state: Step["state"] }) {
  const path = { met: "M-3.5 0l2.5 2.8l4.5 -5.4", failed: "M-3.5 -3.5l7 7M3.5 -3.5l-7 7", open: "" }[state];
  return (
    <svg viewBox="-10 -10 20 20" aria-hidden="true">
      <circle r={state === "open" ? 4 : 8.5} />
      <path d={path} />
    </svg>
  );
}
