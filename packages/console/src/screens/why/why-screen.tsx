import { useEffect, useRef, useState } from "preact/hooks";
import { may, request } from "../../shared/api.ts";
import { useLoad } from "../../shared/load.ts";
import { place } from "../../shared/place.ts";
import { GrantLink } from "../../parts/grant-link.tsx";
import { Empty, Show } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { LanePicture } from "./lane-picture.tsx";
import { LastDenials } from "./last-denials.tsx";
import { type Asked, askedBy, type Question, questionIn } from "./question.ts";
import { Suggestion } from "./suggestion.tsx";
import { Verdict } from "./verdict.tsx";
import { WhatIf } from "./what-if.tsx";
import { WhyForm } from "./why-form.tsx";

/** Why an act is allowed or denied, and what would change that. */
export function WhyScreen() {
  const isWhatIf = place.value.rest[0] === "what-if";
  return (
    <>
      <h1>Why</h1>
      <Tabs
        label="About decisions"
        tabs={[
          { title: "Why", to: ["why"], isCurrent: !isWhatIf },
          { title: "What if", to: ["why", "what-if"], isCurrent: isWhatIf },
        ]}
      />
      {isWhatIf ? <WhatIf /> : <Why />}
    </>
  );
}

function Why() {
  const { tenant = "", query } = place.value;
  const question = questionIn(query);
  const asked = askedBy(question, tenant);
  const [round, setRound] = useState(0);
  return (
    <>
      <WhyForm question={question} onSame={() => setRound(round + 1)} />
      {asked.route === undefined ? (
        <>
          <Empty title="Ask about any act.">
            You see every grant that was considered, and the one that would allow it.
          </Empty>
          {may("listAudit") && <LastDenials />}
        </>
      ) : (
        <Answer key={tenant} asked={asked} question={question} round={round} />
      )}
    </>
  );
}

function Answer({ asked, question, round }: { asked: Asked & { route: string }; question: Question; round: number }) {
  const key = JSON.stringify(asked);
  const explanation = useLoad((signal) => request(asked.route, asked.input, signal), [key]);
  useEffect(() => {
    if (round > 0) explanation.reload();
  }, [round]);
  const [issued, setIssued] = useState<{ key: string; id: string }>();
  const answer = useRef<HTMLDivElement>(null);
  const isAgain = issued?.key === key && !explanation.isLoading;
  // After a grant was issued, the focus moves to the new decision, for screen readers too.
  useEffect(() => {
    if (isAgain) answer.current?.querySelector("h2")?.focus();
  }, [isAgain]);
  return (
    <Show what="The explanation" of={explanation}>
      {(told) => (
        <div class="answer" ref={answer} aria-busy={explanation.isLoading}>
          {isAgain && (
            <p class="note good" role="status">
              <GrantLink id={issued.id} /> was issued. This is the decision now:
            </p>
          )}
          <Verdict explanation={told} at={asked.route === "explain" ? question.at : ""} />
          {told.suggestion !== undefined && (
            <Suggestion
              suggestion={told.suggestion}
              onIssued={(id) => {
                setIssued({ key, id });
                explanation.reload();
              }}
            />
          )}
          <LanePicture key={key} explanation={told} />
        </div>
      )}
    </Show>
  );
}
