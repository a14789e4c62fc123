import type { Invariant, RuledActs } from "turnpike/kernel";
import { listText } from "./list-text.ts";
import { nameText, parseResourceText, whereText } from "./names.ts";

/** What a rule about grants says: `agent:* may not export crm/customers/**, unless for support`. */
export function ruleText({ never, only, separate }: Pick<Invariant, "never" | "only" | "separate">): string {
  if (never !== undefined) {
    const { subject, unless } = never;
    const who = subject === undefined ? "no principal may" : `${nameText(subject)} may not`;
    return `${who} ${actsText(never)}${unless === undefined ? "" : `, unless ${unlessText(unless)}`}`;
  }
  if (only !== undefined)
    return `only ${listText(
      only.subjects.map((subject) => nameText(subject)),
      "or",
    )} may ${actsText(only)}`;
  return `no principal may both ${listText((separate?.acts ?? []).map(actsText))}`;
}

function actsText({ action, resource }: RuledActs): string {
  const place = parseResourceText(resource);
  const where = place === undefined ? nameText(resource) : whereText(place, "/**");
  return `${action === undefined ? "do anything in" : nameText(action)} ${where}`;
}

function unlessText({ approval, purpose, authority }: NonNullable<NonNullable<Invariant["never"]>["unless"]>): string {
  const conditions = [
    ...(approval === undefined ? [] : ["with a person's approval each time"]),
    ...(purpose === undefined ? [] : [`for ${nameText(purpose)}`]),
    ...(authority === undefined ? [] : [`on grants of ${nameText(authority)}`]),
  ];
  return listText(conditions);
}
