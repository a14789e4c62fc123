// Grants in the language of Cedar. Everything that a decision depends on is left for Cedar to find out: which place lies below
// which, what is within a delegation, which instant comes first. Only the shape of the chain is followed here.
import type {
  AccessContext,
  AuthorizationRequest,
  Capability,
  Grant,
  PrincipalRef,
} from "../../packages/turnpike/src/contracts/index.ts";

/** What Cedar is asked: a request, and the hierarchy of every place that it and the policies name. */
export interface CedarQuestion {
  readonly principal: EntityId;
  readonly action: EntityId;
  readonly resource: EntityId;
  readonly context: Readonly<Record<string, unknown>>;
  readonly entities: readonly { uid: EntityId; attrs: Record<string, never>; parents: EntityId[] }[];
}

interface EntityId {
  readonly type: string;
  readonly id: string;
}

/** One policy for each capability, because each covers a request alone. Their names begin with `grantOfPolicy`. */
export function policiesOf(grants: readonly Grant[]): Record<string, string> {
  const policies: Record<string, string> = {
    owner: "forbid (principal, action, resource) when { context has asked && context.asked != context.owner };",
  };
  for (const grant of grants) {
    const chain = chainOf(grants, grant);
    // A chain without an end gives nothing to anyone.
    if (chain === undefined) continue;
    for (const [index, capability] of grant.capabilities.entries())
      policies[JSON.stringify([grant.id, grant.namespaceId, index])] = policyOf(chain, grant, capability);
  }
  return policies;
}

/** The id of the grant that a policy was written for; undefined for the one that no grant is behind. */
export function grantOfPolicy(name: string): string | undefined {
  return name === "owner" ? undefined : (JSON.parse(name) as [string])[0];
}

/** From the grant up to its root, at most 16 links. */
function chainOf(grants: readonly Grant[], leaf: Grant): readonly Grant[] | undefined {
  const chain = [leaf];
  for (let last = leaf; last.parentId !== undefined;) {
    const parent = grants.find(({ id, namespaceId }) => id === last.parentId && namespaceId === leaf.namespaceId);
    if (parent === undefined || chain.length > 16) return undefined;
    chain.push(parent);
    last = parent;
  }
  return chain;
}

function policyOf(chain: readonly Grant[], grant: Grant, { resource, actions, scope }: Capability): string {
  const conditions = [
    `context.tenant == ${quoted(grant.namespaceId)}`,
    `context.authority == ${principal(grant.issuer)}`,
    ...(resource.owner ? [`context.owner == ${principal(resource.owner)}`] : []),
    ...chain.map(isActive),
    ...chain.slice(1).map((parent, index) => isLinkSound(chain[index] ?? grant, parent)),
  ];
  return `permit (
    principal == ${principal(grant.subject)},
    action${actions.includes("*") ? "" : ` in ${setOf(actions, (action) => `Action::${quoted(action)}`)}`},
    resource ${scope === "exact" ? "==" : "in"} ${place(resource)}
  ) when { ${all(conditions)} };`;
}

function isActive({ issuedAt, revokedAt, constraints: { purposes, notBefore, expiresAt } }: Grant): string {
  return all([
    `!${isBefore(now, instant(issuedAt))}`,
    ...(revokedAt === undefined ? [] : [isBefore(now, instant(revokedAt))]),
    ...(notBefore === undefined ? [] : [`!${isBefore(now, instant(notBefore))}`]),
    ...(expiresAt === undefined ? [] : [isBefore(now, instant(expiresAt))]),
    ...(purposes === undefined ? [] : [`${setOf(purposes, quoted)}.contains(context.purpose)`]),
  ]);
}

function isLinkSound(child: Grant, parent: Grant): string {
  const [inner, outer] = [child.constraints, parent.constraints];
  return all([
    `${principal(parent.subject)} == ${principal(child.issuer)}`,
    `${outer.delegationDepth ?? 0} > ${inner.delegationDepth ?? 0}`,
    `!(${outer.maxUses === undefined ? "{}" : `{ maxUses: ${outer.maxUses} }`} has maxUses)`,
    isWithin(outer.purposes, inner.purposes, (wide, narrow) => {
      return `${setOf(wide, quoted)}.containsAll(${setOf(narrow, quoted)})`;
    }),
    isWithin(outer.notBefore, inner.notBefore, (wide, narrow) => `!${isBefore(instant(narrow), instant(wide))}`),
    isWithin(outer.expiresAt, inner.expiresAt, (wide, narrow) => `!${isBefore(instant(wide), instant(narrow))}`),
    ...child.capabilities.map((narrow) => any(parent.capabilities.map((wide) => isCapabilityWithin(narrow, wide)))),
  ]);
}

