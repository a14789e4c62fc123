// Grants as `grant export --cedar` writes them, decided by Cedar and by the kernel, over names that are hard to write.
import { cedarOf } from "../../packages/host/src/cedar/index.ts";
import type {
  AccessContext,
  AuthorizationRequest,
  Capability,
  Constraints,
  Grant,
  PrincipalRef,
} from "../../packages/turnpike/src/contracts/index.ts";
import { createKernel, type UsageStore } from "../../packages/turnpike/src/kernel/index.ts";
import { memoryGrants } from "../../packages/turnpike/src/testing/index.ts";
import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import type { Finding, Outcome, Suite, Trial } from "./suite.ts";

/** What Cedar is asked. */
interface CedarQuestion {
  principal: EntityId;
  action: EntityId;
  resource: EntityId;
  context: Record<string, unknown>;
  entities: readonly { uid: EntityId; attrs: object; parents: readonly EntityId[] }[];
}

interface EntityId {
  type: string;
  id: string;
}

interface OpenedPolicies {
  /** What the strict validation of Cedar says against the policies. */
  problems: string[];
  decide(question: CedarQuestion): boolean;
}

type OpenExport = (policies: string, schema: string) => OpenedPolicies;

/** Installed beside the module, which only those import who want to use it. */
const cedarModule = new URL("../../checks/oracles/cedar.js", import.meta.url).href;

const requestsPerWorld = 50;

/** The export against the kernel. */
export const cedarExport: Suite = cedarExportSuite(cedarOf);

/** The suite for an export of any make. */
export function cedarExportSuite(exportGrants: typeof cedarOf): Suite {
  return {
    name: "cedar-export",
    says: "Exported as policies, grants are decided about by Cedar as by the kernel, but for what the export says that it leaves out.",
    share: 1,
    async run(trial) {
      const { openExport } = (await import(cedarModule)) as { openExport: OpenExport };
      return askBoth(exportGrants, openExport, trial);
    },
  };
}

async function askBoth(
  exportGrants: typeof cedarOf,
  openExport: OpenExport,
  { seed, isOver }: Trial,
): Promise<Outcome> {
  const counts = { worlds: 0, decisions: 0, allowed: 0, "allowed by delegation": 0, "left out": 0 };
  const findings: Finding[] = [];
  for (let at = seed; !isOver() && findings.length < 10; at += 1) {
    const random = createRandom(at);
    const grants = drawGrants(random);
    const { policies, schema, entities, leftOut } = exportGrants(grants);
    const fine = new Set(leftOut.flatMap(({ grantId, condition }) => (/finer/.test(condition) ? [grantId] : [])));
    const { problems, decide } = openExport(policies, schema);
    const kernel = createKernel({ grants: memoryGrants(grants), usage: nothingLeft, audit: "none" });
    const complaints = [...problems];
    counts.worlds += 1;
    for (let number = 0; number < requestsPerWorld; number += 1) {
      const { context, request } = drawRequest(random, grants);
      const allowed = decide(questionOf(context, request, entities));
      const decision = await kernel.authorize(context, request);
      const matched = decision.allowed ? grants.find(({ id }) => id === decision.matchedGrantId) : undefined;
      counts.decisions += 1;
      counts.allowed += allowed ? 1 : 0;
      counts["allowed by delegation"] += allowed && matched?.parentId !== undefined ? 1 : 0;
      if (decision.allowed === allowed) continue;
      // What is left out is denied, and never the other way round.
      if (!allowed && matched !== undefined && fine.has(matched.id) && isWithinMillisecond(context.now, grants)) {
        counts["left out"] += 1;
        continue;
      }
      const asked = JSON.stringify({ context, request });
      complaints.push(`Cedar ${allowed ? "allowed" : "denied"}, kernel ${decision.reasonCode}: ${asked}`);
    }
    if (complaints[0] === undefined) continue;
    const what = [`world ${at}`, ...grants.map((grant) => JSON.stringify(grant)), complaints[0]].join("\n");
    findings.push({ what, repeat: `npm run trust -- --only cedar-export --seed ${at}` });
  }
  return { counts, findings };
}

