import { samePrincipal, type Grant } from "turnpike/contracts";
import type { GrantState } from "turnpike/kernel";
import type { AdmittedOperator } from "../../access/index.ts";
import { columnText } from "../../shared/index.ts";
import type { AdminInput, ClosedEscalation, GrantEntry } from "../../admin-contract/index.ts";
import { acrossTenants } from "./across-tenants.ts";
import { checkGrants, type CheckedGrant } from "./check-grants.ts";
import { recordClosed } from "./escalation-operations.ts";
import { deriveChild, issueRefusal, nameDescendants, requireUsable, revokedBefore } from "./grant-rules.ts";
import { notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Issuing, deriving, listing and revoking grants. */
export function grantOperations(
  services: AdminServices,
): AdminOperations<"createGrant" | "deriveGrant" | "listGrants" | "revokeGrant"> {
  const { stores, clock, wakeTurns } = services;
  const { grants } = stores;
  const issue = async (grant: Grant, { id }: AdmittedOperator): Promise<Grant> => {
    try {
      await grants.issue(grant, id, clock().toISOString());
      return grant;
    } catch (error) {
      throw issueRefusal(error);
    }
  };
  return {
    async createGrant(grant, operator) {
      await requireUsable(services, grant);
      return operator.change(changeOf("grant.create", grant), () => issue(grant, operator));
    },
    async deriveGrant(input, operator) {
      const grant = await deriveChild(services, input);
      await requireUsable(services, grant);
      return operator.change(changeOf("grant.derive", grant), () => issue(grant, operator));
    },
    listGrants: acrossTenants(services, "grants", async (input: AdminInput<"listGrants"> & { namespaceId: string }) => {
      const { namespaceId, id, subject, issuer, state, resource, parent, cursor, limit } = input;
      const found: GrantEntry[] = [];
      // One filter is answered by an index. The other filters are checked on each of its grants.
      const indexed = parent !== undefined ? { parent } : subject === undefined ? { issuer } : { subject };
      const isWanted = (grant: Grant): boolean =>
        (subject === undefined || samePrincipal(grant.subject, subject)) &&
        (issuer === undefined || samePrincipal(grant.issuer, issuer)) &&
        (parent === undefined || grant.parentId === parent) &&
        (resource === undefined || isOver(grant, resource));
      if (id !== undefined) {
        const grant = await grants.findStored(namespaceId, id);
        const checked = await checkGrants(stores, grant && isWanted(grant) ? [grant] : [], clock().toISOString());
        return { grants: checked.map(entryOf).filter((entry) => state === undefined || entry.state === state) };
      }
      const isFiltered = [state, resource, subject && issuer, parent && (subject ?? issuer)].some(
        (filter) => filter !== undefined,
      );
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
    }),
    async revokeGrant({ namespaceId, id }, operator) {
      const grant = await grants.findStored(namespaceId, id);
      if (grant === undefined) throw notFound("grant of this id in this tenant");
      return operator.change(changeOf("grant.revoke", grant), async () => {
        let closed: readonly ClosedEscalation[] = [];
        const isRevoked = await grants.revoke(namespaceId, id, clock().toISOString(), (_transaction, ended) => {
          closed = ended;
          return Promise.resolve();
        });
        if (!isRevoked) throw revokedBefore(grant);
        await recordClosed(operator, closed, wakeTurns);
        return { revoked: id, ...(await nameDescendants(grants, grant)) };
      });
    },
  };
}

/** What the audit log says of a change of a grant. */
export function changeOf(action: AdminChange, { namespaceId, id, subject, parentId }: Grant) {
  return { namespaceId, action, grantId: id, receiver: subject, ...(parentId && { metadata: { parentId } }) };
}

/** How many grants one page reads, so that it is quick even if few match; and how many of them at once. */
const [maxScanned, scannedAtOnce] = [1000, 500];

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
