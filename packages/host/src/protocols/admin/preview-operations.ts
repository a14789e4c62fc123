import { ServiceHttpError } from "turnpike/http";
import type { Grant } from "turnpike/contracts";
import type { Kernel } from "turnpike/kernel";
import { deepFreeze, mapInSlices } from "../../shared/index.ts";
import { compareChange, readOnce, withChange, type GrantChange } from "../../grants/index.ts";
import type { AdminInput, AdminOutput } from "../../admin-contract/index.ts";
import { deriveChild, idTaken, nameDescendants, requireUnbroken, requireUsable, revokedBefore } from "./grant-rules.ts";
import { invalid, isBefore, notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";
import { readRecentActs, type RecentAct } from "./recent-acts.ts";
import { requireNotBeingDeleted } from "./tenant-operations.ts";

type Preview = AdminOutput<"previewGrant">;
type Changed = Preview["changed"][number];

/** How many decisions a change is compared with, and for how long. */
const limits = { decisions: 1000, ms: 5000 };

/** The reasons for a denial that say nothing about the grants: something could not be read. */
const undecided: ReadonlySet<string> = new Set([
  "authority_unavailable",
  "delegation_chain_unverified",
  "usage_store_unavailable",
  "budget_store_unavailable",
  "permit_store_unavailable",
]);

/** What a change of grants would do, before it is made. */
export function previewOperations(
  services: AdminServices,
  { decisions, ms } = limits,
): AdminOperations<"previewGrant"> {
  const { stores, clock } = services;
  /** Throws why a draft could not be issued as it is. */
  const requireIssuable = async (draft: Grant): Promise<void> => {
    await requireNotBeingDeleted(services, draft.namespaceId);
    await requireUsable(services, draft);
    if ((await stores.grants.findStored(draft.namespaceId, draft.id)) !== undefined) throw idTaken();
    await requireUnbroken(services, draft.namespaceId, { issue: [draft] });
  };
  const issueOf = async (grant: Grant): Promise<Outlook> => {
    const problem = await problemOf(requireIssuable(grant));
    return { change: { issue: [deepFreeze(grant)] }, descendants: [], problem };
  };
  const changeOf = async (input: AdminInput<"previewGrant">): Promise<Outlook> => {
    const { namespaceId, draft, derive, revoke = "" } = input;
    if (draft !== undefined) {
      // INVARIANT: nothing of another tenant is read, because this operator may not know it.
      if (draft.namespaceId !== namespaceId) throw invalid("/draft/namespaceId: expected the tenant of the request.");
      return issueOf(draft);
    }
    if (derive !== undefined) {
      let child: Grant | undefined;
      const problem = await problemOf(
        deriveChild(services, { namespaceId, ...derive }).then((grant) => void (child = grant)),
      );
      return child === undefined ? { change: {}, descendants: [], problem } : issueOf(child);
    }
    const grant = await stores.grants.findStored(namespaceId, revoke);
    if (grant === undefined) throw notFound("grant of this id in this tenant");
    const isOver = grant.revokedAt !== undefined && !isBefore(clock().toISOString(), grant.revokedAt);
    const problem = isOver ? revokedBefore(grant).message : undefined;
    return { change: { revoke: [grant.id] }, problem, ...(await nameDescendants(stores.grants, grant)) };
  };
  return {
    async previewGrant(input) {
      const { change, problem, ...named } = await changeOf(input);
      if (problem !== undefined) return { ...named, problem, looked: 0, changed: [] };
      const regions = await previewRegions(services, input.namespaceId, change);
      return {
        ...named,
        ...(await previewDecisions(services, input.namespaceId, change, { decisions, ms })),
        regions,
      };
    },
  };
}

/** What a change of the grants of a tenant does for all requests from now on. */
export async function previewRegions(
  { stores, clock }: AdminServices,
  namespaceId: string,
  change: GrantChange,
): Promise<AdminOutput<"previewGrant">["regions"]> {
  const at = clock().toISOString();
  return compareChange(await stores.grants.readUnended(namespaceId, at), change, at);
}

/** Which of the last decisions of a tenant a change of its grants would change. */
export async function previewDecisions(
  services: AdminServices,
  namespaceId: string,
  change: GrantChange,
  { decisions, ms } = limits,
): Promise<DecisionPreview> {
  const acts = await readRecentActs(services.stores.audit, namespaceId, decisions);
  return holdAgainst(services, change, acts, ms);
}

type DecisionPreview = Pick<Preview, "looked" | "since" | "changed">;

/** A change, and what can be said of it without any decision. */
interface Outlook extends Pick<Preview, "descendants" | "hasMore"> {
  change: GrantChange;
  problem: string | undefined;
}

async function problemOf(check: Promise<void>): Promise<string | undefined> {
  try {
    await check;
    return undefined;
  } catch (error) {
    if (error instanceof ServiceHttpError) return error.message;
    throw error;
  }
}

/**
 * Decides each act twice, with the grants as they are and as they would be. Both decisions use grants that were read once, so
 * that only the change makes a difference. When the time is over, older acts are left out.
 */
async function holdAgainst(
  { stores, readOnlyKernel, clock }: AdminServices,
  change: GrantChange,
  acts: readonly RecentAct[],
  ms: number,
): Promise<DecisionPreview> {
  const grants = readOnce(stores.grants);
  const [before, after] = [readOnlyKernel(grants), readOnlyKernel(withChange(grants, change))];
  const now = clock().toISOString();
  const endsAt = performance.now() + ms;
  const decided: RecentAct[] = [];
  const compared = await mapInSlices(acts, async (act): Promise<Changed[]> => {
    if (performance.now() >= endsAt) return [];
    const verdicts = { before: await verdictOf(before, act, now), after: await verdictOf(after, act, now) };
    // For an act that cannot be decided now, no change can be predicted.
    if (undecided.has(verdicts.before.reasonCode)) return [];
    decided.push(act);
    return verdicts.before.reasonCode === verdicts.after.reasonCode ? [] : [{ ...changedOf(act), ...verdicts }];
  });
  const times = decided.map(({ since }) => since).toSorted();
  return {
    looked: decided.reduce((sum, { count }) => sum + count, 0),
    ...(times[0] !== undefined && { since: times[0] }),
    changed: compared.flat(),
  };
}

/** Decides an act without recording it or counting a use. */
async function verdictOf(
  kernel: Pick<Kernel, "authorize">,
  { actor, authority, owner, purpose, request, last }: RecentAct,
  now: string,
): Promise<Changed["before"]> {
  const { namespaceId, traceId } = last;
  const context = { namespaceId, actor, authority, owner, purpose, traceId, now, enabledToolNamespaces: [] };
  const { allowed, reasonCode } = await kernel.authorize(context, request);
  return { allowed, reasonCode };
}

function changedOf({ last, actor, authority, owner, purpose, request, count }: RecentAct) {
  const { at, traceId, tool } = last;
  return { at, traceId, actor, authority, owner, purpose, ...request, ...(tool !== undefined && { tool }), count };
}
