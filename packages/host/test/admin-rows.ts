import { connectedTokens } from "./connections.ts";
/** Every route of the operators as the wire knows it, with an input that it takes. */
import type { AdminRouteName } from "../src/admin-contract/admin-routes.ts";
import { askIn, escalation, officeTime, oona, type Office } from "./office.ts";
import { access, alice, assistant, auditEvent, grant } from "./records.ts";
import { beginTurn, turnToBegin } from "./turn-journals.ts";

export type Input = Readonly<Record<string, unknown>>;

/** Where the input is taken: what there is, and what the clock of the host says. */
type Place = Pick<Office, "stores" | "time"> & Partial<Pick<Office, "tokens" | "addMessage">>;

/** One route as the wire knows it, with an input that it takes. */
export interface AdminRow {
  method: "GET" | "POST";
  path: string;
  /** What a POST that succeeds answers. */
  status?: 200 | 201;
  /** How the audit log calls the change; absent when nothing changes. */
  action?: string;
  /** The tenant in whose audit log the change is; the one of the input unless given. */
  auditTenant?: string;
  input(office: Place, tenant: string): Input | Promise<Input>;
}

/** Alice, once she has signed in to a tenant. */
export async function signedIn({ people }: Pick<Place["stores"], "people">, namespaceId: string) {
  const entered = await people.enter(
    {
      kind: "person",
      issuer: "https://id.example",
      providerSubject: "alice",
      namespaceId,
      principal: alice,
      name: "Alice",
      access: { actor: alice, owner: alice, purposes: ["work"], signedIn: true },
      holds: undefined,
    },
    "2026-01-01T00:00:00.000Z",
  );
  if (entered.kind !== "entered") throw new Error(`Alice is not let in: ${entered.kind}.`);
  return entered.person;
}

