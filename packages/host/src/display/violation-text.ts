import type { Counterexample, Violation } from "turnpike/kernel";
import { requestText } from "./grant-text.ts";
import { listText } from "./list-text.ts";
import { nameText, whoText } from "./names.ts";

/** What breaks a rule: `no-agents: agent:a may read crm/eu of human:b, on grants of human:b, for any, 2026-01-01T12:00:00.000Z, by g1`. */
export function violationText(
  { invariant, grantIds, counterexample }: Violation,
  { instant = (at: string) => at }: { instant?: (at: string) => string } = {},
): string {
  const [first] = counterexample;
  const acts = listText(counterexample.map(actText));
  const may = first === undefined ? "" : `: ${whoText(first.actor)} may ${acts}, ${instant(first.at)}`;
  return `${nameText(invariant)}${may}, by ${listText(grantIds.map((id) => nameText(id)))}`;
}

function actText({ action, resource, owner, authority, purpose }: Counterexample): string {
  const what = requestText({ action, resource: { ...resource, owner } });
  return `${what}, on grants of ${whoText(authority)}, for ${nameText(purpose)}`;
}
