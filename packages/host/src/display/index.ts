export {
  actRows,
  type ActRow,
  actText,
  briefText,
  placeText,
  type Requested,
  valueText,
  wantsText,
} from "./act-text.ts";
export { closedText } from "./closed-text.ts";
export { consideredText, refusalText } from "./considered-text.ts";
export { aboutText, decidedText } from "./decision-text.ts";
export { showDifference, type ShownDifference } from "./difference.ts";
export { capabilityText, constraintsText, grantText, needsApproval, requestText } from "./grant-text.ts";
export { hidden, unprintable } from "./hidden-characters.ts";
export { listText } from "./list-text.ts";
export {
  nameText,
  parsePrincipalText,
  parseResourceText,
  principalText,
  resourceText,
  whereText,
  whoText,
} from "./names.ts";
export { droppedTexts, partiesNote, partiesText } from "./party-text.ts";
export { comparisonLines, everRequestsText, everText, isOpening, regionText } from "./region-text.ts";
export { endedText, remainingId, remainingText } from "./remaining-text.ts";
export { ruleText } from "./rule-text.ts";
export { violationText } from "./violation-text.ts";
export { cutText, visibleParts, type VisiblePart, visibleText } from "./visible-text.ts";
