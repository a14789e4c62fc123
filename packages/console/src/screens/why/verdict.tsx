import type { AdminExplanation } from "turnpike-host/admin-contract";
import { instantText } from "../../shared/instants.ts";
import { addressOf } from "../../shared/place.ts";
import { principalText } from "../../shared/words.ts";
import { ForeignText } from "../../parts/foreign-text.tsx";
import { GrantLink } from "../../parts/grant-link.tsx";
import { Link } from "../../parts/link.tsx";
import { Time } from "../../parts/time.tsx";
import { actText, verdictOf } from "./reasons.ts";

/** The answer in large words, with a gate that is open, closed, or waits. */
export function Verdict({ explanation, at }: { explanation: AdminExplanation; at: string }) {
  const { decision, policy } = explanation;
  const { word, tone, reason } = verdictOf(decision);
  return (
    <section class={`verdict ${tone}`} aria-label="The decision">
      <Gate tone={tone} />
      <div>
        <h2 tabIndex={-1}>{word}</h2>
        <p class="act">
          <ForeignText text={actText(explanation)} />
        </p>
        <p>
          {reason} <span class="code">{decision.reasonCode}</span>
        </p>
        {decision.matchedGrantId !== undefined && (
          <p>
            It is carried by the grant <GrantLink id={decision.matchedGrantId} />
            {policy === "kept" && ", and the policy of this host agrees"}.
          </p>
        )}
        {at !== "" && (
          <p class="hint">As it would be decided at {instantText(at)}, with the grants that there are now.</p>
        )}
        <Advice explanation={explanation} />
      </div>
    </section>
  );
}

/** A toll gate: its bar is up, down, or on its way. */
function Gate({ tone }: { tone: "good" | "bad" | "wait" }) {
  const angle = { good: -40, wait: -16, bad: 0 }[tone];
  return (
    <svg class="gate" viewBox="0 -26 150 132" aria-hidden="true">
      <path class="road" d="M4 102H146" />
      <g transform={`rotate(${angle} 28 50)`}>
        <rect class="bar" x={28} y={44} width={112} height={12} rx={6} />
        <path class="stripes" d="M52 44l-8 12M72 44l-8 12M92 44l-8 12M112 44l-8 12M132 44l-8 12" />
      </g>
      <rect class="post" x={16} y={36} width={24} height={66} rx={5} />
      <circle class="lamp" cx={28} cy={50} r={6} />
    </svg>
  );
}

/** What the audit log says about the act, and what to do when a grant would not help. */
function Advice({
  explanation: { decision, recorded, access, toolNamespace, obstacle },
}: {
  explanation: AdminExplanation;
}) {
  const reason = [recorded?.reason, decision.reasonCode].find(
    (code) => code !== undefined && waiting[code] !== undefined,
  );
  return (
    <>
      {recorded !== undefined && (
        <p>
          In the audit log <Time at={recorded.at} />:{" "}
          <ForeignText text={[recorded.tool, recorded.reason].filter(Boolean).join(", ")} />.{" "}
          <ForeignText text={hiddenText(recorded.metadata?.["hidden"], principalText(access.actor), toolNamespace)} />{" "}
          {recorded.metadata?.["hidden"] === "namespace-disabled" && <Link to={addressOf(["tools"])}>Tools</Link>}{" "}
          <Link to={addressOf(["trail", "trace", recorded.traceId])}>The whole trace</Link>
        </p>
      )}
      {reason !== undefined && (
        <p>
          <Link to={addressOf(["questions"], { status: waiting[reason] })}>See the questions</Link>
        </p>
      )}
      {obstacle !== undefined && (
        <p class="note">
          <ForeignText text={obstacle} />
        </p>
      )}
    </>
  );
}

/** Which questions are meant, by the reason. */
const waiting: Readonly<Record<string, string>> = {
  approval_required: "pending",
  approval_denied: "denied",
  approval_expired: "expired",
};

/** Why a tool was not offered to the caller, as the audit log has it. */
function hiddenText(hidden: unknown, actor: string, toolNamespace: string | undefined): string {
  switch (hidden) {
    case "not-registered":
      return "This host has no such tool.";
    case "namespace-disabled":
      return `Its namespace${toolNamespace === undefined ? "" : ` ${toolNamespace}`} is off for ${actor}: switch it on under Tools.`;
    case "not-granted":
      return "No grant reaches into what the tool needs.";
    default:
      return "";
  }
}
