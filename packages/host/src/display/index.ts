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
export { capabilityText, constraintsText, grantText, needsApproval, requestText } from "./grant-text.ts";
export { hidden, unprintable } from "./hidden-characters.ts";
export {
  nameText,
  parsePrincipalText,
  parseResourceText,
  principalText,
  resourceText,
  whereText,
  whoText,
} from "./names.ts";
export { partiesText } from "./party-text.ts";
export { cutText, visibleParts, type VisiblePart, visibleText } from "./visible-text.ts";
