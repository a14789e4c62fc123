import { parseInstant, type DelegationRule, type Grant } from "turnpike/contracts";
import { deriveGrant } from "turnpike/kernel";
import { columnText } from "../database/column-text.ts";
import { GrantIdTaken } from "../stores/grant-store.ts";
import type { Stores } from "../stores/stores.ts";
import type { GrantEntry } from "./admin-schemas.ts";
import { conflict, invalid, notFound, type AdminOperations, type Desk } from "./desk.ts";

/** Issuing, deriving, listing and revoking grants. */
export function grantOperations({
  stores,
  clock,
}: Desk): AdminOperations<"createGrant" | "deriveGrant" | "listGrants" | "revokeGrant"> {
  const { grants } = stores;
  const issue = async (grant: Grant): Promise<Grant> => {
    try {
      await grants.issue(grant);
      return grant;
    } catch (error) {
      if (error instanceof GrantIdTaken) throw conflict("/id: expected an id that no grant of this tenant has.");
      throw error;
    }
  };
  return {
    createGrant: (grant, operator) => operator.change(changeOf("grant.create", grant), () => issue(grant)),
    async deriveGrant({ namespaceId, parentId, id, subject, capabilities, constraints }, operator) {
      const parent = await grants.find(namespaceId, parentId);
      if (parent === undefined) throw notFound("grant of this id to derive from");
      const ask = { id, subject, capabilities: capabilities ?? parent.capabilities, issuedAt: clock().toISOString() };
      const chain = await ancestry(stores, parent, clock());
      if (!chain.ok) throw invalid(`This cannot be derived: ${chain.rule}.`);
      const derived = deriveGrant(parent, constraints === undefined ? ask : { ...ask, constraints }, chain.links);
      if (!derived.ok) throw invalid(`This cannot be derived: ${derived.reason}.`);
      return operator.change(changeOf("grant.derive", derived.grant), () => issue(derived.grant));
    },
    async listGrants({ namespaceId, subject, issuer, state, resource, cursor, limit }) {
      const found: GrantEntry[] = [];
      let after = cursor;
      for (;;) {
        const read = await grants.list(namespaceId, { subject, issuer, after, limit: limit + 1 });
        for (const grant of read) {
          if (resource !== undefined && !isOver(grant, resource)) continue;
          const entry = await entryOf(stores, grant, clock());
          if (state !== undefined && entry.state !== state) continue;
          const last = found.at(-1);
          if (found.length === limit && last !== undefined) return { grants: found, cursor: columnText(last.grant.id) };
          found.push(entry);
        }
        if (read.length <= limit) return { grants: found };
        after = read.at(-1)?.id;
      }
    },
    async revokeGrant({ namespaceId, id }, operator) {
      const grant = await grants.findKept(namespaceId, id);
      if (grant === undefined) throw notFound("grant of this id in this tenant");
      return operator.change(changeOf("grant.revoke", grant), async () => {
        if (!(await grants.revoke(namespaceId, id, clock().toISOString())))
          throw conflict(
            `This grant was revoked before${grant.revokedAt === undefined ? "" : `, ${grant.revokedAt}`}.`,
          );
        return { revoked: id, descendants: await grants.descendants(namespaceId, id) };
      });
    },
  };
}

function changeOf(action: AdminChange, { namespaceId, id, subject, parentId }: Grant) {
  return { namespaceId, action, grantId: id, receiver: subject, ...(parentId && { metadata: { parentId } }) };
}

type AdminChange = "grant.create" | "grant.derive" | "grant.revoke";

/** How many parents a stored grant stands on, or the rule that one of them breaks by now. */
async function ancestry(
  { grants }: Stores,
  grant: Grant,
  now: Date,
): Promise<{ ok: true; links: number } | { ok: false; rule: DelegationRule }> {
  let one = grant;
  // A circle of grants ends as a chain that is too long.
  for (let links = 0; links <= maxLinks; links += 1) {
    if (one.parentId === undefined) return { ok: true, links };
    const parent = await grants.find(one.namespaceId, one.parentId);
    if (parent === undefined) return { ok: false, rule: "parent_missing" };
    if (stateOf(parent, now.getTime()) !== "live") return { ok: false, rule: "parent_inactive" };
    one = parent;
  }
  return { ok: false, rule: "chain_too_long" };
}

const maxLinks = 16;

function isOver({ capabilities }: Grant, namespace: string): boolean {
  return capabilities.some(({ resource }) => resource.namespace === namespace);
}

async function entryOf(stores: Stores, grant: Grant, now: Date): Promise<GrantEntry> {
  // What counts, and not the time that is shown: one that was revoked is, whatever the clock says.
  const counting = (await stores.grants.find(grant.namespaceId, grant.id)) ?? grant;
  const ownState = stateOf(counting, now.getTime());
  const isFallen = ownState === "live" && !(await ancestry(stores, grant, now)).ok;
  const state = isFallen ? "fallen" : ownState;
  if (grant.constraints.maxUses === undefined) return { grant, state };
  return { grant, state, used: await stores.usage.used(grant.namespaceId, grant.id) };
}

/** What the clock says of a grant; its uses and its chain are other matters: what stands on something dead has fallen. */
function stateOf({ issuedAt, revokedAt, constraints }: Grant, now: number): GrantEntry["state"] {
  const at = (text: string | undefined, otherwise: number): number =>
    text === undefined ? otherwise : (parseInstant(text) ?? otherwise);
  if (at(revokedAt, Infinity) <= now) return "revoked";
  if (at(constraints.expiresAt, Infinity) <= now) return "expired";
  return Math.max(at(issuedAt, 0), at(constraints.notBefore, 0)) > now ? "future" : "live";
}