export const adminRows: Readonly<Record<AdminRouteName, AdminRow>> = {
  createCredential: {
    method: "POST",
    path: "/admin/v1/credentials",
    status: 201,
    action: "credential.create",
    input: (_office, namespaceId) => ({ namespaceId, access, expiresAt: "2099-01-01T00:00:00Z" }),
  },
  listCredentials: {
    method: "GET",
    path: "/admin/v1/credentials",
    async input({ stores }, namespaceId) {
      await stores.credentials.create({ namespaceId, access });
      return { namespaceId };
    },
  },
  showCredential: {
    method: "GET",
    path: "/admin/v1/credentials/{id}",
    input: async ({ stores }, namespaceId) => ({ id: (await stores.credentials.create({ namespaceId, access })).id }),
  },
  revokeCredential: {
    method: "POST",
    path: "/admin/v1/credentials/revoke",
    status: 200,
    action: "credential.revoke",
    input: async ({ stores }, namespaceId) => ({ id: (await stores.credentials.create({ namespaceId, access })).id }),
  },
  rotateCredential: {
    method: "POST",
    path: "/admin/v1/credentials/rotate",
    status: 200,
    action: "credential.rotate",
    input: async ({ stores }, namespaceId) => ({ id: (await stores.credentials.create({ namespaceId, access })).id }),
  },
  createGrant: {
    method: "POST",
    path: "/admin/v1/grants",
    status: 201,
    action: "grant.create",
    input: (_office, namespaceId) => ({ ...grant("grant-1", { namespaceId }) }),
  },
  deriveGrant: {
    method: "POST",
    path: "/admin/v1/grants/derive",
    status: 201,
    action: "grant.derive",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("parent", { namespaceId, constraints: { delegationDepth: 1 } }));
      return { namespaceId, parentId: "parent", id: "child", subject: alice };
    },
  },
  listGrants: {
    method: "GET",
    path: "/admin/v1/grants",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId, constraints: { maxUses: 3 } }));
      return { namespaceId };
    },
  },
  revokeGrant: {
    method: "POST",
    path: "/admin/v1/grants/revoke",
    status: 200,
    action: "grant.revoke",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId, id: "grant-1" };
    },
  },
  applyGrants: {
    method: "POST",
    path: "/admin/v1/grants/apply",
    status: 200,
    action: "grant.create",
    async input({ stores }, namespaceId) {
      const { subject, issuer, capabilities, constraints } = grant("grant-1");
      const { state } = await stores.grants.readState(namespaceId);
      return { namespaceId, state, issue: [{ id: "grant-1", subject, issuer, capabilities, constraints }] };
    },
  },
  listEscalations: {
    method: "GET",
    path: "/admin/v1/escalations",
    async input(place, namespaceId) {
      await ask(place, namespaceId);
      return { namespaceId };
    },
  },
  showEscalation: {
    method: "GET",
    path: "/admin/v1/escalations/{namespaceId}/{id}",
    async input(place, namespaceId) {
      const { id } = await ask(place, namespaceId);
      return { namespaceId, id };
    },
  },
  approveEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/approve",
    status: 200,
    action: "escalation.approve",
    async input(place, namespaceId) {
      const { id, ask: hash } = await ask(place, namespaceId);
      const expiresAt = new Date(Date.parse(place.time.now) + 3_600_000).toISOString();
      return { namespaceId, id, ask: hash, expiresAt, maxUses: 1 };
    },
  },
  denyEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/deny",
    status: 200,
    action: "escalation.deny",
    async input(place, namespaceId) {
      const { id, ask: hash } = await ask(place, namespaceId);
      return { namespaceId, id, ask: hash, reason: "The diary stays private." };
    },
  },
  withdrawEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/withdraw",
    status: 200,
    action: "escalation.withdraw",
    async input(place, namespaceId) {
      const { id, ask: hash } = await ask(place, namespaceId);
      const answer = { namespaceId, id, ask: hash, by: "operator-1", person: oona, at: place.time.now };
      await place.stores.escalations.approve(answer);
      return { namespaceId, id, ask: hash, reason: "The invoice is a forgery." };
    },
  },
  listAllTurns: {
    method: "GET",
    path: "/admin/v1/turns",
    async input({ stores }, namespaceId) {
      await beginTurn(stores.turns, turnToBegin(namespaceId, "turn-1"));
      return { namespaceId, status: "running,waiting" };
    },
  },
  inspectTurn: {
    method: "GET",
    path: "/admin/v1/turns/{namespaceId}/{executionId}",
    async input({ stores }, namespaceId) {
      await beginTurn(stores.turns, turnToBegin(namespaceId, "turn/1"));
      return { namespaceId, executionId: "turn/1", actor: "agent:assistant" };
    },
  },
  cancelAnyTurn: {
    method: "POST",
    path: "/admin/v1/turns/{namespaceId}/{executionId}/cancel",
    status: 200,
    action: "turn.cancel",
    async input({ stores }, namespaceId) {
      await beginTurn(stores.turns, turnToBegin(namespaceId, "turn-1"));
      return { namespaceId, executionId: "turn-1" };
    },
  },
  listAudit: {
    method: "GET",
    path: "/admin/v1/audit",
    async input({ stores }, namespaceId) {
      await stores.audit.record(auditEvent("event-1", { namespaceId }));
      return { namespaceId };
    },
  },
  verifyAudit: {
    method: "GET",
    path: "/admin/v1/audit/verify",
    async input({ stores }, namespaceId) {
      await stores.audit.record(auditEvent("event-1", { namespaceId }));
      return { namespaceId };
    },
  },
  verifyAuditHeads: {
    method: "POST",
    path: "/admin/v1/audit/verify",
    status: 200,
    async input({ stores }, namespaceId) {
      await stores.audit.record(auditEvent("event-1", { namespaceId }));
      const { heads } = await stores.audit.verify(namespaceId);
      return { namespaceId, heads: heads.map((head) => ({ ...head, checkpoint: { sequence: 1, at: officeTime } })) };
    },
  },
  exportAudit: {
    method: "POST",
    path: "/admin/v1/audit/export",
    status: 200,
    async input({ stores }, namespaceId) {
      await stores.audit.record(auditEvent("1", { namespaceId }));
      return { namespaceId, before: "2099-01-01T00:00:00Z" };
    },
  },
  readCheckpoints: { method: "GET", path: "/admin/v1/audit/checkpoints", input: () => ({ from: 0 }) },
  readAuditKey: { method: "GET", path: "/admin/v1/audit/key", input: () => ({}) },
  deleteTenant: {
    method: "POST",
    path: "/admin/v1/tenants/delete",
    status: 200,
    action: "tenant.delete",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId, confirm: namespaceId };
    },
  },
  explain: {
    method: "POST",
    path: "/admin/v1/explanations",
    status: 200,
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      const resource = { namespace: "files", path: ["diary"] };
      return { namespaceId, actor: assistant, owner: alice, purpose: "support", action: "read", resource };
    },
  },
  explainDenial: {
    method: "POST",
    path: "/admin/v1/explanations/denial",
    status: 200,
    async input({ stores }, namespaceId) {
      await stores.audit.record(auditEvent("1", { namespaceId, outcome: "denied", reason: "no_matching_grant" }));
      return { namespaceId, traceId: "trace-1" };
    },
  },
  readNamespaces: {
    method: "GET",
    path: "/admin/v1/namespaces",
    input: (_office, namespaceId) => ({ namespaceId, actor: "agent:assistant" }),
  },
  readNames: {
    method: "GET",
    path: "/admin/v1/names",
    input: (_office, namespaceId) => ({ namespaceId }),
  },
  listNamespaces: {
    method: "GET",
    path: "/admin/v1/namespaces/settings",
    async input({ stores }, namespaceId) {
      await stores.settings.change({ namespaceId, actor: assistant }, { enable: ["files"] });
      return { namespaceId };
    },
  },
  changeNamespaces: {
    method: "POST",
    path: "/admin/v1/namespaces",
    status: 200,
    action: "namespaces.update",
    input: (_office, namespaceId) => ({ namespaceId, actor: assistant, update: { enable: ["files"] } }),
  },
  listMcpServers: { method: "GET", path: "/admin/v1/mcp/servers", input: () => ({}) },
  reviewMcpServer: {
    method: "GET",
    path: "/admin/v1/mcp/servers/{server}/review",
    input: () => ({ server: "notes" }),
  },
  acceptMcpTools: {
    method: "POST",
    path: "/admin/v1/mcp/servers/{server}/accept",
    status: 200,
    action: "mcp.accept",
    auditTenant: "operators",
    async input({ stores }) {
      // Something else was accepted before, so that there is something to accept.
      await stores.mcpPins.pin("notes", [{ tool: "echo", hash: "0".repeat(64), definition: "{}" }], "human:oona");
      return { server: "notes", tools: [{ tool: "echo", hash: echoHash }] };
    },
  },
  createSession: {
    method: "POST",
    path: "/admin/v1/sessions",
    status: 201,
    action: "session.create",
    auditTenant: "operators",
    async input({ stores, tokens }) {
      if (tokens !== undefined) return { token: tokens.operator };
      const operator = { actor: alice, owner: alice, purposes: ["operate"], admin: true };
      return { token: (await stores.credentials.create({ namespaceId: "operators", access: operator })).token };
    },
  },
  readSession: { method: "GET", path: "/admin/v1/session", input: () => ({}) },
  // Sent with a token, there is none to end.
  endSession: { method: "POST", path: "/admin/v1/sessions/end", status: 200, input: () => ({}) },
  createCode: {
    method: "POST",
    path: "/admin/v1/codes",
    status: 201,
    action: "code.create",
    auditTenant: "operators",
    input: () => ({}),
  },
  listPeople: {
    method: "GET",
    path: "/admin/v1/people",
    async input({ stores }, namespaceId) {
      await signedIn(stores, namespaceId);
      return { namespaceId };
    },
  },
  revokePerson: {
    method: "POST",
    path: "/admin/v1/people/revoke",
    status: 200,
    action: "person.revoke",
    input: async ({ stores }, namespaceId) => ({
      namespaceId,
      principal: (await signedIn(stores, namespaceId)).principal,
    }),
  },
  restorePerson: {
    method: "POST",
    path: "/admin/v1/people/restore",
    status: 200,
    action: "person.restore",
    async input({ stores }, namespaceId) {
      const { principal, credentialId } = await signedIn(stores, namespaceId);
      await stores.credentials.revoke(credentialId, "2026-01-01T00:00:00.000Z");
      return { namespaceId, principal };
    },
  },
  listConnections: {
    method: "GET",
    path: "/admin/v1/connections",
    async input({ stores }, namespaceId) {
      await connectedTokens(stores, await signedIn(stores, namespaceId));
      return { namespaceId };
    },
  },
  showConnection: {
    method: "GET",
    path: "/admin/v1/connections/show",
    async input({ stores }, namespaceId) {
      const { connection } = await connectedTokens(stores, await signedIn(stores, namespaceId));
      return { namespaceId, id: connection.id };
    },
  },
  revokeConnection: {
    method: "POST",
    path: "/admin/v1/connections/revoke",
    status: 200,
    action: "connection.revoked",
    async input({ stores }, namespaceId) {
      const { connection } = await connectedTokens(stores, await signedIn(stores, namespaceId));
      return { namespaceId, id: connection.id };
    },
  },
  listTenants: {
    method: "GET",
    path: "/admin/v1/tenants",
    async input(place, namespaceId) {
      await ask(place, namespaceId);
      await place.stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId };
    },
  },
  readActivity: {
    method: "GET",
    path: "/admin/v1/activity",
    async input({ stores, time }, namespaceId) {
      await stores.audit.record(auditEvent("event-1", { namespaceId, at: time.now }));
      return { namespaceId };
    },
  },
  listHosts: { method: "GET", path: "/admin/v1/hosts", input: () => ({}) },
  readAuditHeads: {
    method: "GET",
    path: "/admin/v1/audit/heads",
    async input({ stores }, namespaceId) {
      await stores.audit.record(auditEvent("event-1", { namespaceId }));
      return { namespaceId };
    },
  },
  listPrincipals: {
    method: "GET",
    path: "/admin/v1/principals",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId };
    },
  },
  readReach: {
    method: "GET",
    path: "/admin/v1/reach",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId, actor: "agent:assistant" };
    },
  },
  readEverReach: {
    method: "POST",
    path: "/admin/v1/reach/ever",
    status: 200,
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId, actor: { kind: "agent", agentId: "assistant" } };
    },
  },
  listReachers: {
    method: "GET",
    path: "/admin/v1/reach/resource",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId, resource: "files/notes/todo.md" };
    },
  },
  addInvariant: {
    method: "POST",
    path: "/admin/v1/invariants",
    status: 201,
    action: "invariant.add",
    input: (_office, namespaceId) => ({ id: "rule", namespaceId, never: { resource: "crm" } }),
  },
  listInvariants: {
    method: "GET",
    path: "/admin/v1/invariants",
    async input({ stores }, namespaceId) {
      await stores.invariants.add({ id: "rule", namespaceId, never: { resource: "crm" } }, officeTime);
      return { namespaceId };
    },
  },
  removeInvariant: {
    method: "POST",
    path: "/admin/v1/invariants/remove",
    status: 200,
    action: "invariant.remove",
    async input({ stores }, namespaceId) {
      await stores.invariants.add({ id: "rule", namespaceId, never: { resource: "crm" } }, officeTime);
      return { namespaceId, id: "rule" };
    },
  },
  checkInvariants: {
    method: "POST",
    path: "/admin/v1/invariants/check",
    status: 200,
    async input({ stores }, namespaceId) {
      await stores.invariants.add({ id: "rule", namespaceId, never: { resource: "crm" } }, officeTime);
      return { namespaceId };
    },
  },
  previewGrant: {
    method: "POST",
    path: "/admin/v1/grants/preview",
    status: 200,
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId, revoke: "grant-1" };
    },
  },
  listOfferedTools: {
    method: "GET",
    path: "/admin/v1/tools",
    input: async ({ stores }, namespaceId) => ({
      namespaceId,
      credentialId: (await stores.credentials.create({ namespaceId, access })).id,
    }),
  },
  tryTool: {
    method: "POST",
    path: "/admin/v1/tools/try",
    status: 200,
    action: "tool.try",
    async input({ stores }, namespaceId) {
      const { id: credentialId } = await stores.credentials.create({ namespaceId, access });
      return { namespaceId, credentialId, tool: "files.read", arguments: { path: "notes/today" } };
    },
  },
  startTrialTurn: {
    method: "POST",
    path: "/admin/v1/turns",
    status: 201,
    action: "turn.try",
    async input({ stores }, namespaceId) {
      const { id: credentialId } = await stores.credentials.create({ namespaceId, access });
      return { namespaceId, credentialId, agent: "assistant", payload: { read: "notes/today" } };
    },
  },
  followEvents: { method: "GET", path: "/admin/v1/events", input: (_office, namespaceId) => ({ namespaceId }) },
  search: {
    method: "GET",
    path: "/admin/v1/search",
    async input({ stores }, namespaceId) {
      await stores.grants.issue(grant("grant-1", { namespaceId }));
      return { namespaceId, text: "grant" };
    },
  },
  listDeliveries: {
    method: "GET",
    path: "/admin/v1/webhooks/deliveries",
    input: (_office, namespaceId) => ({ namespaceId, state: "waiting" }),
  },
  retryDelivery: {
    method: "POST",
    path: "/admin/v1/webhooks/retry",
    status: 200,
    action: "webhook.retry",
    input: async ({ addMessage }, namespaceId) => ({ namespaceId, id: await addMessage?.(namespaceId) }),
  },
  createBackup: {
    method: "POST",
    path: "/admin/v1/backup",
    status: 200,
    action: "backup.create",
    auditTenant: "operators",
    input: () => ({}),
  },
  // Nothing is lost here, so nothing changes.
  acceptLoss: {
    method: "POST",
    path: "/admin/v1/database/accept-loss",
    status: 200,
    input: () => ({ revokeCredentials: true }),
  },
};

/** The hash of the tool `echo` of the test server. */
const echoHash = "023f657e86b9cea74f9c7905bf15ff1d62de902d02f80f653bbec02b13be8355";

/** An escalation that waits now. */
function ask({ stores, time }: Place, namespaceId: string) {
  return askIn(stores, namespaceId, escalation({ requestedAt: time.now }));
}

/** The path of a row with what belongs there, and what is left for the query or the body. */
export function placesOf<Value>(row: AdminRow, input: Readonly<Record<string, Value>>) {
  const path = row.path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(String(input[key] ?? "")));
  return { path, query: Object.fromEntries(Object.entries(input).filter(([key]) => !row.path.includes(`{${key}}`))) };
}
