import type { AdminOutput, EscalationRecord } from "turnpike-host/admin-contract";
import { request } from "../../shared/api.ts";
import { useHeldRows } from "../../shared/held-rows.ts";
import { useLoad } from "../../shared/load.ts";
import { useNow } from "../../shared/now.ts";
import { addressOf, place } from "../../shared/place.ts";
import { isAboutEscalations, useRefresh } from "../../shared/refresh.ts";
import { principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/states.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { batchesOf } from "../escalations/batch.ts";
import { BatchLink } from "../escalations/escalation-list.tsx";
import { turnAddress } from "../turns/turn-address.ts";
import { tookText } from "../turns/turn-text.ts";

/** How many are listed here. The screens list all. */
const most = 6;

/** The open escalations, each as a link. */
export function WaitingEscalations() {
  const { tenant = "" } = place.value;
  const waiting = useLoad(
    async () => (await request("listEscalations", { namespaceId: tenant, status: "pending", limit: most })).escalations,
    [tenant],
  );
  useRefresh(waiting.reload, isAboutEscalations);
  return (
    <Panel title="Questions that wait" way={<Link to={addressOf(["questions"])}>All questions</Link>}>
      <Show what="questions" of={waiting}>
        {(rows) => <EscalationRows rows={rows} />}
      </Show>
    </Panel>
  );
}

function EscalationRows({ rows: fresh }: { rows: readonly EscalationRecord[] }) {
  const { rows, hold } = useHeldRows(fresh, ({ id }) => id, "waiting");
  const now = useNow(5000);
  if (rows.length === 0) return <p class="calm">No turn waits for an answer.</p>;
  return (
    <ul class="escalation-list" {...hold}>
      {batchesOf(rows).map((batch) => (
        <li key={batch[0].id}>
          <BatchLink batch={batch} now={now} />
        </li>
      ))}
    </ul>
  );
}

type Turn = AdminOutput<"listAllTurns">["turns"][number];

/** The turns that are not over. */
export function OpenTurns() {
  const { tenant = "" } = place.value;
  const turns = useLoad(
    async () => (await request("listAllTurns", { namespaceId: tenant, status: "running,waiting", limit: most })).turns,
    [tenant],
  );
  useRefresh(turns.reload, ({ kind }) => kind === "turn");
  return (
    <Panel title="Turns that run or wait" way={<Link to={addressOf(["turns"])}>All turns</Link>}>
      <Show what="turns" of={turns}>
        {(rows) => <TurnRows rows={rows} />}
      </Show>
    </Panel>
  );
}

function TurnRows({ rows: fresh }: { rows: readonly Turn[] }) {
  const { rows, hold } = useHeldRows(fresh, turnAddress, "open");
  const now = useNow(1000);
  if (rows.length === 0) return <p class="calm">No turn runs and none waits.</p>;
  return (
    <ul class="row-list" {...hold}>
      {rows.map((turn) => (
        <li key={turnAddress(turn)}>
          <StateTag state={turn.state.status} />
          <Link to={turnAddress(turn)} class="clip">
            <ForeignText text={turn.state.executionId} />
          </Link>
          <span class="hint">
            <ForeignText text={principalText(turn.state.agent)} />
          </span>
          <span class="hint number">{tookText(turn.state, now)}</span>
        </li>
      ))}
    </ul>
  );
}
