import {
  principalKey,
  type AccessContext,
  type AuditEvent,
  type AuthorizationRequest,
  type Grant,
} from "turnpike/contracts";
import type { GrantSource } from "turnpike/kernel";
import { z } from "zod";
import type { AuditPlace } from "../../audit/index.ts";
import type { GrantStore } from "../../grants/index.ts";
import type { AdminExplanation, AdminInput } from "../../admin-contract/index.ts";
import { conflict, isBefore, notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";
import { suggestGrant } from "./suggest-grant.ts";

type Access = AdminExplanation["access"];
type GivenAccess = Pick<AdminInput<"explain">, keyof Access>;

/** The reasons for a denial that another grant would remove. */
const lacksGrant: ReadonlySet<string> = new Set(["no_matching_grant", "grant_exhausted", "delegation_chain_invalid"]);

/** Why acts are allowed or denied. */
export function explainOperations(services: AdminServices): AdminOperations<"explain" | "explainDenial"> {
  return {
    explain: ({ resource, action, at, ...access }) => explainAct(services, accessOf(access), { resource, action }, at),
    async explainDenial(input) {
      const recorded = await lastDenial(services, input);
      const { resource, action } = recorded;
      const request = resource && action ? { resource, action } : undefined;
      const access = accessOf(recorded);
      const explanation = request
        ? await explainAct(services, access, request)
        : await explainRecorded(services, access, recorded);
      const toolNamespace = services
        .toolNamespaces(input.namespaceId)
        .find((name) => recorded.tool?.startsWith(`${name}.`));
      return { ...explanation, recorded, ...(toolNamespace !== undefined && { toolNamespace }) };
    },
  };
}

/** Explains an act as of an instant: now unless given. */
async function explainAct(
  services: AdminServices,
  access: Access,
  request: AuthorizationRequest,
  at?: string,
): Promise<AdminExplanation> {
  const { grants } = services.stores;
  const present = services.clock().toISOString();
  const now = at ?? present;
  const isPast = isBefore(now, present);
  const context: AccessContext = { ...access, now, traceId: crypto.randomUUID(), enabledToolNamespaces: [] };
  // A revoked grant is revoked now and at every later instant, whatever the clock of the revoking host said.
  const kernel = isPast ? services.readOnlyKernel(grantsOfThePast(grants)) : services.kernel;
  const { decision, policy, grants: considered } = await kernel.explain(context, request);
  const ids = considered.map(({ grantId }) => grantId);
  const found = await grants.findAllStored(access.namespaceId, ids);
  const shown = considered.flatMap(({ grantId, failed, chain }) => {
    const grant = found.get(grantId);
    if (grant === undefined) return [];
    return [{ grant, ...(failed && { failed }), ...(chain?.kind === "invalid" && { rule: chain.rule }) }];
  });
  // A grant of "*" would allow every action, not only this one. And no new grant allows an act of the past.
  const isGrantable = lacksGrant.has(decision.reasonCode) && request.action !== "*" && !isPast;
  const advice = isGrantable && (await suggestGrant(services, access, request));
  return { decision, access, request, policy, grants: shown, ...advice };
}

/** Grants as they were at an earlier instant: one that was revoked since then still counts. */
function grantsOfThePast({ loadStored, findStored }: GrantStore): GrantSource<readonly Grant[]> {
  return { load: loadStored, find: findStored };
}

const RecordedGrantsSchema = z.object({
  grants: z.array(z.object({ grantId: z.string(), failed: z.string().optional(), rule: z.string().optional() })),
});

/** Explains a denial without a decision from the audit log: with the grants that were considered then, as they are now. */
async function explainRecorded(
  { stores: { grants } }: AdminServices,
  access: Access,
  recorded: AuditEvent,
): Promise<AdminExplanation> {
  const { reason: reasonCode = "tool_unavailable", metadata } = recorded;
  const { data } = RecordedGrantsSchema.safeParse(metadata);
  const shown: AdminExplanation["grants"] = [];
  for (const { grantId, failed, rule } of data?.grants ?? []) {
    const grant = await grants.findStored(access.namespaceId, grantId);
    if (grant !== undefined) shown.push({ grant, ...(failed && { failed }), ...(rule && { rule }) });
  }
  return { decision: { allowed: false, reasonCode }, access, policy: "not-asked", grants: shown };
}

function accessOf({ namespaceId, actor, owner = actor, authority = owner, purpose }: GivenAccess): Access {
  return { namespaceId, actor, owner, authority, purpose };
}

/** The last denial of a trace. Its decision is preferred, because it says more than the outcome. A hidden tool has none. */
async function lastDenial(
  { stores: { audit } }: AdminServices,
  { namespaceId, traceId, actor }: AdminInput<"explainDenial">,
): Promise<AuditEvent> {
  const denials = { traceId, actor, outcome: "denied" };
  let events: AuditEvent[] = [];
  let before: AuditPlace | undefined;
  do {
    const downTo = await audit.findScanEnd(namespaceId, { ...denials, before });
    const rows = await audit.list(namespaceId, { ...denials, before, downTo, limit: 50 });
    events = rows.map(({ event }) => event);
    before = downTo;
  } while (events.length === 0 && before !== undefined);
  const [latest] = events;
  if (latest === undefined) throw notFound("denial of this trace in the audit log");
  // The caller chooses the trace id, so the denials of two principals in one trace must not be mixed up.
  if (new Set(events.map((event) => principalKey(event.actor))).size > 1)
    throw conflict("/actor: several principals were denied in this trace. Name one.");
  const { operationId, messageId } = latest;
  const isItsDecision = (event: AuditEvent): boolean =>
    event.type === "authorization.checked" && event.operationId === operationId && event.messageId === messageId;
  return events.find(isItsDecision) ?? latest;
}
