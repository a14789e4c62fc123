import type { AccessContext, AuthorizationRequest, Grant } from "../../src/contracts/index.ts";
import { instant, isSame } from "./naive-authorizer.ts";
import { createRandom, type Random } from "../random.ts";
import {
  actions,
  base,
  breaks,
  draftChain,
  malformations,
  principals,
  purposes,
  resourceNamespaces,
  segments,
  tenants,
  writeGrant,
  writeInstant,
  type Draft,
} from "./grants.ts";

/** Grants and the health of every port, as data. */
export interface World {
  readonly seed: number;
  readonly home: Pick<AccessContext, "namespaceId" | "actor" | "authority" | "owner">;
  /** `anyone` ignores who asks, `any issuer` ignores the authority: both answer with more than was asked for. */
  readonly source: "frozen" | "fresh" | "anyone" | "any issuer" | "down" | "nonsense";
  readonly find: "works" | "absent";
  /** By grant id: how `find` fails on it. */
  readonly findFaults: Map<string, FindFault>;
  readonly usage: "counts" | "partly down" | "down" | "nonsense" | "absent";
  /** By tenant and grant id: the uses that count. */
  readonly used: Map<string, number>;
  readonly policy: "absent" | "by request";
  /** `asks` has an approval of everything under one of the grants. */
  readonly permits: "absent" | "asks" | "down";
  readonly grants: Grant[];
}

type FindFault = "throws" | "other id" | "malformed" | "null";

/** One thing that is asked of a kernel. */
export interface Step {
  readonly kind: "authorize" | "execute";
  readonly context: AccessContext;
  readonly request: AuthorizationRequest;
}

/** Uses are counted per grant and tenant. */
export function usageKey(namespaceId: string, grantId: string): string {
  return JSON.stringify([namespaceId, grantId]);
}

/** The world of this seed; the same seed makes the same world, and `random` continues from there. */
export function createWorld(seed: number, overrides: Partial<World> = {}): { world: World; random: Random } {
  const random = createRandom(seed);
  const home = {
    namespaceId: random.pick(tenants),
    actor: random.pick(principals),
    authority: random.pick(principals),
    owner: random.pick(principals),
  };
  const world: World = {
    seed,
    home,
    source: weighted(random, { frozen: 86, fresh: 4, anyone: 2, "any issuer": 4, down: 2, nonsense: 2 }),
    find: random.chance(0.94) ? "works" : "absent",
    findFaults: new Map(),
    usage: weighted(random, { counts: 76, "partly down": 8, down: 5, nonsense: 5, absent: 6 }),
    used: new Map(),
    policy: random.chance(0.5) ? "absent" : "by request",
    permits: weighted(random, { absent: 10, asks: 80, down: 10 }),
    grants: [],
    ...overrides,
  };
  const chains = 3 + random.below(4);
  for (let index = 0; index < chains; index += 1) addChain(world, random, `g${index}`);
  if (random.chance(0.03)) spoilOne(world, random);
  return { world, random };
}

function weighted<K extends string>(random: Random, weights: Readonly<Record<K, number>>): K {
  const bag = Object.entries<number>(weights).flatMap(([name, weight]) => Array<string>(weight).fill(name));
  return random.pickFrom(bag) as K;
}

/** Adds a chain of 1 to 5 grants, now and then of 17 or 18, and breaks it in one way now and then. */
export function addChain(world: World, random: Random, idPrefix: string): void {
  const { home, grants } = world;
  const isAtHome = random.chance(0.85);
  const links = random.chance(0.55) ? 0 : 1 + random.below(4);
  const holders = [
    ...Array.from({ length: random.chance(0.02) ? 16 + random.below(2) : links }, () => random.pick(principals)),
    isAtHome || random.chance(0.5) ? home.authority : random.pick(principals),
    isAtHome || random.chance(0.5) ? home.actor : random.pick(principals),
  ];
  const namespaceId = isAtHome ? home.namespaceId : random.pick(tenants);
  // Two grants may share an id across tenants, never within one.
  const prefix = namespaceId === home.namespaceId ? idPrefix : "g0";
  const chain = draftChain(random, { idPrefix: prefix, namespaceId, owner: home.owner, holders });
  if (random.chance(0.45)) breakLink(world, random, chain);
  const leaf = chain.at(-1);
  if (leaf && random.chance(0.25)) bound(world, random, leaf);
  if (leaf && random.chance(0.12)) age(random, leaf);
  for (const draft of random.chance(0.5) ? chain : chain.toReversed()) {
    if (!grants.some(({ id, namespaceId: tenant }) => id === draft.id && tenant === draft.namespaceId)) {
      grants.push(asStored(world, writeGrant(random, draft)));
    }
  }
}

