import type { Capability, Grant, PrincipalRef } from "../../src/contracts/index.ts";
import type { Random } from "../random.ts";

/** The instant around which everything happens, in microseconds since 1970. */
export const base = Date.parse("2026-02-01T09:00:00Z") * 1000;
const second = 1_000_000;
const day = 86_400 * second;

export const tenants = ["demo", "other"] as const;
export const resourceNamespaces = ["files", "file", "mail"] as const;
export const segments = ["a", "ab", "b", "b c"] as const;
export const actions = ["read", "write", "list"] as const;
export const purposes = ["help", "helper", "audit"] as const;
/** Equal ids of different kinds on purpose. */
export const principals: readonly [PrincipalRef, ...PrincipalRef[]] = [
  { kind: "human", userId: "x" },
  { kind: "agent", agentId: "x" },
  { kind: "human", userId: "agent" },
  { kind: "agent", agentId: "human" },
  { kind: "service", serviceId: "x" },
  { kind: "group", conversationId: "x:y" },
];

/** A grant whose instants are still numbers. */
export interface Draft {
  id: string;
  namespaceId: string;
  subject: PrincipalRef;
  issuer: PrincipalRef;
  capabilities: Capability[];
  purposes?: string[] | undefined;
  notBefore?: number | undefined;
  expiresAt?: number | undefined;
  maxUses?: number | undefined;
  delegationDepth?: number | undefined;
  issuedAt: number;
  revokedAt?: number | undefined;
  parentId?: string | undefined;
}

/** Who passes the authority on to whom: `holders[0]` issues the first grant, the last one holds the last. */
export interface ChainPlan {
  readonly idPrefix: string;
  readonly namespaceId: string;
  readonly owner: PrincipalRef;
  readonly holders: readonly PrincipalRef[];
}

/** A chain of grants, first the root, in which every link holds at `base`, for most purposes. */
export function draftChain(random: Random, { idPrefix, namespaceId, owner, holders }: ChainPlan): Draft[] {
  const chain: Draft[] = [];
  for (let index = 0; index + 1 < holders.length; index += 1) {
    const below = holders.length - 2 - index;
    const parent = chain.at(-1);
    const identity = {
      id: `${idPrefix}${below === 0 ? "" : `-${below}`}`,
      namespaceId,
      issuer: holders[index] ?? owner,
      subject: holders[index + 1] ?? owner,
    };
    const drafted = parent ? narrowed(random, parent, owner) : draftRoot(random, owner);
    chain.push({ ...drafted, ...identity, ...depth(random, below, parent), ...(parent && { parentId: parent.id }) });
  }
  return chain;
}

type Terms = Omit<Draft, "id" | "namespaceId" | "subject" | "issuer" | "delegationDepth" | "parentId">;

function draftRoot(random: Random, owner: PrincipalRef): Terms {
  const capabilities = Array.from({ length: 1 + random.below(3) }, () => draftCapability(random, owner));
  return {
    capabilities,
    issuedAt: base - random.pick([0, 1, day]),
    ...(random.chance(0.3) && { purposes: random.some(purposes) }),
    ...(random.chance(0.3) && { notBefore: base - random.pick([0, 0, 1, second, day]) }),
    ...(random.chance(0.5) && { expiresAt: base + random.pick([1, 2, second, day]) }),
    ...(random.chance(0.1) && { revokedAt: base + random.pick([1, second, day]) }),
  };
}

function draftCapability(random: Random, owner: PrincipalRef): Capability {
  const namespace = random.chance(0.7) ? "files" : random.pick(resourceNamespaces);
  const path = Array.from({ length: random.below(4) }, () => random.pick(segments));
  const who = random.chance(0.9) ? owner : random.pick(principals);
  return {
    resource: { namespace, path, ...(random.chance(0.5) && { owner: who }) },
    actions: random.chance(0.2) ? ["*"] : random.some(actions),
    scope: random.pick(["exact", "descendants", "descendants"]),
    ...(random.chance(0.15) && { approval: "each" }),
  };
}

