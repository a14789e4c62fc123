import { principalKey, type AuditEvent, type AuthorizationRequest, type PrincipalRef } from "turnpike/contracts";
import type { AuditPlace } from "../../audit/index.ts";
import type { AdminStores } from "./admin-services.ts";

/** An act that was decided, perhaps several times. */
export interface RecentAct {
  actor: PrincipalRef;
  authority: PrincipalRef;
  owner: PrincipalRef;
  purpose: string;
  request: AuthorizationRequest;
  /** Its newest decision. */
  last: AuditEvent;
  /** When its oldest decision was. */
  since: string;
  /** How many decisions there were. */
  count: number;
}

/** How many decisions are read at once, and in how many steps at most: an audit log may consist mostly of other events. */
const [readAtOnce, maxReads] = [250, 20];

/** The distinct acts of a tenant's last decisions, those that were decided last first. */
export async function readRecentActs(
  audit: AdminStores["audit"],
  namespaceId: string,
  most: number,
): Promise<RecentAct[]> {
  const acts = new Map<string, RecentAct>();
  let before: AuditPlace | undefined;
  let left = most;
  for (let reads = 0; reads < maxReads && left > 0; reads += 1) {
    // Every decision has this type. The outcome of the act is another event.
    const decisions = { type: "authorization.checked", before };
    const downTo = await audit.findScanEnd(namespaceId, decisions);
    const limit = Math.min(readAtOnce, left);
    const rows = await audit.list(namespaceId, { ...decisions, downTo, limit });
    for (const { event } of rows) if (addTo(acts, event)) left -= 1;
    before = rows.length === limit ? rows.at(-1) : downTo;
    if (before === undefined) break;
  }
  return [...acts.values()];
}

/** What else an act needed that was decided at once, of another kind than what the event names. */
interface OtherNeed {
  action?: string;
  namespace?: string;
  path: string[];
}

/** Adds a decision to its acts, one for each thing that it was about. Returns false for a decision that cannot be repeated. */
function addTo(acts: Map<string, RecentAct>, event: AuditEvent): boolean {
  const { authority, action, resource, metadata } = event;
  if (authority === undefined || action === undefined || resource === undefined) return false;
  addNeed(acts, event, authority, { action, resource });
  const others = (metadata?.["others"] ?? []) as unknown as readonly OtherNeed[];
  for (const { action: other = action, namespace = resource.namespace, path } of others)
    addNeed(acts, event, authority, { action: other, resource: { ...resource, namespace, path } });
  return true;
}

function addNeed(
  acts: Map<string, RecentAct>,
  event: AuditEvent,
  authority: PrincipalRef,
  { action, resource }: AuthorizationRequest,
): void {
  const { actor, owner, purpose } = event;
  const { namespace, path, owner: named } = resource;
  const principals = [actor, authority, owner, named].map((one) => one && principalKey(one));
  const key = JSON.stringify([principals, purpose, action, namespace, path]);
  const known = acts.get(key);
  if (known === undefined)
    acts.set(key, {
      actor,
      authority,
      owner,
      purpose,
      request: { action, resource },
      last: event,
      since: event.at,
      count: 1,
    });
  else Object.assign(known, { since: event.at, count: known.count + 1 });
}
