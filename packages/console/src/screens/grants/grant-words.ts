import type { GrantEntry } from "turnpike-host/management";
import type { Capability, Constraints, Grant } from "turnpike/contracts";
import { momentText } from "../../base/moments.ts";
import { count, listText, principalText, resourceText } from "../../base/words.ts";

/** What one capability allows, as a sentence without its subject. */
export function capabilityWords({ actions, resource, scope, approval }: Capability): string {
  const what = actions.includes("*") ? "do anything with" : listText(actions);
  const where = scope === "descendants" ? `${resourceText(resource)} and everything below it` : resourceText(resource);
  const whose = resource.owner === undefined ? "" : ` of ${principalText(resource.owner)}`;
  const needs = approval === undefined ? "" : ", each time only after a person said yes";
  return `${what} ${where}${whose}${needs}`;
}

/** The terms of a grant, each with its name. */
export function termsOf(
  { purposes, notBefore, expiresAt, maxUses, delegationDepth }: Constraints,
  used = 0,
): [name: string, text: string | undefined][] {
  return [
    ["Purposes", purposes === undefined ? "any" : listText(purposes, "or")],
    ["Begins", notBefore && momentText(notBefore)],
    ["Ends", expiresAt === undefined ? "never" : momentText(expiresAt)],
    ["Uses", maxUses === undefined ? "not counted" : `${used} of ${maxUses}`],
    ["Passing on", depthText(delegationDepth)],
  ];
}

function depthText(depth = 0): string {
  if (depth === 0) return "not allowed";
  return depth === 1 ? "once" : `up to ${depth} times in a row`;
}

/** The terms in one line, those that say nothing left out. */
export function termsText(
  { purposes, notBefore, expiresAt, maxUses, delegationDepth }: Constraints,
  used?: number,
): string {
  const parts = [
    purposes && `for ${listText(purposes, "or")}`,
    notBefore && `from ${momentText(notBefore)}`,
    expiresAt && `until ${momentText(expiresAt)}`,
    maxUses !== undefined && `${used === undefined ? "" : `${used} of `}${count(maxUses, "use")}`,
    delegationDepth ? `passed on ${depthText(delegationDepth)}` : undefined,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Whether something of the grant needs a yes each time. */
export function asksEachTime({ capabilities }: Pick<Grant, "capabilities">): boolean {
  return capabilities.some(({ approval }) => approval === "each");
}

/** What each state of a grant means. */
export const stateWords: Readonly<Record<GrantEntry["state"], string>> = {
  live: "It counts now.",
  future: "It does not count yet.",
  expired: "Its time is over.",
  revoked: "Somebody took it back.",
  exhausted: "It has been used as often as it may be.",
  invalid: "Something above it in its chain no longer holds.",
  unknown: "Whether it counts could not be read.",
};

/** The states in the order of filters and legends. */
export const grantStates = Object.keys(stateWords) as GrantEntry["state"][];
