import type { Budget, Capability, Constraints, Grant, ResourceRef } from "turnpike/contracts";
import { nameText, whereText } from "./names.ts";

/** What is done where, and to whose resource: `read files/notes of human:alice`. */
export function requestText({ action, resource }: { action: string; resource: ResourceRef }): string {
  return `${nameText(action)} ${whereText(resource)}`;
}

/** What a capability allows: `read,list files/notes/** of human:alice (needs approval)`. */
export function capabilityText({ actions, resource, scope, approval }: Capability): string {
  const where = whereText(resource, scope === "descendants" ? "/**" : "");
  const needs = approval === undefined ? "" : " (needs approval)";
  return `${actions.map((action) => nameText(action)).join(",")} ${where}${needs}`;
}

/** What a grant allows, without its terms. */
export function grantText({ capabilities }: Pick<Grant, "capabilities">): string {
  return capabilities.map(capabilityText).join("; ");
}

/** Whether something of a grant needs a person's approval each time. */
export function needsApproval({ capabilities }: Pick<Grant, "capabilities">): boolean {
  return capabilities.some(({ approval }) => approval !== undefined);
}

/** A budget as commands read it: `EUR 20 per day, 5 each`. */
export function budgetText({ unit, limit, per, each }: Budget): string {
  return [`${unit} ${limit}`, per && ` per ${per}`, each && `, ${each} each`].join("");
}

/** The terms of a grant: purposes, times, uses, budgets and delegation, those that say nothing left out. */
export function constraintsText(
  { purposes, notBefore, expiresAt, maxUses, budgets = [], delegationDepth }: Constraints,
  { used, instant = (at) => at }: { used?: number | undefined; instant?: (at: string) => string } = {},
): string {
  const parts = [
    purposes && `for ${purposes.map((purpose) => nameText(purpose)).join(" or ")}`,
    notBefore && `from ${instant(notBefore)}`,
    expiresAt && `until ${instant(expiresAt)}`,
    maxUses !== undefined && (maxUses === 1 ? "1 use" : `${maxUses} uses`),
    ...budgets.map(budgetText),
    delegationDepth !== undefined && `delegable ${delegationDepth}`,
    used !== undefined && `${used} used`,
  ];
  return parts.filter((part) => typeof part === "string").join(", ");
}
