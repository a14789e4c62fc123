import type { JsonObject } from "turnpike/contracts";
import type { AdminRouteName } from "../../admin-contract/index.ts";

/** A request of an operator that the demo answers. What only a running host knows, such as an id, is made up. */
export interface AdminExample {
  query?: Readonly<Record<string, string | number>>;
  body?: JsonObject;
}

const namespaceId = "demo";
const alice = { kind: "human", userId: "alice" };
const assistant = { kind: "agent", agentId: "assistant" };
const credentialId = "e1a9697208560177";
const todo = { namespace: "files", path: ["notes", "todo.md"] };
const escalation = { id: "qmwj8kvju29dd99fe", ask: "c4ad192778913be0771c887a93d2ac6be7b3f5354fc8136b03e1ea47ee0ad23a" };

/** One example for each route, in an order in which each finds what earlier ones have made. */
export const adminExamples: Readonly<Record<AdminRouteName, AdminExample>> = {
  createCredential: {
    body: { namespaceId, access: { actor: assistant, owner: alice, authority: alice, purposes: ["demo"] } },
  },
  listCredentials: { query: { namespaceId } },
  showCredential: { query: { id: credentialId } },
  rotateCredential: { body: { id: credentialId } },
  listPeople: { query: { namespaceId } },
  revokePerson: { body: { namespaceId, principal: alice } },
  restorePerson: { body: { namespaceId, principal: alice } },
  listConnections: { query: { namespaceId } },
  showConnection: { query: { namespaceId, id: "0a1b2c3d4e5f6071" } },
  revokeConnection: { body: { namespaceId, id: "0a1b2c3d4e5f6071" } },
  revokeCredential: { body: { id: credentialId, andEverything: true } },
  createGrant: {
    body: {
      id: "assistant-ideas",
      namespaceId,
      subject: assistant,
      issuer: alice,
      capabilities: [
        { resource: { namespace: "files", path: ["notes", "ideas.md"] }, actions: ["replace"], scope: "exact" },
      ],
      constraints: { delegationDepth: 1 },
      issuedAt: "2026-01-15T09:30:00Z",
    },
  },
  listGrants: { query: { namespaceId } },
  deriveGrant: {
    body: { namespaceId, parentId: "assistant-ideas", id: "bob-ideas", subject: { kind: "human", userId: "bob" } },
  },
  previewGrant: { body: { namespaceId, revoke: "assistant-notes" } },
  revokeGrant: { body: { namespaceId, id: "assistant-ideas" } },
  applyGrants: { body: { namespaceId, revoke: ["assistant-notes"], dryRun: true } },
  listEscalations: { query: { namespaceId } },
  showEscalation: { query: { namespaceId, id: escalation.id } },
  approveEscalation: { body: { namespaceId, ...escalation } },
  denyEscalation: { body: { namespaceId, ...escalation, reason: "Not today." } },
  withdrawEscalation: { body: { namespaceId, ...escalation, reason: "The invoice is a forgery." } },
  listAllTurns: { query: { namespaceId } },
  startTrialTurn: { body: { namespaceId, credentialId, agent: "assistant", payload: { read: "notes/todo.md" } } },
  inspectTurn: { query: { namespaceId, executionId: "turn-1" } },
  cancelAnyTurn: { query: { namespaceId, executionId: "turn-1" } },
  listAudit: { query: { namespaceId, resource: "files/notes", text: "todo" } },
  verifyAudit: { query: { namespaceId } },
  readAuditHeads: { query: { namespaceId } },
  verifyAuditHeads: {
    body: {
      namespaceId,
      heads: [{ strand: 0, sequence: 1, hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }],
    },
  },
  exportAudit: { body: { namespaceId } },
  readCheckpoints: { query: { from: 0 } },
  readAuditKey: {},
  explain: {
    body: { namespaceId, actor: assistant, owner: alice, purpose: "demo", action: "read", resource: todo },
  },
  explainDenial: { body: { namespaceId, traceId: "trace-1" } },
  readNamespaces: { query: { namespaceId, actor: "agent:assistant" } },
  changeNamespaces: { body: { namespaceId, actor: assistant, update: { enable: ["messages"] } } },
  readNames: { query: { namespaceId } },
  listNamespaces: { query: { namespaceId } },
  listMcpServers: {},
  reviewMcpServer: { query: { server: "notes" } },
  acceptMcpTools: {
    query: { server: "notes" },
    body: { tools: [{ tool: "echo", hash: escalation.ask }] },
  },
  createSession: { body: { token: "tp_e1a9697208560177_49329b98695fe798" } },
  readSession: {},
  createCode: { body: {} },
  endSession: { body: {} },
  listTenants: {},
  readActivity: { query: { namespaceId } },
  listHosts: {},
  search: { query: { namespaceId, text: "assistant" } },
  listPrincipals: { query: { namespaceId } },
  readReach: { query: { namespaceId, actor: "agent:assistant", purpose: "demo" } },
  readEverReach: { body: { namespaceId, actor: { kind: "agent", agentId: "assistant" } } },
  addInvariant: {
    body: { id: "no-agents-in-payroll", namespaceId, never: { subject: "agent:*", resource: "payroll" } },
  },
  listInvariants: { query: { namespaceId } },
  checkInvariants: { body: { namespaceId } },
  removeInvariant: { body: { namespaceId, id: "no-agents-in-payroll" } },
  listReachers: { query: { namespaceId, resource: "files/notes/todo.md" } },
  listOfferedTools: { query: { namespaceId, credentialId } },
  tryTool: { body: { namespaceId, credentialId, tool: "files.read", arguments: { path: "notes/todo.md" } } },
  followEvents: { query: { namespaceId } },
  listDeliveries: { query: { namespaceId, state: "failed" } },
  retryDelivery: { body: { namespaceId, id: "msg_5f0b3c1d2e4a49d8a1c7e90b6d2f8a34" } },
  createBackup: { body: {} },
  acceptLoss: { body: { revokeCredentials: true } },
  deleteTenant: { body: { namespaceId, confirm: namespaceId } },
};
