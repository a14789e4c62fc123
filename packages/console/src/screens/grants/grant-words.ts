import { constraintsText } from "turnpike-host/display";
import type { GrantEntry } from "turnpike-host/admin-contract";
import type { Constraints } from "turnpike/contracts";
import { instantText } from "../../shared/instants.ts";
import { listText } from "../../shared/words.ts";

/** The terms of a grant, each with its name. */
export function termsOf(
  { purposes, notBefore, expiresAt, maxUses, delegationDepth }: Constraints,
  used = 0,
): [name: string, text: string | undefined][] {
  return [
    ["Purposes", purposes === undefined ? "any" : listText(purposes, "or")],
    ["Begins", notBefore && instantText(notBefore)],
    ["Ends", expiresAt === undefined ? "never" : instantText(expiresAt)],
    ["Uses", maxUses === undefined ? "not counted" : `${used} of ${maxUses}`],
    ["Passing on", depthText(delegationDepth)],
  ];
}

function depthText(depth = 0): string {
  if (depth === 0) return "not allowed";
  return depth === 1 ? "once" : `up to ${depth} times in a row`;
}

/** The terms in one line, as the command writes them, by the operator's clock. */
export function termsText(constraints: Constraints, used?: number): string {
  return constraintsText(constraints, { used, instant: instantText });
}

/** What each state of a grant means. */
export const stateWords: Readonly<Record<GrantEntry["state"], string>> = {
  live: "It counts now.",
  future: "It does not count yet.",
  expired: "Its time is over.",
  revoked: "It was revoked.",
  exhausted: "It has been used as often as it may be.",
  invalid: "Something above it in its chain no longer holds.",
  unknown: "Whether it counts could not be read.",
};

/** The states in the order of filters and legends. */
export const grantStates = Object.keys(stateWords) as GrantEntry["state"][];
