import { may } from "../../shared/api.ts";
import { useRead } from "../../shared/load.ts";
import { addressOf, place } from "../../shared/place.ts";
import { useRefresh } from "../../shared/refresh.ts";
import { session } from "../../shared/session.ts";
import { Link } from "../../parts/link.tsx";
import { sumsOf } from "./activity.ts";
import { LastHour } from "./last-hour.tsx";
import { AuditHeads, Hosts } from "./machine-panels.tsx";
import { StoryPanel } from "./story-panel.tsx";
import { OpenTurns, WaitingEscalations } from "./waiting-panels.tsx";
import { WithdrawnTools } from "./withdrawn-tools.tsx";

/** How things are, at a glance. */
export function NowScreen() {
  const { tenant = "" } = place.value;
  const activity = useRead("readActivity", { namespaceId: tenant });
  useRefresh(activity.reload, () => true);
  const { value } = activity;
  const sums = value && sumsOf(value.minutes);
  const isDemo = session.current.value?.host.isDemo === true;
  return (
    <>
      <h1>Now</h1>
      <ul class="tiles" aria-label="At a glance">
        <Tile name="Questions waiting" count={value?.waiting} tone="wait" to={addressOf(["questions"])} />
        <Tile name="Turns running" count={value?.turns.running} tone="accent" to={turns("running")} />
        <Tile name="Turns waiting" count={value?.turns.waiting} tone="wait" to={turns("waiting")} />
        <Tile name="Allowed, last hour" count={sums?.allowed} tone="good" to={logAddress("allowed")} />
        <Tile name="Denied, last hour" count={sums?.denied} tone="bad" to={logAddress("denied")} />
        <Tile name="Failed, last hour" count={sums?.failed} tone="wait" to={logAddress("failed")} />
      </ul>
      <WithdrawnTools />
      {isDemo && may("startTrialTurn") && <StoryPanel />}
      <div class="board">
        <div class="board-column">
          <WaitingEscalations />
          {may("listAllTurns") && <OpenTurns />}
        </div>
        <div class="board-column">
          <LastHour activity={activity} />
          <div class="board-small">
            {may("listHosts") && <Hosts />}
            {may("readAuditHeads") && <AuditHeads />}
          </div>
        </div>
      </div>
    </>
  );
}

function turns(status: string): string | undefined {
  return may("listAllTurns") ? addressOf(["turns"], { status }) : undefined;
}

function logAddress(outcome: string): string | undefined {
  return may("listAudit") ? addressOf(["trail"], { outcome }) : undefined;
}

/** One number. Its colour is for numbers that are not 0. */
function Tile({
  name,
  count,
  tone,
  to,
}: {
  name: string;
  count: number | undefined;
  tone: string;
  to: string | undefined;
}) {
  const inside = (
    <>
      <span class={count === undefined || count === 0 ? "tile-count" : `tile-count ${tone}`}>
        {count === undefined ? "–" : count.toLocaleString()}
      </span>
      <span class="tile-name">{name}</span>
    </>
  );
  return (
    <li>
      {to === undefined ? (
        <span class="tile">{inside}</span>
      ) : (
        <Link to={to} class="tile">
          {inside}
        </Link>
      )}
    </li>
  );
}