/** Uses are never left, and no person approves anything: that is what Cedar has no words for. */
const nothingLeft: UsageStore = {
  used: (_namespaceId, _grantId) => Promise.resolve(Number.MAX_SAFE_INTEGER),
  consume: () => Promise.resolve(false),
};

/** Whether a window of some grant begins or ends within the millisecond of this instant. */
function isWithinMillisecond(now: string, grants: readonly Grant[]): boolean {
  const edges = grants.flatMap(({ issuedAt, revokedAt, constraints: { notBefore, expiresAt } }) => [
    issuedAt,
    revokedAt,
    notBefore,
    expiresAt,
  ]);
  const whole = inMilliseconds(now);
  return edges.some((edge) => edge !== undefined && edge.length > whole.length && edge.startsWith(whole.slice(0, -1)));
}

function inMilliseconds(now: string): string {
  return `${now.slice(0, 23)}Z`;
}

const names: [string, ...string[]] = ["a", 'a"b', "a b", "ä", "日本", "a'b", "*", "😀", "a\u202Eb", "?principal"];
const identifiers: [string, ...string[]] = [
  "a",
  "b",
  'a"',
  "a\nb",
  "a\0",
  "a/b",
  "a%2Fb",
  "a:b",
  "\t.",
  "x#1",
  "// a",
  "a\\",
  "ü\u2028",
];
const namespaces: [string, ...string[]] = ["a", "a/b", "a%2Fb", "ü ?#", 'a"\\', "a\n"];
const actions: [string, ...string[]] = ["read", "write", 'r"', "r\n", "*"];
const purposes: [string, ...string[]] = ["help", "*", 'h"\\', "h\n"];
/** Whole milliseconds, one in another zone, and some within a millisecond. */
const edges: [string, ...string[]] = [
  "2026-01-01T00:00:00.000Z",
  "2026-01-01T01:00:00.001+01:00",
  "2026-01-01T00:00:00.002Z",
  "2026-01-01T00:00:00.0015Z",
  "2026-01-01T00:00:00.0025Z",
];
/** Cedar is asked about the millisecond in which the last one is. */
const instants: [string, ...string[]] = [
  "2025-12-31T23:59:59.999Z",
  "2026-01-01T00:00:00.000Z",
  "2026-01-01T00:00:00.001Z",
  "2026-01-01T00:00:00.002Z",
  "2026-01-01T00:00:00.003Z",
  "2026-01-01T00:00:00.0017Z",
];

function drawGrants(random: Random): Grant[] {
  const people = Array.from({ length: 3 }, () => drawPrincipal(random)) as [PrincipalRef, ...PrincipalRef[]];
  const drawn = Array.from({ length: 2 + random.below(5) }, (_, place) => drawGrant(random, people, place));
  const ids = new Set<string>();
  const grants = drawn.filter(({ id }) => !ids.has(id) && ids.add(id));
  for (const [place, grant] of grants.entries()) {
    const parent = random.chance(0.5) ? random.pickFrom(grants.slice(0, place)) : undefined;
    if (parent === undefined) continue;
    grant.parentId = parent.id;
    if (random.chance(0.1)) continue;
    grant.issuer = parent.subject;
    if (random.chance(0.8)) grant.capabilities = parent.capabilities.map((one) => narrowed(random, one));
    grant.constraints = { ...parent.constraints, ...(random.chance(0.2) && grant.constraints) };
    grant.constraints.delegationDepth = Math.max(0, (parent.constraints.delegationDepth ?? 0) - 1);
  }
  return grants;
}

function drawPrincipal(random: Random): PrincipalRef {
  const id = random.pick(identifiers);
  return random.pick<PrincipalRef>([
    { kind: "human", userId: id },
    { kind: "agent", agentId: id },
    { kind: "service", serviceId: id },
    { kind: "group", conversationId: id },
  ]);
}

function drawGrant(random: Random, people: [PrincipalRef, ...PrincipalRef[]], place: number): Grant {
  const grant: Grant = {
    id: random.chance(0.5) ? `${random.pick(identifiers)}${place}` : `${place}`,
    namespaceId: "home",
    subject: random.pick(people),
    issuer: random.pick(people),
    capabilities: Array.from({ length: 1 + random.below(2) }, () => drawCapability(random, people)),
    constraints: drawConstraints(random),
    issuedAt: random.chance(0.7) ? "2025-01-01T00:00:00Z" : random.pick(edges),
  };
  if (random.chance(0.1)) grant.revokedAt = random.pick(edges);
  return grant;
}

