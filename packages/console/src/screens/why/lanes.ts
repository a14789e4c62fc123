import type { AdminExplanation } from "turnpike-host/admin-contract";
import type { Grant } from "turnpike/contracts";
import { consideredText } from "turnpike-host/display";
import { instantText } from "../../shared/instants.ts";

/** The conditions that a grant has to meet, in the order in which they are checked, and the codes of failing each. */
const conditions: readonly { title: string; codes: readonly string[] }[] = [
  { title: "Holder", codes: [] },
  { title: "In force", codes: ["not-issued", "not-yet-valid", "expired", "revoked"] },
  { title: "Purpose", codes: ["purpose"] },
  { title: "Namespace", codes: ["namespace"] },
  { title: "Owner", codes: ["owner"] },
  { title: "Action", codes: ["action"] },
  { title: "Path", codes: ["path"] },
  { title: "Admitted", codes: ["not-admitted"] },
  { title: "Chain", codes: ["delegation_chain_invalid", "delegation_chain_unverified"] },
  { title: "Policy", codes: ["host_policy_denied", "host_policy_unavailable"] },
  { title: "Uses", codes: ["grant_exhausted", "usage_store_unavailable"] },
  {
    title: "Approval",
    codes: ["approval_required", "approval_denied", "approval_expired", "permit_store_unavailable"],
  },
];

/** Up to here everything is compared at once; what comes behind is checked only for a grant that is tried. */
const compared = conditions.findIndex(({ title }) => title === "Path") + 1;

/** One condition as a grant met it. */
export interface Step {
  title: string;
  state: "met" | "failed" | "open";
}

/** How far one grant came on its way from the actor to the act. */
export interface Lane {
  grant: Grant;
  outcome: "carries" | "stopped" | "not needed";
  steps: readonly Step[];
  /** The title of the condition that stopped it. */
  stop: string | undefined;
  because: string;
}

/** The grants that were considered: the one that carries the act first, then those that came furthest. */
export function lanesOf(explanation: AdminExplanation): Lane[] {
  const { grants, decision } = explanation;
  // Whether a grant was there when a turn began is asked inside of a turn alone.
  const isInTurn = grants.some(({ failed }) => failed === "not-admitted");
  const asked = conditions.filter(({ title }) => isInTurn || title !== "Admitted");
  return grants
    .map((considered) => {
      const { grant, failed } = considered;
      const isCarrier = failed === undefined && grant.id === decision.matchedGrantId;
      const place = failed === undefined ? -1 : asked.findIndex(({ codes }) => codes.includes(failed));
      const met = isCarrier ? asked.length : failed === undefined ? compared : Math.max(place, 0);
      const steps = asked.map(({ title }, at) => ({ title, state: stateAt(at, met, place) }));
      const outcome = isCarrier ? "carries" : failed === undefined ? "not needed" : "stopped";
      const stop = failed === undefined ? undefined : (asked[place]?.title ?? failed);
      return {
        lane: { grant, outcome, steps, stop, because: consideredText(considered, explanation, instantText) } as const,
        met,
      };
    })
    .toSorted((one, other) => other.met - one.met)
    .map(({ lane }) => lane);
}

function stateAt(at: number, met: number, failed: number): Step["state"] {
  if (at === failed) return "failed";
  return at < met ? "met" : "open";
}
