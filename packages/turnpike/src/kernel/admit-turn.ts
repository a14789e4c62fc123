import { samePrincipal, type AccessContext, type DiscoveryContext, type ToolDescriptor } from "../contracts/index.ts";
import { record, type AuditFacts } from "./audit.ts";
import type { AuthorityView } from "./authority.ts";
import type { Gate } from "./authorize.ts";
import { isLive, momentOf } from "./candidates.ts";
import { acceptContext } from "./context.ts";
import type { EffectOptions } from "./effect.ts";
import { visibleTools, type Listing, type Listings } from "./list-tools.ts";
import { frozenReachOf } from "./reach.ts";
import { areAllValid, standing, type Standing } from "./standing.ts";
import { isUnavailable, resolveCatalog, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";
import type { AdmissionRecord } from "./turn-entry.ts";
import { openScope, type TurnScope } from "./turn-scope.ts";
import { letGoOn, letIn, refused, type EarlierRun, type TurnRefusal, type TurnSubject } from "./turn-way.ts";

/** A turn that asks to run. */
export interface TurnToAdmit extends TurnSubject {
  /** The tools to offer; those the context cannot use are left out. All visible ones when absent. */
  tools?: readonly ToolDescriptor[] | undefined;
  /** Of a turn that ran before. */
  goesOn?: EarlierRun | undefined;
}

/** Whether the turn may run. */
export type TurnAdmission = { kind: "admitted"; scope: TurnScope } | TurnRefusal;

/** Everything a turn scope is made of. */
export interface TurnSetting {
  gate: Gate;
  registry: ToolRegistry;
  listings: Listings;
}

/** Consumes the capability to run the agent, and opens the scope of its turn. */
export async function admitTurn(
  { gate, registry, listings }: TurnSetting,
  context: AccessContext,
  turn: TurnToAdmit,
  options: EffectOptions,
): Promise<TurnAdmission> {
  const { signal } = options;
  signal.throwIfAborted();
  const accepted = acceptContext(context);
  if (accepted === undefined) return refused("invalid_context");
  const way = turn.goesOn
    ? await letGoOn(gate, accepted, turn, turn.goesOn, options)
    : await letIn(gate, accepted, turn, options);
  if (way.kind === "refused") return way;

  const { context: trusted, view, request, grant } = way;
  const listing = listingOf(listings, turn.tools, trusted);
  const catalog = listing?.catalog ?? (await resolveCatalog(registry, gate.ports, trusted, signal));
  const moment = momentOf(trusted);
  const judged = await standing(gate.ports, view, moment, signal);
  const visible = toolsToOffer(turn.tools, listing, view, catalog, trusted, judged);
  if (visible === undefined) return refused("authority_unavailable");
  const before = turn.goesOn?.isAnswered === false ? turn.goesOn.admission?.tools : undefined;
  const { tools, missing } = toolsSince(before, visible, catalog);
  const reach = frozenReachOf(view, moment, judged);
  signal.throwIfAborted();
  const metadata = turn.goesOn && { goesOn: turn.goesOn.isAnswered ? "answered" : "interrupted" };
  const started = (): AuditFacts => ({ type: "turn.started", outcome: "allowed", ...(metadata && { metadata }) });
  if (!(await record(gate.ports, trusted, started, signal, options))) return refused("audit_unavailable");
  const excluded = new Set([...judged.invalid, ...judged.unknown.keys()]);
  const admitted = { authority: view.current, moment: way.since, excluded };
  const running = {
    gate,
    context: trusted,
    basis: { request, grant, admitted },
    catalog,
    missing,
    registry,
    isOpen: true,
    mayHaveTakenEffect: turn.goesOn?.mayHaveTakenEffect === true,
    mustEnd: undefined,
  };
  const admission = (): AdmissionRecord => {
    const counting = view.current.grants.filter((one) => isLive(one, moment) && !excluded.has(one));
    const grants = counting.map((one) => one.grant.id);
    const names = [...tools.map(({ name }) => name), ...missing];
    const namespaces = [...trusted.enabledToolNamespaces];
    return { at: way.at, grantId: grant.grant.id, grants, namespaces, tools: names };
  };
  return { kind: "admitted", scope: openScope(running, admission, tools, reach) };
}

/**
 * Of the tools that are visible, those that a turn had before it was interrupted: it gets no others. And the names of those that
 * it had and whose provider has not answered: they are not lost.
 */
function toolsSince(
  before: readonly string[] | undefined,
  visible: readonly ToolDescriptor[],
  catalog: ToolCatalog,
): { tools: readonly ToolDescriptor[]; missing: ReadonlySet<string> } {
  if (before === undefined) return { tools: visible, missing: new Set() };
  const names = new Set(before);
  return {
    tools: Object.freeze(visible.filter(({ name }) => names.has(name))),
    missing: new Set(before.filter((name) => isUnavailable(catalog, name))),
  };
}

/** What a list was made of, when it was made for this very access. */
function listingOf(
  listings: Listings,
  tools: readonly ToolDescriptor[] | undefined,
  context: AccessContext,
): Listing | undefined {
  const known = tools && listings.get(tools);
  return known !== undefined && isSameAccess(known.context, context) ? known : undefined;
}

/**
 * The visible tools, of those that were asked for; undefined when they cannot be established. A list that was made of the
 * same grants at the same moment is all visible when each of these grants is valid.
 */
function toolsToOffer(
  asked: readonly ToolDescriptor[] | undefined,
  listing: Listing | undefined,
  view: AuthorityView,
  catalog: ToolCatalog,
  context: AccessContext,
  judged: Standing,
): readonly ToolDescriptor[] | undefined {
  const isStillTrue = listing?.authority === view.current && listing.context.now === context.now && areAllValid(judged);
  if (isStillTrue) return asked;
  const visible = visibleTools(view, catalog, context, judged);
  return visible && asked ? offered(visible, asked) : visible;
}

function isSameAccess(one: DiscoveryContext, other: DiscoveryContext): boolean {
  return (
    one.namespaceId === other.namespaceId &&
    one.purpose === other.purpose &&
    one.traceId === other.traceId &&
    samePrincipal(one.actor, other.actor) &&
    samePrincipal(one.owner, other.owner) &&
    one.authority !== undefined &&
    other.authority !== undefined &&
    samePrincipal(one.authority, other.authority) &&
    areEqual(one.enabledToolNamespaces, other.enabledToolNamespaces)
  );
}

function areEqual(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((name, place) => name === other[place]));
}

function offered(visible: readonly ToolDescriptor[], asked: readonly ToolDescriptor[]): readonly ToolDescriptor[] {
  const names = new Set(asked.map((tool) => tool.name));
  return Object.freeze(visible.filter((tool) => names.has(tool.name)));
}
