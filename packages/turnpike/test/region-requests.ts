import { principalKey, type Grant, type PrincipalRef } from "../src/contracts/index.ts";
import { parseInstant } from "../src/internal/index.ts";
import { compileAuthority } from "../src/kernel/authority.ts";
import { decide } from "../src/kernel/decide.ts";
import type { Terms } from "../src/kernel/index.ts";
import { peek } from "../src/kernel/spend.ts";
import { memoryGrants, memoryUsage } from "../src/testing/index.ts";
import type { RegionWorld } from "./region-worlds.ts";

/** One request of a world. */
export interface Request {
  subject: PrincipalRef;
  authority: PrincipalRef;
  owner: PrincipalRef;
  namespace: string;
  path: string[];
  action: string;
  purpose: string;
  now: string;
}

/** Every request that can tell the decisions of a world apart. */
export function* requestsOf(world: RegionWorld): Generator<Request> {
  const pairs = new Map<string, { subject: PrincipalRef; authority: PrincipalRef }>();
  for (const { subject, issuer } of [...world.before, ...world.after])
    pairs.set(`${principalKey(subject)} ${principalKey(issuer)}`, { subject, authority: issuer });
  const namespaces = new Set(
    [...world.before, ...world.after].flatMap((grant) => grant.capabilities.map(({ resource }) => resource.namespace)),
  );
  for (const pair of pairs.values())
    for (const namespace of namespaces)
      for (const owner of world.owners)
        for (const path of world.paths)
          for (const action of world.actions)
            for (const purpose of world.purposes)
              for (const now of world.instants) yield { ...pair, owner, namespace, path, action, purpose, now };
}

/** A grant that carries a request, with or without an approval, and what it asks for. */
export interface Carrier {
  id: string;
  terms: Terms;
}

/** The grants that carry a request. */
export type Judge = (request: Request) => Promise<Carrier[]>;

/** Asks the kernel about each grant alone, and holds its decision about all of them against what that says. */
export function judgeOf(grants: readonly Grant[]): Judge {
  const ports = { grants: memoryGrants(grants), usage: memoryUsage(), audit: "none" as const };
  const sets = new Map<string, Grant[]>();
  for (const grant of grants) {
    const holder = `${principalKey(grant.subject)} ${principalKey(grant.issuer)}`;
    sets.set(holder, [...(sets.get(holder) ?? []), grant]);
  }
  const authorities = new Map(
    [...sets].map(([holder, held]) => {
      const each = held.map((grant) => ({ grant, authority: compileAuthority([grant]) }));
      return [holder, { all: compileAuthority(held), each }];
    }),
  );
  const { signal } = new AbortController();
  return async ({ subject, authority, owner, namespace, path, action, purpose, now }) => {
    const found = authorities.get(`${principalKey(subject)} ${principalKey(authority)}`);
    if (found === undefined) return [];
    const reason = async (current: ReturnType<typeof compileAuthority>): Promise<string> => {
      const decision = await decide({
        ports,
        view: { current },
        context: {
          actor: subject,
          authority,
          owner,
          purpose,
          now,
          namespaceId: "home",
          traceId: "t",
          enabledToolNamespaces: [],
        },
        request: { action, resource: { namespace, path } },
        instant: { owner, now: parseInstant(now) ?? Number.NaN, purpose },
        spend: peek,
        signal,
      });
      return decision.kind === "allow" ? "allowed" : decision.reason;
    };
    const all = await reason(found.all);
    if (all === "no_matching_grant") return [];
    const carriers: Carrier[] = [];
    for (const one of found.each) {
      const said = await reason(one.authority);
      if (said !== "allowed" && said !== "approval_required") continue;
      const { maxUses } = one.grant.constraints;
      const approval = said === "approval_required" && { approval: "each" as const };
      carriers.push({ id: one.grant.id, terms: { ...approval, ...(maxUses !== undefined && { maxUses }) } });
    }
    if ((all === "allowed") !== carriers.some(({ terms }) => terms.approval === undefined))
      throw new Error("The kernel decides about all grants otherwise than about each.");
    return carriers;
  };
}
