import { visibleText, whoText } from "turnpike-host/display";
import type { PrincipalRef, ResourceRef } from "turnpike/contracts";

export {
  capabilityText,
  grantText,
  needsApproval,
  parsePrincipalText as principalOf,
  principalText,
  requestText,
  resourceText,
  visibleText,
} from "turnpike-host/display";

/** Who tried something as somebody else, or asked about it, as an escalation and the trail say it; empty when nobody did. */
export function partiesText({ triedBy, askedBy }: { triedBy?: unknown; askedBy?: unknown } = {}): string {
  const said = (how: string, parties: unknown): string => {
    const all = parties === undefined ? [] : ([parties].flat() as { actor: PrincipalRef }[]);
    return all.length === 0 ? "" : `${how} ${all.map(({ actor }) => whoText(actor)).join(" and ")}`;
  };
  return [said("tried by", triedBy), said("asked by", askedBy)].filter(Boolean).join(", ");
}

/** The resource of a `namespace/step/step`. */
export function resourceOf(text: string): ResourceRef {
  const [namespace = "", ...path] = text
    .trim()
    .split("/")
    .filter((step) => step !== "");
  return { namespace, path };
}

/** A name inside a text that has no elements, such as an option: shown as everywhere, and in a direction of its own. */
export function isolatedText(text: string): string {
  const shown = visibleText(text);
  return /^\p{ASCII}*$/u.test(shown) ? shown : `\u2068${shown}\u2069`;
}

/** A number with the word for what is counted. */
export function count(number: number, what: string): string {
  return `${number.toLocaleString()} ${what}${number === 1 ? "" : "s"}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listText(words: readonly string[], last = "and"): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
