import type { AuditEvent, PrincipalRef } from "turnpike/contracts";
import { may } from "../../shared/api.ts";
import { addressOf } from "../../shared/place.ts";
import { principalText, resourceText } from "../../shared/words.ts";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { ForeignValue } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { whyAddress } from "../why-address.ts";
import type { LogRow } from "./log-filter.ts";

/** All that the audit log has of one event, with the ways to what it names. */
export function EventDetails({ row: { strand, sequence, event } }: { row: LogRow }) {
  const { metadata, executionId, grantId, traceId } = event;
  const escalation = metadata?.["escalation"];
  return (
    <div class="event-details">
      <p class="ways">
        <Link to={addressOf(["trail", "trace", traceId])}>The whole trace</Link>
        {grantId !== undefined && <Link to={addressOf(["grants", grantId])}>The grant</Link>}
        {executionId !== undefined && <Link to={addressOf(["turns", executionId])}>The turn</Link>}
        {typeof escalation === "string" && <Link to={addressOf(["questions", escalation])}>The question</Link>}
        {event.outcome === "denied" && may("explainDenial") && <Link to={whyAddress(event)}>Why?</Link>}
        <Link to={addressOf(["trail"], { actor: principalText(event.actor) })}>Only this actor</Link>
        <Link to={addressOf(["trail"], { type: event.type, outcome: event.outcome })}>Only such events</Link>
      </p>
      <Facts of={[...factsOf(event), ["Row", `${sequence} of strand ${strand}`]]} />
      {metadata !== undefined && (
        <>
          <p class="hint">More that was recorded with it</p>
          <ForeignValue value={metadata} />
        </>
      )}
    </div>
  );
}

function factsOf(event: AuditEvent): Fact[] {
  const who = (principal: PrincipalRef | undefined): string | undefined => principal && principalText(principal);
  const { resource } = event;
  const owner = resource?.owner && ` of ${principalText(resource.owner)}`;
  return [
    ["When", event.at],
    ["Type", event.type],
    ["Outcome", event.outcome],
    ["Reason", event.reason],
    ["Actor", who(event.actor)],
    ["With the authority of", who(event.authority)],
    ["Owner", who(event.owner)],
    ["Purpose", event.purpose],
    ["Action", event.action],
    ["Resource", resource && `${resourceText(resource)}${owner ?? ""}`],
    ["Tool", event.tool],
    ["Receiver", who(event.receiver)],
    ["Grant", event.grantId],
    ["Turn", event.executionId],
    ["Operation", event.operationId],
    ["Message", event.messageId],
    ["Trace", event.traceId],
    ["Event", event.id],
  ];
}
