import type { Grant } from "turnpike/contracts";
import { deepFreeze } from "../../shared/index.ts";
import type { GrantChanges } from "../../grants/index.ts";
import type { AdminInput, ClosedEscalation } from "../../admin-contract/index.ts";
import { conflict, invalid, type AdminOperations, type AdminServices } from "./admin-services.ts";
import { checkGrants } from "./check-grants.ts";
import { recordClosed } from "./escalation-operations.ts";
import { idTaken, issueRefusal, requireChain, requireNoBudgets, requireUnbroken, requireOwnId } from "./grant-rules.ts";
import { previewDecisions, previewRegions } from "./preview-operations.ts";

type Input = AdminInput<"applyGrants">;

/** How often grants are checked again because another change of the host came in between. */
const attempts = 10;
/** How many grants are checked with one read of their parents. */
const checkedAtOnce = 500;
const maxNamed = 500;

/** Changing many grants of a tenant, all or nothing. */
export function applyOperations(services: AdminServices): AdminOperations<"applyGrants"> {
  const { stores, clock } = services;
  const { grants } = stores;

  const requireState = async ({ namespaceId, state: expected }: Input) => {
    const found = await grants.readState(namespaceId);
    if (expected !== undefined && found.state !== expected)
      throw conflict("/state: grants of this tenant were issued or revoked since. Show the difference again.");
    return found;
  };

  /** Writes a change that was checked at this state, and returns the state after it. */
  const write = async (input: Input, changes: GrantChanges): Promise<string> => {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const { revision } = await requireState(input);
      const isWritten = await grants.changeAll(input.namespaceId, changes, revision).catch(refuseIssue);
      if (isWritten) return (await grants.readState(input.namespaceId)).state;
    }
    throw conflict("The host is changed all the time. Nothing was done; try again.");
  };

  return {
    async applyGrants(input, operator) {
      const { namespaceId, issue: drafts = [], revoke = [], dryRun = false } = input;
      const { state } = await requireState(input);
      const at = clock().toISOString();
      const issue = drafts.map((draft) => deepFreeze({ ...draft, namespaceId, issuedAt: at }));
      const revoked = await requireRevocable(services, namespaceId, revoke);
      await requireIssuable(services, namespaceId, { issue, revoke, at });
      const named = await descendantsOf(services, namespaceId, revoked);
      const answer = { issued: issue.map(({ id }) => id), revoked: [...revoke], ...named };
      if (dryRun) {
        await requireUnbroken(services, namespaceId, { issue, revoke });
        const preview =
          input.preview === true ? await previewDecisions(services, namespaceId, { issue, revoke }) : undefined;
        const isChange = issue.length + revoke.length > 0;
        const regions = isChange ? await previewRegions(services, namespaceId, { issue, revoke }) : undefined;
        return { state, ...answer, ...(preview && { preview }), ...(regions && { regions }) };
      }
      const changed = [
        ...issue.map((grant) => changeOf(grant.parentId === undefined ? "grant.create" : "grant.derive", grant)),
        ...revoked.map((grant) => changeOf("grant.revoke", grant)),
      ];
      if (changed.length === 0) return { state, ...answer };
      // The change is written only if the state is still the one that it was checked at.
      const after = await operator.changeAll(changed, async () => {
        let closed: readonly ClosedEscalation[] = [];
        const also = (_transaction: unknown, ended: readonly ClosedEscalation[]): Promise<void> => {
          closed = ended;
          return Promise.resolve();
        };
        const written = await write({ ...input, state }, { issue, revoke, at, madeWith: operator.id, also });
        await recordClosed(operator, closed, services.wakeTurns);
        return written;
      });
      return { state: after, ...answer };
    },
  };
}

function changeOf(action: string, { namespaceId, id, subject, parentId }: Grant) {
  return { namespaceId, action, grantId: id, receiver: subject, ...(parentId && { metadata: { parentId } }) };
}

function refuseIssue(error: unknown): never {
  throw issueRefusal(error, "/issue");
}

/** The grants to revoke. Throws for one that is not there, is revoked, or is named twice. */
async function requireRevocable(
  { stores: { grants } }: AdminServices,
  namespaceId: string,
  ids: readonly string[],
): Promise<Grant[]> {
  const [found, counting] = [await grants.findAllStored(namespaceId, ids), await grants.findAll(namespaceId, ids)];
  if (new Set(ids).size < ids.length) throw invalid("/revoke: expected each grant once.");
  return ids.map((id, place) => {
    const grant = found.get(id);
    if (grant === undefined) throw invalid(`/revoke/${place}: there is no grant of this id in this tenant.`);
    // A revoked grant counts as revoked since it was issued.
    if (counting.get(id)?.revokedAt === grant.issuedAt) throw invalid(`/revoke/${place}: this grant is revoked.`);
    return grant;
  });
}

/** Refuses grants that could never be used after the whole change, and ids that are taken. */
async function requireIssuable(
  { stores }: AdminServices,
  namespaceId: string,
  { issue, revoke, at }: GrantChanges,
): Promise<void> {
  const ids = issue.map(({ id }) => id);
  const taken = await stores.grants.findAllStored(namespaceId, ids);
  const issued = new Map<string, Grant>();
  for (const [place, grant] of issue.entries()) {
    requireOwnId(grant, `/issue/${place}`);
    requireNoBudgets(grant, `/issue/${place}`);
    if (taken.has(grant.id) || issued.has(grant.id)) throw idTaken(`/issue/${place}`);
    issued.set(grant.id, grant);
  }
  const revoked = new Set(revoke);
  const findAll = async (tenant: string, wanted: readonly string[]): Promise<Map<string, Grant>> => {
    const found = await stores.grants.findAll(tenant, wanted);
    for (const id of wanted) {
      const grant = issued.get(id) ?? found.get(id);
      if (grant !== undefined) found.set(id, revoked.has(id) ? { ...grant, revokedAt: grant.issuedAt } : grant);
    }
    return found;
  };
  const after = { usage: stores.usage, grants: { ...stores.grants, findAll } };
  for (let start = 0; start < issue.length; start += checkedAtOnce) {
    const checked = await checkGrants(after, issue.slice(start, start + checkedAtOnce), at);
    for (const [place, one] of checked.entries()) requireChain(one, `/issue/${start + place}`);
  }
}

/** The grants that become invalid through the revocations, without those that are revoked themselves. */
async function descendantsOf(
  { stores: { grants } }: AdminServices,
  namespaceId: string,
  revoked: readonly Grant[],
): Promise<{ descendants: Grant[]; hasMore?: true }> {
  const seen = new Set(revoked.map(({ id }) => id));
  const found: Grant[] = [];
  let parents = [...seen];
  while (parents.length > 0 && found.length <= maxNamed) {
    const children = (await grants.children(namespaceId, parents)).filter(({ id }) => !seen.has(id));
    for (const { id } of children) seen.add(id);
    found.push(...children.filter(({ revokedAt }) => revokedAt === undefined));
    parents = children.map(({ id }) => id);
  }
  return { descendants: found.slice(0, maxNamed), ...(found.length > maxNamed && { hasMore: true }) };
}
