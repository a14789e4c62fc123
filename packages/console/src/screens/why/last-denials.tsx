import { useRead } from "../../shared/load.ts";
import { place } from "../../shared/place.ts";
import { aboutText, principalText, visibleText } from "../../shared/words.ts";
import { Link } from "../../parts/link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { whyAddress } from "../why-address.ts";

/** What was denied last, each a click away from why. */
export function LastDenials() {
  const { tenant = "" } = place.value;
  const denied = useRead("listAudit", {
    namespaceId: tenant,
    type: "authorization.checked",
    outcome: "denied",
    limit: 5,
  });
  return (
    <Show what="The last denials" of={denied}>
      {({ events }) =>
        events.length > 0 && (
          <Panel title="Denied lately">
            <ul class="plain-list">
              {events.map(({ strand, sequence, event }) => (
                <li key={`${strand}.${sequence}`}>
                  <Link to={whyAddress({ ...event, traceId: undefined })}>
                    {visibleText(`${principalText(event.actor)} ${aboutText(event)}`)}
                  </Link>{" "}
                  <span class="hint">
                    <Time at={event.at} /> {event.reason}
                  </span>
                </li>
              ))}
            </ul>
          </Panel>
        )
      }
    </Show>
  );
}