/** Terms within the parent's. */
function narrowed(random: Random, parent: Draft, owner: PrincipalRef): Terms {
  const allowedPurposes = parent.purposes ?? purposes;
  return {
    capabilities: random.some(parent.capabilities).map((capability) => narrowedCapability(random, capability, owner)),
    issuedAt: base - random.pick([0, 1, day]),
    ...((parent.purposes || random.chance(0.15)) && { purposes: random.some(allowedPurposes) }),
    ...((parent.notBefore !== undefined || random.chance(0.2)) && {
      notBefore: Math.min(base, (parent.notBefore ?? base - day) + random.pick([0, 0, 1])),
    }),
    ...((parent.expiresAt !== undefined || random.chance(0.2)) && {
      expiresAt: Math.max(base + 1, (parent.expiresAt ?? base + day) - random.pick([0, 0, 1])),
    }),
  };
}

function narrowedCapability(
  random: Random,
  { resource, actions: outer, scope, approval }: Capability,
  owner: PrincipalRef,
): Capability {
  const below = scope === "descendants" && random.chance(0.4) ? [random.pick(segments)] : [];
  return {
    resource: {
      ...resource,
      path: [...resource.path, ...below],
      ...(random.chance(0.2) && { owner: resource.owner ?? owner }),
    },
    actions: outer.includes("*") ? random.some([...actions, "*"]) : random.some(outer),
    scope: scope === "exact" || random.chance(0.2) ? "exact" : "descendants",
    ...((approval !== undefined || random.chance(0.05)) && { approval: "each" }),
  };
}

function depth(random: Random, below: number, parent: Draft | undefined): Pick<Draft, "delegationDepth"> {
  if (below === 0 && random.chance(0.5)) return {};
  const most = parent ? (parent.delegationDepth ?? 0) - 1 : below + random.below(3);
  return { delegationDepth: below + random.below(most - below + 1) };
}

/** Every way in which one link of a chain can be unsound, and two or three in which it only seems so. */
export const breaks: readonly ((child: Draft, parent: Draft, random: Random) => void)[] = [
  (child) => void (child.parentId = "gone"),
  (_, parent, random) => void (parent.revokedAt = base - random.pick([0, 1, day])),
  (_, parent) => void Object.assign(parent, { expiresAt: base, notBefore: undefined }),
  (_, parent) => void (parent.issuedAt = base + 1),
  (_, parent) => void Object.assign(parent, { notBefore: base + 1, expiresAt: undefined }),
  (_, parent, random) => void (parent.purposes = [random.pick(purposes)]),
  (_, parent, random) => void (parent.subject = random.pick(principals)),
  (_, parent) => void (parent.namespaceId = parent.namespaceId === "demo" ? "other" : "demo"),
  (_, parent, random) => void (parent.delegationDepth = random.pick([0, undefined])),
  (child, parent) => void (child.delegationDepth = parent.delegationDepth),
  (child, parent) => void (child.delegationDepth = (parent.delegationDepth ?? 0) + 1),
  (_, parent) => void (parent.maxUses = 5),
  (child) => void firstOf(child).actions.push("purge"),
  (child) => void (firstOf(child).actions = ["*"]),
  (child) => void (firstOf(child).resource.path = firstOf(child).resource.path.slice(0, -1)),
  (child, parent) => {
    const { resource } = firstOf(parent);
    firstOf(child).resource = { ...resource, path: [...resource.path.slice(0, -1), `${resource.path.at(-1) ?? "a"}b`] };
  },
  (child, parent) => {
    for (const { resource } of parent.capabilities) resource.path = [...firstOf(child).resource.path, "a"];
  },
  (child, parent) => {
    Object.assign(firstOf(child), { resource: structuredClone(firstOf(parent).resource), scope: "descendants" });
    firstOf(parent).scope = "exact";
  },
  (child) => void (firstOf(child).resource.namespace = "mail"),
  (child, parent) => {
    for (const capability of parent.capabilities) capability.approval = "each";
    delete firstOf(child).approval;
  },
  (child, parent, random) => {
    for (const { resource } of parent.capabilities) resource.owner = random.pick(principals);
    delete firstOf(child).resource.owner;
  },
  (child, parent, random) => {
    for (const { resource } of parent.capabilities) resource.owner = random.pick(principals);
    firstOf(child).resource.owner = random.pick(principals);
  },
  (child, parent) => void Object.assign(child, { purposes: undefined }, (parent.purposes = [...purposes])),
  (child, parent) => {
    parent.purposes = ["help", "audit"];
    child.purposes = ["help", "helper"];
  },
  (child, parent) => {
    parent.expiresAt = base + second;
    child.expiresAt = parent.expiresAt + 1;
  },
  (child, parent) => {
    parent.expiresAt = base + second;
    child.expiresAt = undefined;
  },
  (child, parent) => {
    parent.notBefore = base - second;
    child.notBefore = parent.notBefore - 1;
  },
  (child, parent) => {
    parent.notBefore = base - second;
    child.notBefore = undefined;
  },
  (child, parent) => {
    const { resource, scope } = firstOf(child);
    firstOf(child).actions = ["read", "write"];
    parent.capabilities = [
      { resource: structuredClone(resource), scope, actions: ["read"] },
      { resource: structuredClone(resource), scope, actions: ["write", "list"] },
    ];
  },
  (child, parent) => void (parent.parentId = child.id),
  (child) => void (child.parentId = child.id),
];