function drawCapability(random: Random, people: [PrincipalRef, ...PrincipalRef[]]): Capability {
  return {
    resource: {
      namespace: random.pick(namespaces),
      path: Array.from({ length: random.below(3) }, () => random.pick(names)),
      ...(random.chance(0.3) && { owner: random.pick(people) }),
    },
    actions: random.some(actions),
    scope: random.chance(0.7) ? "descendants" : "exact",
    ...(random.chance(0.1) && { approval: "each" as const }),
  };
}

function narrowed(random: Random, capability: Capability): Capability {
  const { resource, scope } = capability;
  if (scope === "exact" || random.chance(0.5)) return capability;
  return { ...capability, resource: { ...resource, path: [...resource.path, random.pick(names)] } };
}

function drawConstraints(random: Random): Constraints {
  const constraints: Constraints = {};
  if (random.chance(0.3)) constraints.purposes = random.some(purposes);
  if (random.chance(0.2)) constraints.notBefore = edges[0];
  if (random.chance(0.3)) constraints.expiresAt = random.pick(edges);
  if (random.chance(0.1)) constraints.maxUses = 1;
  if (random.chance(0.7)) constraints.delegationDepth = random.below(4);
  return constraints;
}

interface Asked {
  context: AccessContext;
  request: AuthorizationRequest;
}

/** Mostly a request that nearly fits some grant. */
function drawRequest(random: Random, grants: readonly Grant[]): Asked {
  const grant = random.pickFrom(grants) as Grant;
  const { resource, actions: allowed } = random.pickFrom(grant.capabilities) as Capability;
  const other = (random.pickFrom(grants) as Grant).subject;
  const path = random.chance(0.8) ? resource.path : resource.path.slice(1);
  const below = Array.from({ length: random.chance(0.5) ? 0 : random.below(3) }, () => random.pick(names));
  return {
    context: {
      actor: random.chance(0.9) ? grant.subject : other,
      authority: random.chance(0.9) ? grant.issuer : other,
      owner: random.chance(0.8) ? (resource.owner ?? other) : other,
      namespaceId: "home",
      purpose: random.chance(0.8) ? (grant.constraints.purposes?.[0] ?? "help") : random.pick(purposes),
      now: random.pick(instants),
      traceId: "trace",
      enabledToolNamespaces: [],
    },
    request: {
      action: random.chance(0.8) ? (random.pickFrom(allowed) as string) : random.pick(actions),
      resource: {
        namespace: random.chance(0.9) ? resource.namespace : random.pick(namespaces),
        path: [...path, ...below],
      },
    },
  };
}

const entityOf: Readonly<Record<PrincipalRef["kind"], string>> = {
  human: "Human",
  agent: "Agent",
  group: "Group",
  service: "Service",
};

function principal(who: PrincipalRef): EntityId {
  const [, id] = Object.values(who) as [string, string];
  return { type: entityOf[who.kind], id };
}

function questionOf(
  { actor, authority, owner, purpose, now }: AccessContext,
  { action, resource: { namespace, path } }: AuthorizationRequest,
  known: CedarQuestion["entities"],
): CedarQuestion {
  const place = (length: number): EntityId => ({
    type: "Place",
    id: [encodeURIComponent(namespace), ...path.slice(0, length)].join("/"),
  });
  const asked = place(path.length);
  const others = known.filter(({ uid }) => uid.type !== asked.type || uid.id !== asked.id);
  return {
    principal: principal(actor),
    action: { type: "Action", id: action },
    resource: asked,
    context: {
      authority: { __entity: principal(authority) },
      owner: { __entity: principal(owner) },
      purpose,
      now: { __extn: { fn: "datetime", arg: inMilliseconds(now) } },
    },
    entities: [...others, { uid: asked, attrs: {}, parents: path.map((_segment, length) => place(length)) }],
  };
}
