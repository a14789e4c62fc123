import type { CredentialRecord } from "turnpike-host/admin-contract";
import type { ToolDescriptor, ToolResult } from "turnpike/contracts";
import { request } from "../../shared/api.ts";
import { useLoad } from "../../shared/load.ts";
import { addressOf } from "../../shared/place.ts";
import { principalText } from "../../shared/words.ts";
import { ForeignText, ForeignValue } from "../../parts/foreign-text.tsx";
import { Link } from "../../parts/link.tsx";
import { Loading } from "../../parts/states.tsx";
import { StateTag } from "../../parts/tag.tsx";
import { Time } from "../../parts/time.tsx";
import { whyAddress } from "../why-address.ts";

interface Answer {
  tenant: string;
  credential: CredentialRecord;
  purpose: string | undefined;
  tool: ToolDescriptor;
  result: ToolResult;
}

/** What became of a call: its output, or why there is none. */
export function ToolAnswer(answer: Answer) {
  const { result } = answer;
  return (
    <div class="tool-answer" role="status">
      <p>
        <StateTag state={result.status} /> <Time at={result.completedAt} />
      </p>
      {result.status === "succeeded" ? (
        <ForeignValue value={result.output} />
      ) : (
        <p>
          <code>
            <ForeignText text={result.error.code} />
          </code>{" "}
          <ForeignText text={result.error.message} />
        </p>
      )}
      {result.status === "denied" && <WhyDenied {...answer} />}
    </div>
  );
}

/** How far back the decision is searched for: it has just been written. */
const recent = 100;

/** The way to the explanation, with what exactly was refused if the audit log says so, and at most what the tool needs if not. */
function WhyDenied({ tenant, credential: { access }, purpose = access.purposes[0], tool, result }: Answer) {
  const actor = principalText(access.actor);
  const decision = useLoad(async () => {
    const filter = { namespaceId: tenant, actor, outcome: "denied", limit: recent };
    const { events } = await request("listAudit", filter);
    const own = events.map(({ event }) => event).filter(({ operationId }) => operationId === result.callId);
    return own.find(({ type }) => type === "authorization.checked") ?? own[0];
  }, [result.callId]);
  // Before the audit log has answered, the link would name the tool's ceiling and not the refused request.
  if (decision.isLoading) return <Loading what="the decision" />;
  const { action, resource } = tool.requiredCapability;
  const event = decision.value;
  const act = { actor: access.actor, authority: access.authority, owner: access.owner, purpose, action, resource };
  return (
    <p class="ways">
      <Link
        to={whyAddress({
          ...act,
          traceId: event?.traceId,
          ...(event?.resource && { action: event.action, resource: event.resource }),
        })}
      >
        Why?
      </Link>
      <Link
        to={event ? addressOf(["trail", "trace", event.traceId]) : addressOf(["trail"], { actor, outcome: "denied" })}
      >
        In the audit log
      </Link>
    </p>
  );
}
