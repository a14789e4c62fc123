import { parseInstant, samePrincipal, type Grant } from "turnpike/contracts";
import { deriveGrant, type GrantState } from "turnpike/kernel";
import { columnText } from "../../base/index.ts";
import { GrantIdTakenError } from "../../grants/index.ts";
import { permitPrefix } from "../../ledger/index.ts";
import type { GrantEntry } from "../../management/index.ts";
import { checkGrants, ruleText, type CheckedGrant } from "./check-grants.ts";
import { conflict, invalid, notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Issuing, deriving, listing and revoking grants. */
export function grantOperations({
  stores,
  clock,
}: AdminServices): AdminOperations<"createGrant" | "deriveGrant" | "listGrants" | "revokeGrant"> {
  const { grants } = stores;
  const issue = async (grant: Grant): Promise<Grant> => {
    try {
      await grants.issue(grant);
      return grant;
    } catch (error) {
      if (error instanceof GrantIdTakenError) throw conflict("/id: expected an id that no grant of this tenant has.");
      throw error;
    }
  };
  /** Refuses a grant whose uses would be counted as a permit's, and one whose chain is invalid: nobody could ever use it. */
  const requireUsable = async (grant: Grant): Promise<void> => {
    if (grant.id.startsWith(permitPrefix))
      throw invalid('/id: expected an id that does not begin with "permit" and a line break, which permits have.');
    const now = clock().toISOString();
    for (const at of isBefore(grant.issuedAt, now) ? [grant.issuedAt, now] : [grant.issuedAt]) {
      const [{ chain } = { chain: undefined }] = await checkGrants(stores, [grant], at);
      if (chain?.kind === "invalid") throw invalid(`/parentId: this grant would never count: ${ruleText(chain.rule)}`);
      if (chain?.kind !== "valid") throw conflict("/parentId: one of the grants above this one cannot be read.");
    }
  };
  return {
    async createGrant(grant, operator) {
      await requireUsable(grant);
      return operator.change(changeOf("grant.create", grant), () => issue(grant));
    },
    async deriveGrant({ namespaceId, parentId, id, subject, capabilities, constraints }, operator) {
      const parent = await grants.find(namespaceId, parentId);
      if (parent === undefined) throw notFound("grant of this id to derive from");
      const request = {
        id,
        subject,
        capabilities: capabilities ?? parent.capabilities,
        issuedAt: clock().toISOString(),
      };
      const derived = deriveGrant(parent, constraints === undefined ? request : { ...request, constraints });
      if (!derived.ok) throw invalid(`This cannot be derived: ${ruleText(derived.reason)}`);
      await requireUsable(derived.grant);
      return operator.change(changeOf("grant.derive", derived.grant), () => issue(derived.grant));
    },
    async listGrants({ namespaceId, subject, issuer, state, resource, cursor, limit }) {
      const found: GrantEntry[] = [];
      // One of the two has an index that lists; of its grants, the others are looked at one by one.
      const indexed = subject === undefined ? { issuer } : { subject };
      const isWanted = (grant: Grant): boolean =>
        (issuer === undefined || samePrincipal(grant.issuer, issuer)) &&
        (resource === undefined || isOver(grant, resource));
      const isFiltered = [state, resource, subject && issuer].some((filter) => filter !== undefined);
      const atOnce = isFiltered ? scannedAtOnce : limit + 1;
      let after = cursor;
      for (let scanned = 0; scanned < maxScanned; scanned += atOnce) {
        const read = await grants.list(namespaceId, { ...indexed, after, limit: atOnce });
        for (const entry of (await checkGrants(stores, read.filter(isWanted), clock().toISOString())).map(entryOf)) {
          if (state !== undefined && entry.state !== state) continue;
          const last = found.at(-1);
          if (found.length === limit && last !== undefined) return { grants: found, cursor: columnText(last.grant.id) };
          found.push(entry);
        }
        const last = read.at(-1);
        if (last === undefined || read.length < atOnce) return { grants: found };
        after = columnText(last.id);
      }
      return { grants: found, ...(after !== undefined && { cursor: after }) };
    },
    async revokeGrant({ namespaceId, id }, operator) {
      const grant = await grants.findKept(namespaceId, id);
      if (grant === undefined) throw notFound("grant of this id in this tenant");
      return operator.change(changeOf("grant.revoke", grant), async () => {
        if (!(await grants.revoke(namespaceId, id, clock().toISOString())))
          throw conflict(
            `This grant was revoked before${grant.revokedAt === undefined ? "" : `, ${grant.revokedAt}`}.`,
          );
        const derived = await grants.descendants(namespaceId, id, namedDescendants + 1);
        const descendants = derived.slice(0, namedDescendants);
        return { revoked: id, descendants, ...(derived.length > namedDescendants && { hasMore: true }) };
      });
    },
  };
}

function changeOf(action: AdminChange, { namespaceId, id, subject, parentId }: Grant) {
  return { namespaceId, action, grantId: id, receiver: subject, ...(parentId && { metadata: { parentId } }) };
}

/** How many grants one page looks at, so that it takes little time however few fit; and how many of them at once. */
const [maxScanned, scannedAtOnce] = [1000, 500];
/** How many of the grants that become invalid a revocation names. */
const namedDescendants = 500;

type AdminChange = "grant.create" | "grant.derive" | "grant.revoke";

function isOver({ capabilities }: Grant, namespace: string): boolean {
  return capabilities.some(({ resource }) => resource.namespace === namespace);
}

const stateNames: Readonly<Record<GrantState, GrantEntry["state"]>> = {
  live: "live",
  "not-issued": "future",
  "not-yet-valid": "future",
  expired: "expired",
  revoked: "revoked",
  invalid: "invalid",
  exhausted: "exhausted",
  unknown: "unknown",
  // The check names no purpose, so this state does not occur.
  purpose: "unknown",
};

function entryOf({ grant, state, chain, used }: CheckedGrant): GrantEntry {
  return {
    grant,
    state: stateNames[state],
    ...(state === "invalid" && chain.kind === "invalid" && { rule: chain.rule }),
    ...(used !== undefined && { used }),
  };
}

function isBefore(one: string, other: string): boolean {
  return (parseInstant(one) ?? 0) < (parseInstant(other) ?? 0);
}