/** What the parent limits, the child has to limit too. */
function isWithin<T>(wide: T | undefined, narrow: T | undefined, compare: (wide: T, narrow: T) => string): string {
  if (wide === undefined) return "true";
  return narrow === undefined ? "false" : compare(wide, narrow);
}

function isCapabilityWithin(narrow: Capability, wide: Capability): string {
  return all([
    `${place(narrow.resource)} ${wide.scope === "exact" ? "==" : "in"} ${place(wide.resource)}`,
    `(${quoted(wide.scope)} == "descendants" || ${quoted(narrow.scope)} == "exact")`,
    isWithin(
      wide.resource.owner,
      narrow.resource.owner,
      (outer, inner) => `${principal(outer)} == ${principal(inner)}`,
    ),
    `(${setOf(wide.actions, quoted)}.contains("*") || ${setOf(wide.actions, quoted)}.containsAll(${setOf(narrow.actions, quoted)}))`,
  ]);
}

/** The question, with what Cedar has to know about places to answer it. */
export function questionOf(
  grants: readonly Grant[],
  context: AccessContext,
  { action, resource }: AuthorizationRequest,
): CedarQuestion {
  const { at, micros } = readInstant(context.now);
  // Besides the resource itself, only what was delegated is searched below something.
  const delegated = grants.filter(({ parentId }) => parentId !== undefined).flatMap(({ capabilities }) => capabilities);
  const places = new Map([resource, ...delegated.map((each) => each.resource)].map((each) => [placeId(each), each]));
  return {
    principal: principalId(context.actor),
    action: { type: "Action", id: action },
    resource: { type: "Place", id: placeId(resource) },
    context: {
      tenant: context.namespaceId,
      authority: { __entity: principalId(context.authority) },
      owner: { __entity: principalId(context.owner) },
      ...(resource.owner && { asked: { __entity: principalId(resource.owner) } }),
      purpose: context.purpose,
      now: { __extn: { fn: "datetime", arg: at } },
      micros,
    },
    entities: Array.from(places, ([id, each]) => ({
      uid: { type: "Place", id },
      attrs: {},
      parents: placesAbove(each),
    })),
  };
}

function placesAbove({ namespace, path }: Capability["resource"]): EntityId[] {
  return path.map((_, length) => ({ type: "Place", id: placeId({ namespace, path: path.slice(0, length) }) }));
}

function placeId({ namespace, path }: { namespace: string; path: readonly string[] }): string {
  return [namespace, ...path].join("/");
}

function place(resource: Capability["resource"]): string {
  return `Place::${quoted(placeId(resource))}`;
}

function principalId(who: PrincipalRef): EntityId {
  if (who.kind === "human") return { type: "Human", id: who.userId };
  if (who.kind === "agent") return { type: "Agent", id: who.agentId };
  return who.kind === "group" ? { type: "Group", id: who.conversationId } : { type: "Service", id: who.serviceId };
}

function principal(who: PrincipalRef): string {
  const { type, id } = principalId(who);
  return `${type}::${quoted(id)}`;
}

/** Cedar knows milliseconds; what is finer is beside them. */
interface Instant {
  readonly at: string;
  readonly micros: number | string;
}

const now: Instant = { at: "context.now", micros: "context.micros" };

function instant(text: string): Instant {
  const { at, micros } = readInstant(text);
  return { at: `datetime(${quoted(at)})`, micros };
}

/** The same instant as Cedar writes it: three digits behind the second, and an offset without a colon. */
function readInstant(text: string): { at: string; micros: number } {
  const [, second, fraction = "", offset = ""] =
    /^([^.]{19})(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(text.toUpperCase()) ?? [];
  const digits = fraction.padEnd(6, "0");
  return { at: `${second}.${digits.slice(0, 3)}${offset.replace(":", "")}`, micros: Number(digits.slice(3, 6)) };
}

function isBefore(one: Instant, other: Instant): string {
  return `(${one.at} < ${other.at} || (${one.at} == ${other.at} && ${one.micros} < ${other.micros}))`;
}

function all(conditions: readonly string[]): string {
  return `(${conditions.join(" && ")})`;
}

function any(conditions: readonly string[]): string {
  return `(${conditions.join(" || ")})`;
}

function setOf(items: readonly string[], write: (item: string) => string): string {
  return `[${items.map(write).join(", ")}]`;
}

/** The names of these worlds need no escapes that Cedar writes differently. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
