import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import {
  GrantSchema,
  type AccessContext,
  type AuthorizationDecision,
  type AuthorizationRequest,
  type Capability,
  type Constraints,
  type Grant,
  type PrincipalRef,
  type ReachEntry,
} from "../src/contracts/index.ts";
import { checkGrant, createKernel, deriveGrant, type GrantInput, type GrantSource } from "../src/kernel/index.ts";
import { memoryGrants, memoryResources, memoryUsage } from "../src/testing/index.ts";
import { instant, isActive, isLinkSound } from "./differential/naive-authorizer.ts";
import { createRandom, type Random } from "./random.ts";
import { timesOf } from "../../../tests/support/size.ts";
import {
  actions,
  base,
  draftChain,
  principals,
  purposes,
  resourceNamespaces,
  segments,
  writeGrant,
  writeInstant,
} from "./differential/grants.ts";
import { portsOf } from "./differential/ports.ts";
import { addChain, createWorld, nextStep, type World } from "./differential/worlds.ts";

const healthy: Partial<World> = {
  source: "frozen",
  find: "works",
  usage: "counts",
  policy: "absent",
  permits: "absent",
};
const now = "2026-02-01T09:00:00Z";

/** What was compared, what spoke against the property, each with its seed. */
interface Findings {
  readonly seeds: number;
  /** How often the property had something to say: a test that compares nothing proves nothing. */
  compared: number;
  readonly violations: unknown[];
}

async function forSeeds(
  count: number,
  property: (seed: number, findings: Findings) => Promise<void>,
): Promise<Findings> {
  const findings: Findings = { seeds: count, compared: 0, violations: [] };
  for (let seed = 1; seed <= count && findings.violations.length === 0; seed += 1) {
    await property(seed, findings);
    if (findings.violations.length > 0) findings.violations.unshift({ seed });
  }
  return findings;
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("The generator made nothing.");
  return value;
}

/** The holder of a grant, acting under it. */
function contextOf(grant: Grant, owner: PrincipalRef, at = now): AccessContext {
  return {
    actor: grant.subject,
    authority: grant.issuer,
    enabledToolNamespaces: [],
    namespaceId: grant.namespaceId,
    now: at,
    owner: grant.capabilities.find(({ resource }) => resource.owner)?.resource.owner ?? owner,
    purpose: grant.constraints.purposes?.[0] ?? "help",
    traceId: "trace",
  };
}

/** A request that the capability covers, as far as action and place go. */
function requestWithin(random: Random, { resource, actions: listed, scope }: Capability): AuthorizationRequest {
  const below = scope === "descendants" && random.chance(0.5) ? [random.pick(segments)] : [];
  const action = random.pickFrom(listed) ?? "read";
  return {
    action: action === "*" ? random.pick(actions) : action,
    resource: { namespace: resource.namespace, path: [...resource.path, ...below] },
  };
}

/** A sound chain of so many links, first the root. */
function soundChain(random: Random, links: number): { chain: Grant[]; owner: PrincipalRef } {
  const owner = random.pick(principals);
  const holders = Array.from({ length: links + 2 }, () => random.pick(principals));
  const plan = { idPrefix: "grant", namespaceId: "demo", owner, holders };
  return { chain: draftChain(random, plan).map((draft) => writeGrant(random, draft)), owner };
}

describe("grants", () => {
  test("adding an unbounded grant never turns an allow into a deny", async () => {
    const { seeds, compared, violations } = await forSeeds(timesOf(80, 2_500), async (seed, findings) => {
      const { world, random } = createWorld(seed, { ...healthy, policy: "by request" });
      const more: World = { ...world, grants: [] };
      addChain(more, random, "added");
      const added = more.grants.filter(({ id }) => !world.grants.some((grant) => grant.id === id)).filter(isUnbounded);
      const grants = random.chance(0.5) ? [...world.grants, ...added] : [...added, ...world.grants];
      const before = createKernel(portsOf(world).options);
      const after = createKernel(portsOf({ ...world, grants }).options);
      for (let index = 0; index < 20; index += 1) {
        const { context, request } = nextStep(world, random);
        if (!(await before.authorize(context, request)).allowed) continue;
        findings.compared += 1;
        const decision = await after.authorize(context, request);
        if (!decision.allowed) findings.violations.push({ added, context, request, decision });
      }
    });
    expect(violations).toEqual([]);
    expect(compared).toBeGreaterThan(4 * seeds);
  });

  test("a hundred concurrent consumers of a grant with ten uses get exactly ten", async () => {
    const grant: Grant = {
      id: "ten",
      namespaceId: "demo",
      subject: { kind: "agent", agentId: "assistant" },
      issuer: { kind: "human", userId: "alice" },
      capabilities: [{ resource: { namespace: "files", path: [] }, actions: ["read"], scope: "descendants" }],
      constraints: { maxUses: 10 },
      issuedAt: now,
    };
    const usage = memoryUsage();
    const files = memoryResources("files");
    const kernel = createKernel({ grants: memoryGrants([grant]), usage, resources: [files], audit: "none" });
    const context = contextOf(grant, grant.issuer);
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        kernel.invokeResource(context, {
          operationId: `operation-${index}`,
          action: "read",
          resource: { namespace: "files", path: ["a"] },
        }),
      ),
    );
    const codes = results.map((result) => (result.status === "succeeded" ? "succeeded" : result.error.code));
    expect(codes.filter((code) => code === "succeeded")).toHaveLength(10);
    expect(codes.filter((code) => code === "grant_exhausted")).toHaveLength(90);
    expect(files.operations).toHaveLength(10);
    expect(await usage.used("demo", "ten")).toBe(10);
  });
});