/** Frozen to the last leaf, except by a source that promises nothing. */
function asStored({ source }: World, grant: Grant): Grant {
  return source === "fresh" ? grant : freeze(grant);
}

function freeze<T extends object>(value: T): T {
  for (const each of Object.values(value)) if (typeof each === "object" && each !== null) freeze(each);
  return Object.freeze(value);
}

function breakLink(world: World, random: Random, chain: readonly Draft[]): void {
  const index = 1 + random.below(chain.length - 1);
  const child = chain[index];
  const parent = chain[index - 1];
  if (!child || !parent) return;
  const fault = random.pick<FindFault>(["throws", "other id", "malformed", "null"]);
  if (random.chance(0.2)) world.findFaults.set(parent.id, fault);
  else random.pickFrom(breaks)?.(child, parent, random);
}

function bound({ used }: World, random: Random, draft: Draft): void {
  draft.maxUses = 1 + random.below(4);
  const count = random.chance(0.4) ? draft.maxUses + random.below(2) : random.below(draft.maxUses);
  if (count > 0) used.set(usageKey(draft.namespaceId, draft.id), count);
}

/** Moves one of its bounds close to `base`, on either side. */
function age(random: Random, draft: Draft): void {
  const near = base + random.pick([-1_000_000, -1, 0, 0, 1, 1000]);
  const field = random.pick(["issuedAt", "notBefore", "expiresAt", "revokedAt"] as const);
  if (field === "notBefore") draft.expiresAt = undefined;
  if (field === "expiresAt") draft.notBefore = undefined;
  draft[field] = near;
}

function spoilOne(world: World, random: Random): void {
  const { grants } = world;
  const index = random.below(grants.length);
  const grant = grants[index];
  if (grant) grants[index] = asStored(world, random.pick(malformations)(grant));
}

/** A step that some grant of the world would probably allow, turned a little now and then. */
export function nextStep(world: World, random: Random): Step {
  const grant = random.pickFrom(heldAtHome(world)) ?? random.pickFrom(world.grants);
  const capability = grant && random.pickFrom(grant.capabilities);
  const isAtHome = random.chance(0.9);
  const owner = random.chance(0.9) ? world.home.owner : (capability?.resource.owner ?? random.pick(principals));
  const step: Turnable = {
    context: {
      actor: isAtHome || !grant ? world.home.actor : grant.subject,
      authority: isAtHome || !grant ? world.home.authority : grant.issuer,
      enabledToolNamespaces: [],
      namespaceId: isAtHome || !grant ? world.home.namespaceId : grant.namespaceId,
      now: instantFor(random, grant),
      owner,
      purpose: random.pickFrom(grant?.constraints.purposes ?? purposes) ?? "help",
      traceId: "trace",
    },
    request: {
      action: actionFor(random, capability?.actions ?? actions),
      resource: {
        namespace: capability?.resource.namespace ?? "files",
        path: [
          ...(capability?.resource.path ?? []),
          ...(capability?.scope === "descendants" && random.chance(0.4) ? [random.pick(segments)] : []),
        ],
        ...(random.chance(0.5) && { owner }),
      },
    },
  };
  const kind = random.chance(0.12) ? "execute" : "authorize";
  if (random.chance(0.1)) random.pick(turns)(step, random);
  if (random.chance(0.02)) random.pick(invalidRequests)(step, random);
  if (kind === "authorize" && random.chance(0.005)) random.pick(invalidContexts)(step, random);
  return { kind, ...step };
}

