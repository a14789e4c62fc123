import type { AccessContext, AuthorizationRequest, Grant } from "../../src/contracts/index.ts";
import type {
  GrantScope,
  GrantSource,
  HostPolicy,
  KernelOptions,
  Permit,
  PermitStore,
  UsageStore,
} from "../../src/kernel/index.ts";
import { isSame, type Facts } from "./naive-authorizer.ts";
import { hashOf } from "../random.ts";
import { malformations, resourceNamespaces } from "./grants.ts";
import { usageKey, type World } from "./worlds.ts";

/** A world as the naive authorizer sees it. */
function factsOf(world: World): Facts {
  return {
    load: (context) => (world.source === "down" || world.source === "nonsense" ? undefined : answerOf(world, context)),
    find(namespaceId, grantId) {
      if (world.find === "absent") return "unreadable";
      const grant = lookUp(world, namespaceId, grantId);
      const fault = world.findFaults.get(grantId);
      if (!grant || !fault) return grant;
      return fault === "throws" || fault === "null" ? "unreadable" : spoiled(grant, fault);
    },
    used({ namespaceId, id }) {
      const isCounted = world.usage === "counts" || (world.usage === "partly down" && !isUncounted(id));
      return isCounted ? (world.used.get(usageKey(namespaceId, id)) ?? 0) : undefined;
    },
    policy: (request) => (world.policy === "absent" ? "keep" : verdictOn(request)),
    approval({ id }) {
      if (world.permits === "down") return undefined;
      return world.permits === "asks" && permittedIn(world) === id ? "permitted" : "required";
    },
  };
}

/** What was done through the ports. */
interface Effects {
  used: Map<string, number>;
  /** The grants that the audit log names, in order. */
  auditedGrants: (string | undefined)[];
  policyCalls: number;
  consumptions: number;
  operations: number;
  /** Forgets all but the uses. */
  reset(): void;
}

/** One world for both sides: facts for the naive authorizer, ports for the kernel. */
export interface WorldPorts {
  readonly facts: Facts;
  readonly options: KernelOptions;
  readonly effects: Effects;
  /** To be called when the world changed: what was answered before is not answered again. */
  forget(): void;
}

/** Ports over the live world; only the counts of uses are their own. */
export function portsOf(world: World): WorldPorts {
  const answers = new Map<string, readonly Grant[]>();
  const effects: Effects = {
    used: new Map(world.used),
    auditedGrants: [],
    policyCalls: 0,
    consumptions: 0,
    operations: 0,
    reset() {
      effects.auditedGrants.length = 0;
      effects.policyCalls = 0;
      effects.consumptions = 0;
      effects.operations = 0;
    },
  };
  return {
    facts: factsOf(world),
    effects,
    forget() {
      answers.clear();
      effects.used = new Map(world.used);
    },
    options: {
      grants: sourceOf(world, answers),
      ...(world.usage !== "absent" && { usage: usageOf(world, effects) }),
      ...(world.policy !== "absent" && { policy: policyOf(effects) }),
      ...(world.permits !== "absent" && { permits: permitsOf(world) }),
      resources: resourceNamespaces.map((namespace) => ({
        namespace,
        async invoke({ operationId, context }) {
          effects.operations += 1;
          return { status: "succeeded", operationId, completedAt: context.now, output: null };
        },
      })),
      audit:
        world.seed % 4 === 0
          ? {
              async record({ type, grantId }) {
                if (type !== "escalation.requested") effects.auditedGrants.push(grantId);
              },
            }
          : "none",
    },
  };
}

function sourceOf(world: World, answers: Map<string, readonly Grant[]>): GrantSource {
  const source: GrantSource = {
    async load(scope) {
      if (world.source === "down") throw new Error("The grant source is down.");
      if (world.source === "nonsense") return nonsense(world.seed, [undefined, null, {}, "none", [null]]);
      if (world.source === "fresh") return answerOf(world, scope);
      const key = world.source === "anyone" ? "" : keyOf(scope);
      const answer = answers.get(key) ?? Object.freeze(answerOf(world, scope));
      answers.set(key, answer);
      return answer;
    },
  };
  if (world.find === "absent") return source;
  return {
    ...source,
    async find(namespaceId, grantId) {
      const grant = lookUp(world, namespaceId, grantId);
      const fault = world.findFaults.get(grantId);
      if (!grant || !fault) return grant;
      if (fault === "throws") throw new Error("The grant source is down.");
      return fault === "null" ? nonsense(0, [null]) : spoiled(grant, fault);
    },
  };
}