describe("delegation", () => {
  test("a grant is live exactly when it alone allows its holder what it covers, or would with an approval, and a chain says why", async () => {
    const states = new Map<string, number>();
    const { seeds, compared, violations } = await forSeeds(timesOf(120, 4_000), async (seed, findings) => {
      const { world, random } = createWorld(seed, healthy);
      const { grants: source, usage } = portsOf(world).options;
      for (const grant of world.grants.filter(fitsContract)) {
        const context = contextOf(grant, world.home.owner);
        // Of an owner whom no capability means there is nothing to ask for.
        const isMeant = ({ resource }: Capability) => isDeepStrictEqual(resource.owner ?? context.owner, context.owner);
        const request = requestWithin(random, required(grant.capabilities.find(isMeant)));
        const alone = { grants: { ...source, load: () => Promise.resolve([grant]) }, ...(usage && { usage }) };
        const explained = await createKernel({ ...alone, audit: "none" }).explain(context, request);
        const check = await checkGrant(alone, grant, { now });
        findings.compared += 1;
        states.set(check.state, (states.get(check.state) ?? 0) + 1);
        const walked = explained.grants[0]?.chain ?? check.chain;
        const { allowed, reasonCode } = explained.decision;
        const isCarried = allowed || reasonCode === "approval_required";
        if ((check.state === "live") !== isCarried || walked.kind !== check.chain.kind)
          findings.violations.push({ grant, check, explained });
      }
    });
    expect(violations).toEqual([]);
    expect(compared).toBeGreaterThan(2.5 * seeds);
    expect([...states.keys()].toSorted()).toEqual([
      "exhausted",
      "expired",
      "invalid",
      "live",
      "not-issued",
      "not-yet-valid",
      "revoked",
      "unknown",
    ]);
    expect(Math.min(...states.values())).toBeGreaterThan(seeds / 40);
  });

  test("a child grant never allows what its parent denies", async () => {
    const { seeds, compared, violations } = await forSeeds(timesOf(120, 4_000), async (seed, findings) => {
      const { world, random } = createWorld(seed, healthy);
      const grants = world.grants.filter(fitsContract);
      const source = memoryGrants(grants);
      for (const child of grants) {
        const parent = child.parentId && (await source.find(child.namespaceId, child.parentId));
        if (!parent) continue;
        const context = contextOf(child, world.home.owner, random.chance(0.7) ? now : parent.issuedAt);
        const request = requestWithin(random, required(child.capabilities[0]));
        if (!(await allowsAlone(source, child, context, request))) continue;
        findings.compared += 1;
        if (await allowsAlone(source, parent, context, request)) continue;
        findings.violations.push({ parent, child, context, request });
      }
    });
    expect(violations).toEqual([]);
    expect(compared).toBeGreaterThan(1.25 * seeds);
  });

  test("revoking any ancestor denies every descendant", async () => {
    const { seeds, compared, violations } = await forSeeds(timesOf(120, 4_000), async (seed, findings) => {
      const random = createRandom(seed);
      const { chain, owner } = soundChain(random, 1 + random.below(seed % 10 === 0 ? 16 : 4));
      const revoked = required(chain[random.below(chain.length - 1)]);
      const source = memoryGrants(chain);
      const sourceAfter = memoryGrants(chain);
      sourceAfter.revoke("demo", revoked.id, writeInstant(random, base - random.pick([0, 1, 1_000_000])));
      for (const descendant of chain.slice(chain.indexOf(revoked) + 1)) {
        const context = contextOf(descendant, owner);
        const request = requestWithin(random, required(descendant.capabilities[0]));
        if (!(await allowsAlone(source, descendant, context, request))) continue;
        findings.compared += 1;
        if (!(await allowsAlone(sourceAfter, descendant, context, request))) continue;
        findings.violations.push({ chain, revoked: revoked.id, context, request });
      }
    });
    expect(violations).toEqual([]);
    expect(compared).toBeGreaterThan(1.25 * seeds);
  });

  test("deriveGrant makes exactly the children that are sound, and they carry their own acts at their issuedAt", async () => {
    let refused = 0;
    const { seeds, compared, violations } = await forSeeds(timesOf(600, 30_000), async (seed, findings) => {
      const random = createRandom(seed);
      const { chain: whole, owner } = soundChain(random, 1 + random.below(3));
      // The last grant of a chain may not delegate, the one before it may.
      const chain = random.chance(0.05) ? whole : whole.slice(0, -1);
      const last = required(chain.at(-1));
      const parent = random.chance(0.2) ? aged(random, last) : last;
      const ask = askOf(random, parent);
      const derivation = deriveGrant(parent, ask, chain.length - 1);
      const expected = naiveChild(parent, ask);
      if (derivation.ok !== isDerivable(expected, parent)) findings.violations.push({ parent, ask, derivation });
      if (!derivation.ok) return void (refused += 1);

      findings.compared += 1;
      if (!isDeepStrictEqual(derivation.grant, expected)) findings.violations.push({ parent, ask, derivation });
      const ancestors = [...chain.slice(0, -1), parent];
      for (const decision of await ownActs(random, ancestors, derivation.grant, owner)) {
        if (decision.matchedGrantId !== "child") findings.violations.push({ ancestors, derivation, decision });
      }
    });
    expect(violations).toEqual([]);
    expect(compared).toBeGreaterThan(seeds / 6);
    expect(refused).toBeGreaterThan(seeds / 6);
  });

  test("deriveGrant refuses the seventeenth link and makes the sixteenth", () => {
    const root = required(soundChain(createRandom(1), 0).chain[0]);
    const parent: Grant = { ...root, constraints: { delegationDepth: 40 }, revokedAt: "2027-01-01T00:00:00Z" };
    const ask: GrantInput = { id: "child", subject: root.issuer, capabilities: root.capabilities, issuedAt: now };
    expect(deriveGrant(parent, ask, 15)).toMatchObject({ ok: true });
    expect(deriveGrant(parent, ask, 16)).toMatchObject({ ok: false });
  });
});

