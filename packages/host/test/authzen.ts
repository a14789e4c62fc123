/** A decision point for AuthZEN, without a socket: records that belong to a service, and those who may read or write them. */
import type { Grant, PrincipalRef } from "turnpike/contracts";
import { createKernel } from "turnpike/kernel";
import { memoryAudit, memoryGrants, memoryUsage, type MemoryAudit } from "turnpike/testing";
import type { CredentialStore } from "../src/access/credential-store.ts";
import { createRateLimit } from "../src/access/rate-limit.ts";
import { createFront } from "../src/front/front.ts";
import { createOriginOf } from "../src/front/origin.ts";
import { serveProtocol } from "../src/front/protocol.ts";
import type { CredentialAccess } from "../src/admin-contract/records.ts";
import { createMetrics } from "../src/telemetry/metrics.ts";
import { authzenProtocol } from "../src/protocols/authzen/authzen-protocol.ts";
import { asFetch } from "./fetch-front.ts";
import { alice, assistant } from "./records.ts";

const records: PrincipalRef = { kind: "service", serviceId: "records" };
const bob: PrincipalRef = { kind: "human", userId: "bob" };
const carol: PrincipalRef = { kind: "human", userId: "carol" };
const operates = { actor: carol, owner: carol, purposes: ["operate"], admin: true };

/** Who the tokens belong to, and in which tenant. */
const holders: Readonly<Record<string, [tenant: string, access: CredentialAccess]>> = {
  gateway: [
    "acme",
    { actor: { kind: "service", serviceId: "gateway" }, owner: records, purposes: ["serve", "bill"], evaluates: true },
  ],
  assistant: ["acme", { actor: assistant, owner: alice, authority: alice, purposes: ["serve", "bill"] }],
  "other gateway": [
    "other",
    { actor: { kind: "service", serviceId: "gateway" }, owner: records, purposes: ["serve"], evaluates: true },
  ],
  admin: ["operators", operates],
  auditor: ["operators", { ...operates, role: "auditor" }],
  reviewer: ["operators", { ...operates, role: "reviewer" }],
  "admin of acme": ["operators", { ...operates, tenant: "acme" }],
};

function grant(id: string, subject: PrincipalRef, actions: string[], path: string[], changes: Partial<Grant>): Grant {
  return {
    id,
    namespaceId: "acme",
    subject,
    issuer: records,
    capabilities: [{ resource: { namespace: "record", path }, actions, scope: "descendants" }],
    constraints: {},
    issuedAt: "2026-01-01T10:00:00Z",
    ...changes,
  };
}

/** A decision point that tests ask. */
export interface DecisionPoint {
  audit: MemoryAudit;
  /** Posts as the one who has the token; headers can be changed, and a text is sent as it is. */
  post(as: string, path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  send(request: Request): Promise<Response>;
}

/** Opens one with a fixed clock. */
export function openDecisionPoint(limits = { perSecond: 1000, burst: 1000 }): DecisionPoint {
  const clock = (): Date => new Date("2026-01-01T12:00:00Z");
  const audit = memoryAudit();
  const grants = memoryGrants([
    grant("alice-writes", alice, ["read", "write"], ["record-1"], {}),
    grant("bob-reads", bob, ["read"], ["record-1"], {}),
    grant("bob-once", bob, ["delete"], ["record-1"], { constraints: { maxUses: 1 } }),
    grant("bob-bills", bob, ["read"], ["bills"], { constraints: { purposes: ["bill"] } }),
    grant("assistant-reads", assistant, ["read"], ["notes"], { issuer: alice }),
    grant("assistant-reads-records", assistant, ["read"], ["record-1"], {}),
    grant("alice-elsewhere", alice, ["read"], ["secrets"], { namespaceId: "other" }),
    grant("bob-deep", bob, ["read"], ["a b", "50%", "ü"], {}),
  ]);
  const credentials: Pick<CredentialStore, "verify" | "isValidAt"> = {
    verify(token) {
      const [namespaceId, access] = holders[token.replaceAll("+", " ")] ?? [];
      return Promise.resolve(namespaceId && access ? { id: token, namespaceId, access } : undefined);
    },
    isValidAt: () => Promise.resolve(true),
  };
  const protocol = authzenProtocol({
    kernel: createKernel({ grants, usage: memoryUsage(), audit }),
    access: {
      credentials: credentials as CredentialStore,
      rateLimit: createRateLimit({ ...limits, clock: () => 0 }),
      clock,
    },
    isLivingTenant: (tenant) => Promise.resolve(tenant === "acme" || tenant === "other"),
    originOf: createOriginOf({}),
    clock,
  });
  const log = { info() {}, warn() {}, error() {} };
  const send = asFetch(createFront({ protocols: [serveProtocol(protocol)], log, metrics: createMetrics() }));
  return {
    audit,
    send,
    post(as, path, body, headers = {}) {
      const sent = typeof body === "string" ? body : JSON.stringify(body);
      const all = {
        authorization: `Bearer ${as.replaceAll(" ", "+")}`,
        "content-type": "application/json",
        ...headers,
      };
      return send(new Request(`http://host${path}`, { method: "POST", body: sent, headers: all }));
    },
  };
}