function heldAtHome({ grants, home }: World): Grant[] {
  return grants.filter(
    ({ namespaceId, subject, issuer }) =>
      namespaceId === home.namespaceId && isSame(subject, home.actor) && isSame(issuer, home.authority),
  );
}

/** `base` most of the time, else a bound of the grant or an instant next to it. */
function instantFor(random: Random, grant: Grant | undefined): string {
  const { notBefore, expiresAt } = grant?.constraints ?? {};
  const bounds = [grant?.issuedAt, notBefore, expiresAt, grant?.revokedAt].filter((text) => text !== undefined);
  const found = random.chance(0.15) ? instant(random.pickFrom(bounds) ?? "") : Number.NaN;
  if (Number.isNaN(found)) return random.pick(writtenBase);
  return writeInstant(random, found + random.pick([-1, 0, 0, 1]));
}

const writtenBase = ["2026-02-01T09:00:00Z", "2026-02-01t10:30:00.000+01:30", "2026-01-31T23:00:00.0-10:00"] as const;

function actionFor(random: Random, listed: readonly string[]): string {
  const action = random.pickFrom(listed) ?? "read";
  return action === "*" && random.chance(0.8) ? random.pick([...actions, "purge"]) : action;
}

interface Turnable {
  context: AccessContext;
  request: AuthorizationRequest;
}
type Turn = (step: Turnable, random: Random) => void;

const turns: readonly [Turn, ...Turn[]] = [
  ({ request }, random) => void (request.action = random.pick([...actions, "purge", "*"])),
  ({ request }, random) => void (request.resource.namespace = random.pick(resourceNamespaces)),
  ({ request }, random) => void request.resource.path.push(random.pick(segments)),
  ({ request }) => void request.resource.path.pop(),
  ({ request: { resource } }) =>
    void (resource.path = [...resource.path.slice(0, -1), `${resource.path.at(-1) ?? "a"}b`]),
  ({ request: { resource } }, random) =>
    void (resource.path = Array.from({ length: random.below(4) }, () => random.pick(segments))),
  ({ context }, random) => void (context.purpose = random.pick([...purposes, "HELP"])),
  ({ context }, random) => void (context.actor = random.pick(principals)),
  ({ context }, random) => void (context.authority = random.pick(principals)),
  ({ context }, random) => void (context.namespaceId = random.pick(tenants)),
  ({ context, request }, random) => {
    context.owner = random.pick(principals);
    delete request.resource.owner;
  },
];

const invalidRequests: readonly [Turn, ...Turn[]] = [
  ({ request }) => void (request.action = ""),
  ({ request }, random) => void request.resource.path.push(random.pick(["", ".", "..", "a/b", "a\\b", "a\nb"])),
  ({ request }) => void (request.resource.path = Array<string>(65).fill("a")),
  ({ request }, random) => void (request.resource.owner = random.pick(principals)),
];

const invalidContexts: readonly [Turn, ...Turn[]] = [
  ({ context }) => void (context.purpose = ""),
  ({ context }) => void (context.now = "2026-02-01T09:00:00"),
  ({ context }) => void (context.traceId = " "),
];

/** Changes what the sources will answer next: revokes, brings back or issues a grant. */
export function changeWorld(world: World, random: Random, change: number): void {
  const { grants } = world;
  const index = random.below(grants.length);
  const grant = grants[index];
  if (random.chance(0.3) || !grant) return addChain(world, random, `later${change}`);
  const { revokedAt, ...alive } = grant;
  const at = writeInstant(random, base + random.pick([-1, 0, 1]));
  if (world.source !== "fresh") {
    grants[index] = asStored(world, revokedAt === undefined ? { ...alive, revokedAt: at } : alive);
  } else if (revokedAt === undefined) {
    // A source that breaks its promise changes the very object that it answered with before.
    grant.revokedAt = at;
  } else {
    delete grant.revokedAt;
  }
}