function keyOf({ namespaceId, actor, authority }: GrantScope): string {
  return [namespaceId, ...Object.values(actor), ...Object.values(authority ?? {})].join("\n");
}

function policyOf(effects: Effects): HostPolicy {
  return {
    narrow(request) {
      effects.policyCalls += 1;
      const verdict = verdictOn(request);
      if (verdict === "keep") return undefined;
      const hash = hashOf(request.resource.path.join("/"));
      if (verdict === "deny") return nonsense(hash, [{}, { metadata: {} }, { metadata: { why: "night" } }]);
      if (hash % 2 === 0) throw new Error("The policy is down.");
      return nonsense(hash >> 1, [null, true, false, "no", 0, Promise.resolve(), { metadata: 1 }]);
    },
  };
}

/** What a source that is up answers: in most worlds exactly what was asked for. */
function answerOf({ source, grants }: World, { namespaceId, actor, authority }: GrantScope | AccessContext): Grant[] {
  return grants.filter(
    (grant) =>
      source === "anyone" ||
      (grant.namespaceId === namespaceId &&
        isSame(grant.subject, actor) &&
        (source === "any issuer" || authority === undefined || isSame(grant.issuer, authority))),
  );
}

/** A store that falls back to another tenant's grant of that id: the chain check must not. */
function lookUp({ grants }: World, namespaceId: string, grantId: string): Grant | undefined {
  const found = grants.filter(({ id }) => id === grantId);
  return found.find((grant) => grant.namespaceId === namespaceId) ?? found[0];
}

function spoiled(grant: Grant, fault: "other id" | "malformed"): Grant {
  if (fault === "other id") return { ...grant, id: `${grant.id}x` };
  const malform = malformations[hashOf(grant.id) % malformations.length];
  return malform ? malform(grant) : grant;
}

function usageOf(world: World, effects: Effects): UsageStore {
  const refuse = (grantId: string): void => {
    if (world.usage === "down" || (world.usage === "partly down" && isUncounted(grantId))) {
      throw new Error("The usage store is down.");
    }
  };
  return {
    async used(namespaceId, grantId) {
      refuse(grantId);
      if (world.usage === "nonsense") return nonsense(world.seed, [Number.NaN, -1, "0", undefined, null]);
      return effects.used.get(usageKey(namespaceId, grantId)) ?? 0;
    },
    async consume(namespaceId, grantId, maxUses) {
      effects.consumptions += 1;
      refuse(grantId);
      if (world.usage === "nonsense") return nonsense(world.seed, ["true", 1, {}, undefined, null]);
      const key = usageKey(namespaceId, grantId);
      const count = effects.used.get(key) ?? 0;
      if (count < maxUses) effects.used.set(key, count + 1);
      return count < maxUses;
    },
  };
}

/** Whatever is done under one of the grants is approved. */
function permitsOf(world: World): PermitStore {
  const reference = { id: "escalation", expiresAt: "2026-03-01T00:00:00Z" };
  const permit = async (): Promise<Permit | undefined> => {
    if (world.permits === "down") throw new Error("The permit store is down.");
    const grantId = permittedIn(world);
    return grantId === undefined
      ? undefined
      : { id: "permit", grantId, approvedBy: ["human:x"], expiresAt: reference.expiresAt };
  };
  return {
    async find() {
      const found = await permit();
      return found && { kind: "permitted", permit: found };
    },
    async waiting() {
      const found = await permit();
      return found ? [found] : [];
    },
    use: async () => true,
    ask: async () => reference,
  };
}

function permittedIn({ grants }: World): string | undefined {
  return grants.find(({ id }) => hashOf(`permit ${id}`) % 3 === 0)?.id;
}

function isUncounted(grantId: string): boolean {
  return hashOf(grantId) % 2 === 0;
}

function verdictOn({ action, resource }: AuthorizationRequest): "keep" | "deny" | "broken" {
  const share = hashOf([resource.namespace, action, ...resource.path].join("/")) % 20;
  if (share < 16) return "keep";
  return share < 18 ? "deny" : "broken";
}

/** What a port may answer that its type does not allow. */
function nonsense<T>(choice: number, answers: readonly unknown[]): T {
  return answers[Math.abs(choice) % answers.length] as T;
}
