import type { Grant } from "turnpike/contracts";
import type { LastingAnswer } from "../../escalations/index.ts";
import type { CredentialRecord, OperatedTurn, Remaining } from "../../admin-contract/index.ts";
import { invalid, type AdminServices } from "./admin-services.ts";

/** A position within a source: a tenant and an id, or an id alone. */
interface Place {
  tenant?: string | undefined;
  id: string;
}

/** A part of a source, and the position behind which the next part begins; undefined after the last. */
interface Part {
  items: Remaining[];
  next?: Place | undefined;
}

type Source = (
  services: AdminServices,
  credential: CredentialRecord,
  page: { after: Place | undefined; limit: number },
) => Promise<Part>;

/** How many parts of sources one page reads, so that it is quick however much has ended. */
const partsAtOnce = 20;

/** What a credential left behind, one source after the other: one page of it. */
export async function listRemaining(
  services: AdminServices,
  credential: CredentialRecord,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
): Promise<{ remaining: Remaining[]; cursor?: string }> {
  const remaining: Remaining[] = [];
  let place: CursorPlace | undefined = cursor === undefined ? { source: "sessions" } : placeOf(cursor);
  for (let parts = 0; place !== undefined && parts < partsAtOnce && remaining.length < limit; parts += 1) {
    const { source, after }: CursorPlace = place;
    const part: Part = await sources[source](services, credential, { after, limit: limit - remaining.length });
    remaining.push(...part.items);
    place = part.next === undefined ? beginningBehind(source) : { source, after: part.next };
  }
  return { remaining, ...(place && { cursor: cursorOf(place) }) };
}

const sources: Readonly<Record<SourceName, Source>> = {
  async sessions({ stores, clock }, { id }, { after, limit }) {
    const found = await stores.sessions.listOpen(id, clock(), { after: after?.id, limit: limit + 1 });
    const items = found.slice(0, limit).map((session) => ({ kind: "session" as const, ...session }));
    return { items, next: found.length > limit ? items.at(-1) : undefined };
  },
  async turns({ stores }, credential, { after, limit }) {
    const { turns, next } = await stores.turns.listOpenOf(credential, { after: after?.id, limit });
    return { items: turns.map(remainingTurn), next: next === undefined ? undefined : { id: next } };
  },
  async answers({ stores, clock }, { id }, { after, limit }) {
    const behind = after && { namespace_id: after.tenant ?? "", escalation_id: after.id };
    const at = clock().toISOString();
    const { answers, next } = await stores.escalations.answersOf(id, at, { after: behind, limit });
    const items: Remaining[] = [];
    for (const answer of answers) items.push(...(await remainingOfAnswer(stores.grants, answer, id)));
    return { items, next: next && { tenant: next.namespace_id, id: next.escalation_id } };
  },
  async grants({ stores, clock }, { id }, { after, limit }) {
    const behind = after && { namespace_id: after.tenant ?? "", id: after.id };
    const { grants, next } = await stores.grants.listMade(id, clock().toISOString(), { after: behind, limit });
    return { items: grants.map(remainingGrant), next: next && { tenant: next.namespace_id, id: next.id } };
  },
};

type SourceName = (typeof names)[number];

const names = ["sessions", "turns", "answers", "grants"] as const;

/** Where a page begins: behind a position in a source, or at the beginning of the source. */
interface CursorPlace {
  source: SourceName;
  after?: Place | undefined;
}

function beginningBehind(source: SourceName): CursorPlace | undefined {
  const next = names[names.indexOf(source) + 1];
  return next && { source: next };
}

/** A name may contain any character, so the length of the tenant's name comes first. */
function cursorOf({ source, after }: CursorPlace): string {
  if (after === undefined) return source;
  const { tenant = "", id } = after;
  return `${source}.${tenant.length}.${tenant}${id}`;
}

function placeOf(cursor: string): CursorPlace {
  const [head, name, length] = /^(\w+)(?:\.(\d{1,4})\.)?/.exec(cursor) ?? [];
  const source = names.find((one) => one === name);
  if (source === undefined || head === undefined || (length === undefined && cursor !== source))
    throw invalid("/cursor: expected the cursor of a page of what a credential left behind.");
  if (length === undefined) return { source };
  const idAt = head.length + Number(length);
  return { source, after: { tenant: cursor.slice(head.length, idAt), id: cursor.slice(idAt) } };
}

function remainingTurn({ namespaceId, actor, state, triedBy }: OperatedTurn): Remaining {
  const { executionId, status, startedAt } = state;
  return { kind: "turn", namespaceId, executionId, actor, status, startedAt, ...(triedBy && { triedBy }) };
}

/** What an answer left behind. A grant that was made with the credential itself is listed among the grants. */
async function remainingOfAnswer(
  grants: AdminServices["stores"]["grants"],
  { kind, record }: LastingAnswer,
  credentialId: string,
): Promise<Remaining[]> {
  const { namespaceId, id: escalationId, expiresAt, permitExpiresAt = expiresAt, grantId = "" } = record;
  if (kind === "approval") return [{ kind, namespaceId, escalationId, expiresAt }];
  if (kind === "permit") return [{ kind, namespaceId, escalationId, expiresAt: permitExpiresAt }];
  if ((await grants.findMaker(namespaceId, grantId)) === credentialId) return [];
  const grant = await grants.findStored(namespaceId, grantId);
  return grant === undefined ? [] : [remainingGrant(grant)];
}

function remainingGrant({ namespaceId, id: grantId, subject, constraints: { expiresAt } }: Grant): Remaining {
  return { kind: "grant", namespaceId, grantId, subject, ...(expiresAt !== undefined && { expiresAt }) };
}