/** Whether this grant alone allows the act to its holder. */
async function allowsAlone(
  source: GrantSource,
  grant: Grant,
  context: AccessContext,
  request: AuthorizationRequest,
): Promise<boolean> {
  const grants: GrantSource = { ...source, load: async () => [grant] };
  const asHolder: AccessContext = { ...context, actor: grant.subject, authority: grant.issuer };
  const kernel = createKernel({ grants, usage: memoryUsage(), audit: "none" });
  return (await kernel.authorize(asHolder, request)).allowed;
}

/** What a holder may ask to pass on: often narrower, sometimes wider in one way. */
function askOf(random: Random, parent: Grant): GrantInput {
  const capabilities = random.some(parent.capabilities).map((capability) => {
    const wider = random.chance(0.1);
    return {
      resource: {
        ...capability.resource,
        path: wider ? capability.resource.path.slice(0, -1) : requestWithin(random, capability).resource.path,
        ...(random.chance(0.1) && { owner: random.pick(principals) }),
      },
      actions: random.chance(0.1) ? random.some([...actions, "*"]) : random.some(capability.actions),
      scope: random.chance(0.1) ? "descendants" : random.chance(0.5) ? "exact" : capability.scope,
    } satisfies Capability;
  });
  const { notBefore, expiresAt, purposes: outer } = parent.constraints;
  const near = (text: string | undefined): string =>
    writeInstant(random, (text === undefined ? base : instant(text)) + random.pick([-1, 0, 0, 1]));
  const constraints: Constraints = {
    ...(random.chance(0.3) && { notBefore: near(notBefore) }),
    ...(random.chance(0.3) && { expiresAt: near(expiresAt) }),
    ...(random.chance(0.3) && { purposes: random.some(random.chance(0.7) ? (outer ?? purposes) : purposes) }),
    ...(random.chance(0.3) && { delegationDepth: random.below(3) }),
    ...(random.chance(0.2) && { maxUses: 1 + random.below(3) }),
  };
  return {
    id: "child",
    subject: random.pick(principals),
    capabilities,
    issuedAt: writeInstant(random, base + random.pick([0, 0, 0, 1, -1, 1_000_000])),
    ...(random.chance(0.7) && { constraints }),
  };
}

/** A parent that may be revoked, bounded, or unable to delegate. */
function aged(random: Random, grant: Grant): Grant {
  const revokedAt = writeInstant(random, base + random.pick([-1, 0, 1]));
  if (random.chance(0.4)) return { ...grant, revokedAt };
  return { ...grant, constraints: { ...grant.constraints, maxUses: 3 } };
}

