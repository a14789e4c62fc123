import type { PrincipalRef } from "turnpike/contracts";
import type { Among, ChangedRegion, GrantComparison, Region, Terms } from "turnpike/kernel";
import { listText } from "./list-text.ts";
import { budgetText } from "./grant-text.ts";
import { nameText, whereText, whoText } from "./names.ts";

/** Instants as the reader wants them, and since when requests count: what holds since then says nothing of its beginning. */
interface RegionTextOptions {
  at?: string | undefined;
  instant?: (at: string) => string;
}

/** What a region lets happen: `agent:a may read files/notes/** of any owner, on grants of human:alice, for any purpose`. */
export function regionText(region: Region, options: RegionTextOptions = {}): string {
  return `${requestsText(region, options)}${termsText(region.terms)}`;
}

/** Requests that could ever be carried, by any principal where the subject is `*`. */
type EverShown = Omit<Region, "subject"> & { subject: PrincipalRef | "*" };

/** What could ever happen, and by which way: `agent:a may read files/** ...: if it is handed on, by grant-1`. */
export function everText(
  { how, way, ...region }: EverShown & { how: string; way: string[] },
  options: RegionTextOptions = {},
): string {
  const by = way.length === 0 ? "" : `by ${way.map((id) => nameText(id)).join(" > ")}`;
  // What needs approval says so in its terms, unless it was only requested so far.
  const ends = { held: by, derived: `if it is handed on, ${by}`, approval: by === "" ? "once it is approved" : by };
  const end = Object.hasOwn(ends, how) ? ends[how as keyof typeof ends] : `${how} ${by}`;
  return `${everRequestsText(region, options)}: ${end}`;
}

/** The same without the way. */
export function everRequestsText({ subject, ...region }: EverShown, options: RegionTextOptions = {}): string {
  const who = subject === "*" ? "any principal" : whoText(subject);
  return `${who} may ${permittedText(region, options)}${termsText(region.terms)}`;
}

/** How a region changes: the requests, and the terms that were and are. */
function changedRegionText(region: ChangedRegion, options: RegionTextOptions = {}): string {
  const [was, is] = [region.was, region.terms].map(
    (terms) => termsText(terms).replace(/^, /, "") || "without conditions",
  );
  return `${requestsText(region, options)}: ${is}, and it was ${was}`;
}

/** What a change of grants does for all requests, in lines. */
export function comparisonLines(
  { opened, closed, changed, more }: GrantComparison,
  options: RegionTextOptions = {},
): string[] {
  const [wider, others] = [changed.filter((one) => one.wider === true), changed.filter((one) => one.wider !== true)];
  const lines = [
    ...under(
      "Opened:",
      opened.map((region) => regionText(region, options)),
    ),
    ...under(
      "No longer needs approval:",
      wider.map((region) => changedRegionText(region, options)),
    ),
    ...under(
      "Closed:",
      closed.map((region) => regionText(region, options)),
    ),
    ...under(
      "On other terms:",
      others.map((region) => changedRegionText(region, options)),
    ),
    ...(more === true ? ["There is more than this."] : []),
  ];
  return lines.length === 0 ? ["For all requests, now and later, nothing opens, closes or changes."] : lines;
}

/** Whether a change of grants allows something that was not allowed, or may do so beyond what was said. */
export function isOpening({ opened, changed, more }: GrantComparison): boolean {
  return more === true || opened.length > 0 || changed.some(({ wider }) => wider === true);
}

function under(heading: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [heading, ...lines.map((line) => `  ${line}`)];
}

function requestsText(region: Region, options: RegionTextOptions): string {
  return `${whoText(region.subject)} may ${permittedText(region, options)}`;
}

function permittedText(region: Omit<Region, "subject">, { at, instant = (text) => text }: RegionTextOptions): string {
  const { authority, namespace, path, scope, except = [], actions, owner, purposes, from, until } = region;
  const place = (one: { path: string[]; scope: string }): string =>
    whereText({ namespace, path: one.path }, one.scope === "descendants" ? "/**" : "");
  const parts = [
    `${actionsText(actions)} ${place({ path, scope })}`,
    except.length === 0 ? "" : ` except ${listText(except.map(place))}`,
    ` of ${amongText(owner, whoText, "any owner")}`,
    `, on grants of ${whoText(authority)}`,
    `, for ${amongText(purposes, (purpose) => nameText(purpose), "any purpose")}`,
    from === undefined || from === at ? "" : `, from ${instant(from)}`,
    until === undefined ? "" : `, until ${instant(until)}`,
  ];
  return parts.join("");
}

function actionsText(actions: Among<string>): string {
  if (Array.isArray(actions)) return listText(actions.map((action) => nameText(action)));
  return `${amongText(actions, (action) => nameText(action), "do anything")} in`;
}

function amongText<Value extends string | PrincipalRef>(
  among: Among<Value>,
  text: (value: Value) => string,
  all: string,
): string {
  if (Array.isArray(among)) return listText(among.map(text), "or");
  return among.not.length === 0 ? all : `${all} but ${listText(among.not.map(text))}`;
}

function termsText(terms: readonly Terms[]): string {
  const texts = terms.map(({ approval, maxUses, budgets = [] }) => {
    const uses = maxUses === undefined ? [] : [maxUses === 1 ? "once" : `at most ${maxUses} times`];
    const spent = budgets.map((budget) => `for ${budgetText(budget)}`);
    return [...uses, ...spent, ...(approval === undefined ? [] : ["with a person's approval each time"])].join(" and ");
  });
  return texts.every((text) => text !== "") && texts.length > 0 ? `, ${listText(texts, "or")}` : "";
}
