import type { AdminOutput } from "turnpike-host/admin-contract";
import { may } from "../../shared/api.ts";
import type { Loaded } from "../../shared/load.ts";
import { addressOf } from "../../shared/place.ts";
import { Bars } from "../../parts/bars.tsx";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/states.tsx";
import { barsOf, outcomeOf, peakText, sumsOf } from "./activity.ts";

const kinds = ["allowed", "denied", "failed"] as const;

type Activity = AdminOutput<"readActivity">;

/** What was decided in the last hour and what failed, minute by minute, and why. */
export function LastHour({ activity }: { activity: Loaded<Activity> }) {
  return (
    <Panel title="The last hour">
      <Show what="activity" of={activity}>
        {(value) => <Charts {...value} />}
      </Show>
    </Panel>
  );
}

function Charts({ minutes, reasons, isPartial }: Activity) {
  const sums = sumsOf(minutes);
  const { allowed, denied, failed } = sums;
  if (allowed + denied + failed === 0) return <p class="calm">Nothing was decided in the last hour.</p>;
  return (
    <>
      {isPartial === true && <p class="hint">Only the newest of the hour were counted.</p>}
      <figure class="chart">
        <figcaption>
          <span class="key good">{allowed.toLocaleString()} allowed</span>
          <span class="key bad">{denied.toLocaleString()} denied</span>
          <span class="key wait">{failed.toLocaleString()} failed</span>
        </figcaption>
        <Bars
          summary={kinds.map((kind) => `${sums[kind]} ${kind}, ${peakText(minutes, kind)}`).join("; ")}
          bars={barsOf(minutes, kinds)}
        />
        <p class="axis" aria-hidden="true">
          <span>60 min ago</span>
          <span>30</span>
          <span>now</span>
        </p>
      </figure>
      {reasons.length > 0 && <Reasons reasons={reasons} />}
    </>
  );
}

/** Why things were denied or failed, the most frequent first. */
function Reasons({ reasons }: { reasons: Activity["reasons"] }) {
  const most = Math.max(...reasons.map(({ count }) => count));
  return (
    <div class="reasons">
      <h3>Why</h3>
      <ul>
        {reasons.slice(0, 6).map(({ reason, count }) => (
          <li key={reason}>
            {may("listAudit") ? (
              <Link to={addressOf(["trail"], { outcome: outcomeOf(reason) })}>
                <ForeignText text={reason} />
              </Link>
            ) : (
              <span>
                <ForeignText text={reason} />
              </span>
            )}
            <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
              <rect class={outcomeOf(reason)} width={(count / most) * 100} height="6" rx="1" />
            </svg>
            <span class="number">{count.toLocaleString()}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
