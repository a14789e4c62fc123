import { useRead } from "../../base/load.ts";
import { place } from "../../base/place.ts";
import { principalText, resourceText, visibleText } from "../../base/words.ts";
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
                    {visibleText(
                      `${principalText(event.actor)} ${event.action ?? ""} ${event.resource ? resourceText(event.resource) : ""}`,
                    )}
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
