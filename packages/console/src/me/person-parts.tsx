import type { AuditEvent } from "turnpike/contracts";
import type { PersonConnection, PersonQuestion } from "turnpike-host/admin-contract";
import { aboutText, actRows, capabilityText, constraintsText, principalText, wantsText } from "turnpike-host/display";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Facts } from "../parts/facts.tsx";
import { ForeignText, LongText } from "../parts/foreign-text.tsx";
import { Panel } from "../parts/panel.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { change, read } from "./person-api.ts";
import { type Asked, textOf, useAsked } from "./use-asked.ts";

const mostShown = 600;

/** A part of the page: what was read, or why there is nothing. */
function Part<Answer>({
  title,
  of: { value, problem, again },
  children,
}: {
  title: string;
  of: Asked<Answer>;
  children: (value: Answer) => ComponentChildren;
}) {
  return (
    <Panel title={title}>
      {problem !== undefined && <Problem text={problem} again={again} />}
      {value === undefined ? problem === undefined && <Loading what={title} /> : children(value)}
    </Panel>
  );
}

/** A button that changes something, and then has the part read again. */
function ChangeButton({
  act,
  then,
  kind = "",
  children,
}: {
  act: () => Promise<unknown>;
  then: () => void;
  kind?: "main" | "danger" | "";
  children: ComponentChildren;
}) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    await act().then(then, (error: unknown) => setProblem(textOf(error)));
    setBusy(false);
  };
  return (
    <>
      <button type="button" class={`button ${kind}`} disabled={isBusy} aria-busy={isBusy} onClick={() => void run()}>
        {children}
      </button>
      {problem !== undefined && <Problem text={problem} />}
    </>
  );
}

/** What waits for the person's answer: all that would be done with their authority. */
export function Questions() {
  const asked = useAsked(read.questions);
  return (
    <Part title="Questions" of={asked}>
      {({ questions, approvalsNeeded }) =>
        questions.length === 0 ? (
          <Empty title="Nothing waits for your answer." />
        ) : (
          questions.map((question) => (
            <Question key={question.id} of={question} needed={approvalsNeeded} again={asked.again} />
          ))
        )
      }
    </Part>
  );
}

function Question({ of, needed, again }: { of: PersonQuestion; needed: number; again: () => void }) {
  const { id, ask, requester, purpose, reason, approval, requestedAt, expiresAt } = of;
  return (
    <article class="card" aria-label={`${principalText(requester)} asks`}>
      <h3>
        <ForeignText text={`${principalText(requester)} wants to ${wantsText(of)}`} />
      </h3>
      <p>
        <LongText text={reason} most={mostShown} />
      </p>
      {approval !== undefined && (
        <Facts
          of={actRows(approval.act).map(({ name, value }) => [
            name,
            <LongText key={name} text={value} most={mostShown} />,
          ])}
        />
      )}
      <p class="hint">
        For <ForeignText text={purpose} />, asked <Time at={requestedAt} />, can be answered until{" "}
        <Time at={expiresAt} />.{needed > 1 && " Another person has to allow it, too."}
      </p>
      <div class="answers">
        <ChangeButton kind="main" act={() => change.answer(id, ask, "allow")} then={again}>
          Allow
        </ChangeButton>
        <ChangeButton act={() => change.answer(id, ask, "deny")} then={again}>
          Deny
        </ChangeButton>
      </div>
    </article>
  );
}

/** Who acts for the person, and what each may do. */
export function Connections() {
  const asked = useAsked(read.connections);
  return (
    <Part title="Agents and apps" of={asked}>
      {({ connections }) =>
        connections.length === 0 ? (
          <Empty title="No one acts for you." />
        ) : (
          connections.map((connection) => (
            <Connection key={principalText(connection.subject)} of={connection} again={asked.again} />
          ))
        )
      }
    </Part>
  );
}

function Connection({ of: { subject, client, grants }, again }: { of: PersonConnection; again: () => void }) {
  const name = client?.name ?? principalText(subject);
  return (
    <article class="card" aria-label={name}>
      <h3>
        <ForeignText text={name} />
      </h3>
      {client !== undefined && (
        <p class="hint">
          <ForeignText text={`${principalText(subject)}, answered at ${client.redirect}`} />, since{" "}
          <Time at={client.since} />
          {client.lastUsedAt !== undefined && (
            <>
              , last used <Time at={client.lastUsedAt} />
            </>
          )}
        </p>
      )}
      <ul>
        {grants.map(({ id, capabilities, constraints, issuedAt }) => (
          <li key={id}>
            <ForeignText text={capabilities.map(capabilityText).join("; ")} />{" "}
            <span class="hint">
              since <Time at={issuedAt} />
              {Object.keys(constraints).length > 0 && <ForeignText text={`, ${constraintsText(constraints)}`} />}
            </span>
          </li>
        ))}
      </ul>
      <div class="answers">
        <ChangeButton kind="danger" act={() => change.disconnect(subject)} then={again}>
          Disconnect
        </ChangeButton>
      </div>
    </article>
  );
}

/** What the person did, and what was done with their authority. */
export function OwnLog() {
  const [older, setOlder] = useState<{ events: readonly AuditEvent[]; cursor?: string }>();
  const asked = useAsked(() => read.auditLog());
  return (
    <Part title="What was done for you" of={asked}>
      {(first) => {
        const events = [...first.events, ...(older?.events ?? [])];
        const cursor = older === undefined ? first.cursor : older.cursor;
        const more = async (): Promise<void> => {
          const page = await read.auditLog(cursor);
          setOlder({ ...page, events: [...(older?.events ?? []), ...page.events] });
        };
        return (
          <>
            {events.length === 0 && <Empty title="Nothing yet." />}
            <ul>
              {events.map((event) => (
                <li key={event.id}>
                  <Time at={event.at} /> <ForeignText text={eventText(event)} />
                </li>
              ))}
            </ul>
            {cursor !== undefined && (
              <ChangeButton act={more} then={() => {}}>
                Show older
              </ChangeButton>
            )}
          </>
        );
      }}
    </Part>
  );
}

function eventText(event: AuditEvent): string {
  const { actor, tool, outcome, reason } = event;
  const about = [tool, aboutText(event)].filter((part) => part !== undefined && part !== "").join(", ");
  return `${principalText(actor)}: ${about === "" ? event.type : about} (${outcome}${reason === undefined ? "" : `, ${reason}`})`;
}

/** Where the person is signed in. */
export function Sessions() {
  const asked = useAsked(read.sessions);
  return (
    <Part title="Sessions" of={asked}>
      {({ sessions }) =>
        sessions.map(({ id, createdAt, expiresAt, isThis }) => (
          <article key={id} class="card" aria-label={isThis ? "This browser" : "Another browser"}>
            <h3>{isThis ? "This browser" : "Another browser"}</h3>
            <p class="hint">
              Signed in <Time at={createdAt} />, until <Time at={expiresAt} />.
            </p>
            {!isThis && (
              <div class="answers">
                <ChangeButton kind="danger" act={() => change.endSession(id)} then={asked.again}>
                  End
                </ChangeButton>
              </div>
            )}
          </article>
        ))
      }
    </Part>
  );
}
