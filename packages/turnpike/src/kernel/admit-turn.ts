import { samePrincipal, type AccessContext, type DiscoveryContext, type ToolDescriptor } from "../contracts/index.ts";
import { record, type AuditFacts } from "./audit.ts";
import type { AuthorityView } from "./authority.ts";
import type { Gate } from "./authorize.ts";
import { isLive, instantOf } from "./candidates.ts";
import { acceptContext } from "./context.ts";
import type { EffectOptions } from "./effect.ts";
import { visibleTools, type Listing, type Listings } from "./list-tools.ts";
import { frozenReachOf } from "./reach.ts";
import { areAllValid, grantStatus, type GrantStatus } from "./grant-status.ts";
import { isUnavailable, resolveCatalog, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";
import type { AdmissionRecord } from "./call-check.ts";
import { openScope, type TurnScope } from "./turn-scope.ts";
import { resume, admit, refused, type EarlierRun, type TurnRefusal, type TurnSubject } from "./turn-admission.ts";

/** A turn that asks to run. */
export interface TurnToAdmit extends TurnSubject {
  /** The tools to offer; those the context cannot use are left out. All visible ones when absent. */
  tools?: readonly ToolDescriptor[] | undefined;
  /** The earlier runs of a turn that is resumed. */
  resumes?: EarlierRun | undefined;
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
  const result = turn.resumes
    ? await resume(gate, accepted, turn, turn.resumes, options)
    : await admit(gate, accepted, turn, options);
  if (result.kind === "refused") return result;

  const { context: trusted, view, request, grant } = result;
  const listing = listingOf(listings, turn.tools, trusted);
  const catalog = listing?.catalog ?? (await resolveCatalog(registry, gate.ports, trusted, signal));
  const instant = instantOf(trusted);
  const judged = await grantStatus(gate.ports, view, instant, signal);
  const visible = toolsToOffer(turn.tools, listing, view, catalog, trusted, judged);
  if (visible === undefined) return refused("authority_unavailable");
  const before = turn.resumes?.isAnswered === false ? turn.resumes.admission?.tools : undefined;
  const { tools, missing } = toolsSince(before, visible, catalog);
  const reach = frozenReachOf(view, instant, judged);
  signal.throwIfAborted();
  const metadata = turn.resumes && { goesOn: turn.resumes.isAnswered ? "answered" : "interrupted" };
  const started = (): AuditFacts => ({ type: "turn.started", outcome: "allowed", ...(metadata && { metadata }) });
  if (!(await record(gate.ports, trusted, started, signal, options))) return refused("audit_unavailable");
  const excluded = new Set([...judged.invalid, ...judged.unknown.keys()]);
  const admitted = { authority: view.current, instant: result.since, excluded };
  const running = {
    gate,
    context: trusted,
    basis: { request, grant, admitted },
    catalog,
    missing,
    registry,
    isOpen: true,
    mayHaveTakenEffect: turn.resumes?.mayHaveTakenEffect === true,
    mustEnd: undefined,
  };
  const admission = (): AdmissionRecord => {
    const counting = view.current.grants.filter((one) => isLive(one, instant) && !excluded.has(one));
    const grants = counting.map((one) => one.grant.id);
    const names = [...tools.map(({ name }) => name), ...missing];
    const namespaces = [...trusted.enabledToolNamespaces];
    return { at: result.at, grantId: grant.grant.id, grants, namespaces, tools: names };
  };
  return { kind: "admitted", scope: openScope(running, admission, tools, reach) };
}

/**
 * The tools of a resumed turn: those of the visible ones that it had before. `missing` are the names of tools that it had before
 * and whose provider has not answered; the provider is asked again at each call.
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

/** How a list of tools was made; undefined unless it was made for the same access. */
function listingOf(
  listings: Listings,
  tools: readonly ToolDescriptor[] | undefined,
  context: AccessContext,
): Listing | undefined {
  const known = tools && listings.get(tools);
  return known !== undefined && isSameAccess(known.context, context) ? known : undefined;
}

/**
 * Those of the tools asked for that are visible; undefined when that cannot be established. A list that was made of the same
 * grants at the same instant needs no second check when all of these grants are valid.
 */
function toolsToOffer(
  asked: readonly ToolDescriptor[] | undefined,
  listing: Listing | undefined,
  view: AuthorityView,
  catalog: ToolCatalog,
  context: AccessContext,
  judged: GrantStatus,
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