/** The child as the architecture describes it: what is not restated is inherited. */
function naiveChild(parent: Grant, { constraints = {}, ...ask }: GrantInput): Grant {
  const { delegationDepth = 0, ...inherited } = parent.constraints;
  return {
    ...ask,
    namespaceId: parent.namespaceId,
    issuer: parent.subject,
    parentId: parent.id,
    constraints: { ...inherited, delegationDepth: delegationDepth - 1, ...constraints },
  };
}

/** Sound at its own `issuedAt` for every purpose it declares, and open at some instant. */
function isDerivable(child: Grant, parent: Grant): boolean {
  const { purposes: declared = ["any"], notBefore = child.issuedAt, expiresAt } = child.constraints;
  const issuedAt = instant(child.issuedAt);
  return (
    fitsContract(child) &&
    isLinkSound(child, parent) &&
    declared.every((purpose) => isActive(parent, purpose, issuedAt)) &&
    (expiresAt === undefined || Math.max(issuedAt, instant(notBefore)) < instant(expiresAt))
  );
}

/** A decision per capability of the child at its own `issuedAt`; none when something above it is not active then. */
async function ownActs(
  random: Random,
  ancestors: readonly Grant[],
  child: Grant,
  owner: PrincipalRef,
): Promise<AuthorizationDecision[]> {
  const context = contextOf(child, owner, child.issuedAt);
  const everyone = [...ancestors, child];
  if (!everyone.every((grant) => isActive(grant, context.purpose, instant(child.issuedAt)))) return [];
  const grants: GrantSource = { ...memoryGrants(ancestors), load: async () => [child] };
  const kernel = createKernel({ grants, usage: memoryUsage(), audit: "none" });
  return Promise.all(
    child.capabilities.map((capability) =>
      kernel.authorize(
        { ...context, owner: capability.resource.owner ?? context.owner },
        requestWithin(random, capability),
      ),
    ),
  );
}

describe("reach", () => {
  test("for unbounded grants a place is in reach exactly when acting there is allowed", async () => {
    const allowed = { inside: 0, outside: 0 };
    const { seeds, compared, violations } = await forSeeds(timesOf(15, 600), async (seed, findings) => {
      const { world } = createWorld(seed, healthy);
      const kernel = createKernel({
        grants: memoryGrants(world.grants.filter((grant) => isUnbounded(grant) && fitsContract(grant))),
        audit: "none",
      });
      const context = { ...world.home, enabledToolNamespaces: [], now, purpose: "help", traceId: "trace" };
      const result = await kernel.reach(context);
      const reach = result.status === "computed" ? result.reach : [];
      const places = new Set(reach.map(({ namespace, path, scope }) => JSON.stringify([namespace, path, scope])));
      if (result.status !== "computed" || places.size !== reach.length) findings.violations.push(result);
      for (const request of everyRequest()) {
        const decision = await kernel.authorize(context, request);
        findings.compared += 1;
        allowed[decision.allowed ? "inside" : "outside"] += 1;
        const isInReach = reach.some((entry) => reaches(entry, request));
        if (decision.allowed !== isInReach) findings.violations.push({ grants: world.grants, context, request, reach });
      }
    });
    expect(violations).toEqual([]);
    expect(compared).toBeGreaterThan(160 * seeds);
    expect(allowed.inside).toBeGreaterThan(16 * seeds);
    expect(allowed.outside).toBeGreaterThan(16 * seeds);
  });

  test("reach is unavailable, never shorter, when the chain of an active grant cannot be read", async () => {
    const { chain, owner } = soundChain(createRandom(1), 1);
    const child = required(chain[1]);
    const { parentId: _, ...plain } = { ...child, id: "plain" };
    const kernel = createKernel({ grants: { load: async () => [plain, child] }, audit: "none" });
    expect(await kernel.reach(contextOf(child, owner))).toEqual({
      status: "unavailable",
      reasonCode: "authority_unavailable",
    });
  });
});

function fitsContract(grant: Grant): boolean {
  return GrantSchema.safeParse(grant).success;
}

function isUnbounded({ constraints }: Grant): boolean {
  return constraints.maxUses === undefined;
}

/** Every act on every place down to the second level. */
function everyRequest(): AuthorizationRequest[] {
  const pairs = segments.flatMap((one) => segments.map((two) => [one, two]));
  const paths = [[], ...segments.map((segment) => [segment]), ...pairs];
  return resourceNamespaces.flatMap((namespace) =>
    paths.flatMap((path) => [...actions, "purge"].map((action) => ({ action, resource: { namespace, path } }))),
  );
}

function reaches(
  { namespace, path, actions: listed, scope }: ReachEntry,
  { action, resource }: AuthorizationRequest,
): boolean {
  return (
    namespace === resource.namespace &&
    (listed.includes(action) || listed.includes("*")) &&
    (scope === "descendants" || path.length === resource.path.length) &&
    path.every((segment, index) => segment === resource.path[index])
  );
}