function firstOf({ capabilities }: Draft): Capability {
  const [first] = capabilities;
  if (!first) throw new Error("A draft has a capability.");
  return first;
}

/** Every way in which a grant does not fit the contract that a source may still answer with. */
export const malformations: readonly [(grant: Grant) => Grant, ...((grant: Grant) => Grant)[]] = [
  (grant) => ({ ...grant, capabilities: [] }),
  (grant) => ({ ...grant, issuedAt: "yesterday" }),
  (grant) => ({ ...grant, revokedAt: "2026-02-01" }),
  (grant) => ({ ...grant, admin: true }) as Grant,
  (grant) => ({ ...grant, constraints: { maxUses: 0 } }),
  (grant) => ({ ...grant, constraints: { purposes: [] } }),
  (grant) => ({ ...grant, constraints: { delegationDepth: -1 } }),
  (grant) => ({ ...grant, constraints: { notBefore: "2026-02-01T10:00:00Z", expiresAt: "2026-02-01T10:59:59+01:00" } }),
  (grant) => ({
    ...grant,
    capabilities: [{ resource: { namespace: "files", path: ["a", ".."] }, actions: ["read"], scope: "exact" }],
  }),
];

/** The draft as a grant: absent fields are absent, and instants are written in one of the many ways there are. */
export function writeGrant(random: Random, draft: Draft): Grant {
  const { id, namespaceId, subject, issuer, issuedAt, revokedAt, parentId } = draft;
  const at = (instant: number): string => writeInstant(random, instant);
  return {
    id,
    namespaceId,
    subject,
    issuer,
    capabilities: structuredClone(draft.capabilities),
    constraints: {
      ...(draft.purposes && { purposes: [...draft.purposes] }),
      ...(draft.notBefore !== undefined && { notBefore: at(draft.notBefore) }),
      ...(draft.expiresAt !== undefined && { expiresAt: at(draft.expiresAt) }),
      ...(draft.maxUses !== undefined && { maxUses: draft.maxUses }),
      ...(draft.delegationDepth !== undefined && { delegationDepth: draft.delegationDepth }),
    },
    issuedAt: at(issuedAt),
    ...(revokedAt !== undefined && { revokedAt: at(revokedAt) }),
    ...(parentId !== undefined && { parentId }),
  };
}

/** An instant as RFC 3339 has it: any offset, any number of digits that suffices, either case. */
export function writeInstant(random: Random, instant: number): string {
  const offset = random.chance(0.5) ? 0 : random.below(2 * 1439 + 1) - 1439;
  const local = Math.floor(instant / 1000) + offset * 60_000;
  const digits = String(((instant % second) + second) % second).padStart(6, "0");
  const fraction = random.pick([digits.replace(/0+$/, ""), digits, `${digits}000`]);
  const distance = Math.abs(offset);
  const zone =
    offset === 0 && random.chance(0.8) ? "Z" : `${offset < 0 ? "-" : "+"}${two(distance / 60)}:${two(distance % 60)}`;
  const text = `${new Date(local).toISOString().slice(0, 19)}${fraction && `.${fraction}`}${zone}`;
  return random.chance(0.1) ? text.toLowerCase() : text;
}

function two(count: number): string {
  return String(Math.floor(count)).padStart(2, "0");
}
