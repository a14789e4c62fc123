import { visibleText } from "turnpike-host/display";
import type { ResourceRef } from "turnpike/contracts";

export {
  aboutText,
  capabilityText,
  comparisonLines,
  decidedText,
  everRequestsText,
  grantText,
  listText,
  needsApproval,
  parsePrincipalText as principalOf,
  partiesNote,
  partiesText,
  principalText,
  requestText,
  resourceText,
  ruleText,
  violationText,
  visibleText,
} from "turnpike-host/display";

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
