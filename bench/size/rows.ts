// Many rows from a few real ones. A row keeps every column of its template that is not named here, so that it fits the
// schema for as long as these columns mean what they do.
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { principalKey, type AuditEvent, type Grant, type PrincipalRef } from "turnpike/contracts";
import type { Row } from "./tables.ts";

/** How much there is to be of everything. */
export interface Amounts {
  readonly audit: number;
  readonly grants: number;
  readonly replay: number;
  readonly credentials: number;
  readonly escalations: number;
  readonly messages: number;
}

const day = 86_400_000;
const actors = 1000;

export function agentOf(place: number): PrincipalRef & { kind: "agent" } {
  return { kind: "agent", agentId: `agent-${place}` };
}

function issuerOf(place: number): PrincipalRef {
  return { kind: "human", userId: `user-${place % 100}` };
}

/**
 * The audit log of a tenant behind its head: each row's hash covers the one before it, its number and its content. Three
 * months of it, by a thousand actors, four events a trace, one in a hundred of them denied.
 */
export function* auditRows(head: Row, templates: readonly Row[], count: number, now: number): Generator<Row> {
  let [sequence, hash] = [Number(head["sequence"]), String(head["hash"])];
  const kinds = templates.map(eventTemplate);
  const denied = kinds.filter(({ row }) => row["outcome"] === "denied");
  const others = kinds.filter(({ row }) => row["outcome"] !== "denied");
  for (let place = 0; place < count; place += 1) {
    const among = place % 100 === 99 ? denied : others;
    const kind = among[place % among.length];
    if (kind === undefined) throw new Error("there is no event to make others of");
    const id = randomUUID();
    const at = new Date(now - 90 * day + Math.floor((place / count) * 90 * day)).toISOString();
    const trace_id = `trace-${Math.floor(place / 4)}`;
    const actor = agentOf(place % actors);
    const content = kind.contentOf({ id, at, traceId: trace_id, agentId: actor.agentId });
    sequence += 1;
    hash = createHash("sha256").update(`${hash}\n${sequence}\n${content}`).digest("hex");
    yield { ...kind.row, sequence, id, at, trace_id, actor: principalKey(actor), content, hash };
  }
}

