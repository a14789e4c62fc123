import { useEffect, useState } from "preact/hooks";
import type { AdminOutput } from "turnpike-host/admin-contract";
import type { TurnResult } from "turnpike/contracts";
import { may, request } from "../../shared/api.ts";
import { useLoad, useRead } from "../../shared/load.ts";
import { useNow } from "../../shared/now.ts";
import { addressOf, place } from "../../shared/place.ts";
import { isAboutEscalations, useRefresh } from "../../shared/refresh.ts";
import { partiesText, principalText } from "../../shared/words.ts";
import { ActionButton } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Facts } from "../../parts/facts.tsx";
import { ForeignText, ForeignValue } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/states.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { Timeline } from "./timeline.tsx";
import { actSteps, costText, decisionsOf, stepsOf, totalsOf } from "./turn-steps.ts";
import { isOver, tookText } from "./turn-text.ts";

type Turn = AdminOutput<"inspectTurn">;

/** One turn: its state, what it came to, and everything that happened in it, live while it runs. */
export function TurnView({ executionId, actor }: { executionId: string; actor: string | undefined }) {
  const { tenant = "" } = place.value;
  const turn = useRead("inspectTurn", { namespaceId: tenant, executionId, actor });
  useRefresh(turn.reload, (event) => event.kind === "turn" && event.executionId === executionId);
  return (
    <>
      <nav class="back" aria-label="Back">
        <Link to={addressOf(["turns"])}>All turns</Link>
      </nav>
      <h1 class="clip">
        <ForeignText text={executionId} />
      </h1>
      <Show what="This turn" of={turn}>
        {(value) => <TurnDetail turn={value} onChange={turn.reload} />}
      </Show>
    </>
  );
}

function TurnDetail({ turn, onChange }: { turn: Turn; onChange(): void }) {
  const { actor, state, events, hostId, isAsync, namespaceId } = turn;
  const now = useNow(1000);
  const decided = useLoad(
    async () =>
      may("listAudit") ? (await request("listAudit", { namespaceId, traceId: state.traceId, limit: 500 })).events : [],
    [namespaceId, state.traceId],
  );
  useEffect(() => {
    if (decided.value !== undefined) decided.reload();
  }, [events.length]);
  const audited = (decided.value ?? []).map(({ event }) => event);
  const decisions = decisionsOf(audited);
  const own = audited.filter((event) => principalText(event.actor) === principalText(actor));
  const { input, output, cost, denied } = totalsOf(stepsOf(events, state.status));
  return (
    <>
      <div class="turn-head">
        <StateTag state={state.status} />
        <span>
          {isOver(state) ? "took" : "for"} {tookText(state, now)}
        </span>
        {!isOver(state) && may("cancelAnyTurn") && <CancelTurn turn={turn} onDone={onChange} />}
      </div>
      {state.status === "waiting" && <WaitsFor turn={turn} />}
      <Facts
        of={[
          ["Agent", principalText(state.agent)],
          ["Started by", [principalText(actor), partiesText(turn)].filter(Boolean).join(", ")],
          ["Started", <Time at={state.startedAt} />],
          ["Steps", state.steps],
          ["Tool calls", `${state.toolCalls}${denied > 0 ? `, ${denied} denied` : ""}`],
          ["Tokens", input + output > 0 ? `${input} in, ${output} out` : undefined],
          ["Cost", costText(cost) || undefined],
          ["Runs", isAsync ? "without its caller" : "while its caller waits"],
          ["On host", hostId],
          ["Trace", <TraceLink id={state.traceId} />],
        ]}
      />
      <Panel title="What happened">
        <Timeline
          events={events}
          state={state}
          acts={actSteps(own, events, state.status)}
          decisions={decisions}
          now={now}
        />
      </Panel>
      {state.result !== undefined && <Result result={state.result} />}
    </>
  );
}

function Result({ result }: { result: TurnResult }) {
  if (result.status === "escalated") return null;
  if (result.status === "succeeded")
    return (
      <Panel title="What it came to">
        <ForeignValue value={result.output} />
      </Panel>
    );
  const { code, message } = result.error ?? { code: "turn_cancelled", message: "The turn was cut short." };
  return (
    <p class="problem">
      <code>{code}</code> <ForeignText text={message} />
    </p>
  );
}

/** The escalation that a turn waits for, one click away. */
function WaitsFor({ turn: { namespaceId, actor, state } }: { turn: Turn }) {
  const waiting = useLoad(
    async () => (await request("listEscalations", { namespaceId, status: "pending", limit: 500 })).escalations,
    [namespaceId],
  );
  useRefresh(waiting.reload, isAboutEscalations);
  const escalation = waiting.value?.find(
    ({ executionId, requester }) =>
      executionId === state.executionId && principalText(requester) === principalText(actor),
  );
  return (
    <p class="note wait">
      <span>
        It waits for an answer: <ForeignText text={state.escalation?.reason ?? ""} />
      </span>
      {escalation !== undefined && (
        <Link to={addressOf(["questions", escalation.id])} class="button main">
          Open the question
        </Link>
      )}
    </p>
  );
}

function CancelTurn({ turn: { namespaceId, actor, state }, onDone }: { turn: Turn; onDone(): void }) {
  const [isAsking, setAsking] = useState(false);
  const { executionId } = state;
  const cancel = async (): Promise<void> => {
    await request("cancelAnyTurn", { namespaceId, executionId, actor: principalText(actor) });
    setAsking(false);
    onDone();
  };
  return (
    <>
      <button type="button" class="button danger" onClick={() => setAsking(true)}>
        Cancel the turn
      </button>
      {isAsking && (
        <Dialog title="Cancel this turn?" onClose={() => setAsking(false)}>
          <div class="form">
            <p>
              <ForeignText text={executionId} /> ends before its next step. What it has done stays done.
            </p>
            <div class="actions">
              <ActionButton kind="danger" act={cancel}>
                Cancel the turn
              </ActionButton>
              <button type="button" class="button" onClick={() => setAsking(false)}>
                Let it go on
              </button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

function TraceLink({ id }: { id: string }) {
  return (
    <Link to={addressOf(["trail", "trace", id])}>
      <ForeignText text={id} />
    </Link>
  );
}