/** An event as canonical text with four places to fill in: to serialize each of a million anew would take minutes. */
function eventTemplate(row: Row) {
  const content = String(row["content"]);
  const { id, at, traceId } = JSON.parse(content) as AuditEvent;
  const marked = content
    .replace(`"id":${JSON.stringify(id)}`, '"id":"@id"')
    .replace(`"at":${JSON.stringify(at)}`, '"at":"@at"')
    .replace(`"traceId":${JSON.stringify(traceId)}`, '"traceId":"@traceId"')
    .replace(/"actor":\{[^}]*\}/, '"actor":{"agentId":"@agentId","kind":"agent"}');
  const parts = marked.split(/@(id|at|traceId|agentId)(?=")/);
  const contentOf = (values: Readonly<Record<string, string>>): string =>
    parts.map((part, place) => (place % 2 === 0 ? part : values[part])).join("");
  return { row, contentOf };
}

/**
 * Grants of every state. A tenth of them are one agent's; of twenty, one each is expired, revoked, still to come, used up,
 * derived from a live one, and derived from one that is not there.
 */
export function grantOf(template: Grant, place: number, now: number): { grant: Grant; isRevoked: boolean } {
  const subject = place % 10 === 0 ? agentOf(0) : agentOf(place % actors);
  const grant: Grant = {
    ...template,
    id: grantId(place),
    subject,
    issuer: issuerOf(place),
    capabilities: [
      { resource: { namespace: "files", path: [`folder-${place}`] }, actions: ["read"], scope: "descendants" },
    ],
    constraints: {},
    issuedAt: new Date(now - 30 * day).toISOString(),
  };
  const live = { isRevoked: false };
  switch (place % 20) {
    case 13:
      return { ...live, grant: { ...grant, constraints: { expiresAt: new Date(now - day).toISOString() } } };
    case 14:
      return { grant: { ...grant, revokedAt: new Date(now - day).toISOString() }, isRevoked: true };
    case 15:
      return { ...live, grant: { ...grant, constraints: { notBefore: new Date(now + 30 * day).toISOString() } } };
    case 16:
      return { ...live, grant: { ...grant, constraints: { maxUses: 3 } } };
    case 17:
      return { ...live, grant: { ...grant, constraints: { delegationDepth: 3 } } };
    case 18: {
      // From the one before, which may be passed on.
      const parent = grantOf(template, place - 1, now).grant;
      const { capabilities } = parent;
      const derived = {
        capabilities,
        parentId: parent.id,
        issuer: parent.subject,
        constraints: { delegationDepth: 2 },
      };
      return { ...live, grant: { ...grant, ...derived } };
    }
    case 19:
      return { ...live, grant: { ...grant, parentId: "not-there" } };
    default:
      return { ...live, grant };
  }
}

export function grantId(place: number): string {
  return `grant-${String(place).padStart(8, "0")}`;
}

export function* grantRows(template: Row, count: number, now: number): Generator<Row> {
  const stored = JSON.parse(String(template["content"])) as Grant;
  for (let place = 0; place < count; place += 1) {
    const { grant, isRevoked } = grantOf(stored, place, now);
    yield {
      ...template,
      id: grant.id,
      subject: principalKey(grant.subject),
      issuer: principalKey(grant.issuer),
      parent_id: grant.parentId ?? null,
      content: JSON.stringify({ ...grant, ...(isRevoked && { revoked: true }) }),
    };
  }
}

/** The counted uses of the grants that have some. */
export function* useRows(namespaceId: string, count: number): Generator<Row> {
  for (let place = 16; place < count; place += 20)
    yield { namespace_id: namespaceId, grant_id: grantId(place), used: 3 };
}

/** Results of calls; one in ten is past its retention, and has no result any more. */
export function* replayRows(template: Row, count: number, now: number): Generator<Row> {
  for (let place = 0; place < count; place += 1) {
    yield {
      ...template,
      actor: principalKey(agentOf(place % actors)),
      scope: `trace-${Math.floor(place / 4)}`,
      id: randomUUID(),
      claim: randomUUID(),
      fingerprint: randomBytes(32).toString("hex"),
      finished_at: new Date(now - 6 * day + Math.floor((place / count) * 6 * day)).toISOString(),
      ...(place % 10 === 0 && { result: null }),
    };
  }
}

export function* credentialRows(template: Row, count: number): Generator<Row> {
  for (let place = 0; place < count; place += 1) {
    yield {
      ...template,
      id: randomBytes(8).toString("hex"),
      namespace_id: place % 100 === 0 ? "small-tenant" : (template["namespace_id"] ?? null),
      secret_hash: randomBytes(32).toString("hex"),
    };
  }
}

/** Of ten questions one waits; the others were answered, or no one did in time. */
export function* escalationRows(template: Row, count: number): Generator<Row> {
  const stored = JSON.parse(String(template["content"])) as { status: string };
  const states = ["pending", "approved", "denied", "expired"];
  for (let place = 0; place < count; place += 1) {
    const status = place % 10 === 0 ? "pending" : (states[1 + (place % 3)] ?? "denied");
    const requester = agentOf(place % actors);
    const id = `q${(1_000_000 + place).toString(36)}${randomBytes(4).toString("hex")}`;
    const ask = randomBytes(32).toString("hex");
    const content = JSON.stringify({ ...stored, id, ask, status, requester });
    yield { ...template, id, ask, status, requester: principalKey(requester), content };
  }
}

/** One inbox, nine of ten messages in it unread. */
export function* messageRows(template: Row, count: number): Generator<Row> {
  const stored = JSON.parse(String(template["content"])) as object;
  const first = Number(template["sequence"]);
  for (let place = 1; place <= count; place += 1) {
    const id = randomUUID();
    const acknowledged_at = place % 10 === 0 ? (template["received_at"] ?? null) : null;
    yield { ...template, sequence: first + place, id, content: JSON.stringify({ ...stored, id }), acknowledged_at };
  }
}
