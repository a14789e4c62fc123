import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminRows, placesOf, type AdminRow, type Input } from "../../test/admin-rows.ts";
import { newTenant } from "../../test/databases.ts";
import { textOf } from "../../test/event-streams.ts";
import { ask, type Answer } from "../../test/host-calls.ts";
import { testServer } from "../../test/mcp/servers.ts";
import { askIn, escalation, queryText, type Refusal } from "../../test/office.ts";
import { bobAs } from "../../test/operators.ts";
import { createLog } from "../telemetry/index.ts";
import { adminRoutes, type AdminRoute, type AdminRouteName, type OperatorRole } from "../admin-contract/index.ts";
import { openRuntimes } from "../turns/index.ts";
import { startHost, type Host } from "./compose.ts";
import { loadConfig } from "./config.ts";

/**
 * Where a role may use a route: in the tenants that its bearer is an operator of; only when these are all tenants; whatever
 * they are; nowhere.
 */
type Where = "theirs" | "all" | "any" | "no";

const [theirs, all, any, no] = ["theirs", "all", "any", "no"] as const;

/** Written down a second time, so that a change of the table is meant. */
const mayUse: Readonly<Record<AdminRouteName | "/metrics", Readonly<Record<OperatorRole, Where>>>> = {
  createCredential: { admin: theirs, reviewer: no, auditor: no },
  listCredentials: { admin: theirs, reviewer: no, auditor: theirs },
  // Of a credential that they may list.
  showCredential: { admin: theirs, reviewer: no, auditor: theirs },
  revokeCredential: { admin: theirs, reviewer: no, auditor: no },
  // Of another operator: all may rotate their own.
  rotateCredential: { admin: theirs, reviewer: no, auditor: no },
  listPeople: { admin: theirs, reviewer: no, auditor: theirs },
  revokePerson: { admin: theirs, reviewer: no, auditor: no },
  restorePerson: { admin: theirs, reviewer: no, auditor: no },
  listConnections: { admin: theirs, reviewer: no, auditor: theirs },
  showConnection: { admin: theirs, reviewer: no, auditor: theirs },
  revokeConnection: { admin: theirs, reviewer: no, auditor: no },
  createGrant: { admin: theirs, reviewer: no, auditor: no },
  deriveGrant: { admin: theirs, reviewer: no, auditor: no },
  listGrants: { admin: theirs, reviewer: no, auditor: theirs },
  revokeGrant: { admin: theirs, reviewer: no, auditor: no },
  applyGrants: { admin: theirs, reviewer: no, auditor: no },
  listEscalations: { admin: theirs, reviewer: theirs, auditor: theirs },
  // With the grant that it is about, and its turn.
  showEscalation: { admin: theirs, reviewer: theirs, auditor: theirs },
  approveEscalation: { admin: theirs, reviewer: theirs, auditor: no },
  denyEscalation: { admin: theirs, reviewer: theirs, auditor: no },
  withdrawEscalation: { admin: theirs, reviewer: theirs, auditor: no },
  listAllTurns: { admin: theirs, reviewer: no, auditor: theirs },
  inspectTurn: { admin: theirs, reviewer: no, auditor: theirs },
  cancelAnyTurn: { admin: theirs, reviewer: no, auditor: no },
  listAudit: { admin: theirs, reviewer: no, auditor: theirs },
  verifyAudit: { admin: theirs, reviewer: no, auditor: theirs },
  verifyAuditHeads: { admin: theirs, reviewer: no, auditor: theirs },
  exportAudit: { admin: theirs, reviewer: no, auditor: theirs },
  readCheckpoints: { admin: all, reviewer: no, auditor: all },
  readAuditKey: { admin: any, reviewer: no, auditor: any },
  deleteTenant: { admin: all, reviewer: no, auditor: no },
  explain: { admin: theirs, reviewer: no, auditor: theirs },
  explainDenial: { admin: theirs, reviewer: no, auditor: theirs },
  readNamespaces: { admin: theirs, reviewer: no, auditor: theirs },
  readNames: { admin: theirs, reviewer: no, auditor: theirs },
  listNamespaces: { admin: theirs, reviewer: no, auditor: theirs },
  changeNamespaces: { admin: theirs, reviewer: no, auditor: no },
  listMcpServers: { admin: all, reviewer: no, auditor: all },
  reviewMcpServer: { admin: all, reviewer: no, auditor: all },
  acceptMcpTools: { admin: all, reviewer: no, auditor: no },
  // Reviewers are told only how many escalations wait.
  followEvents: { admin: theirs, reviewer: theirs, auditor: theirs },
  // Whose session it is the body says.
  createSession: { admin: any, reviewer: any, auditor: any },
  readSession: { admin: any, reviewer: any, auditor: any },
  endSession: { admin: any, reviewer: any, auditor: any },
  createCode: { admin: any, reviewer: any, auditor: any },
  listTenants: { admin: theirs, reviewer: theirs, auditor: theirs },
  readActivity: { admin: theirs, reviewer: theirs, auditor: theirs },
  listHosts: { admin: all, reviewer: no, auditor: all },
  readAuditHeads: { admin: theirs, reviewer: no, auditor: theirs },
  search: { admin: theirs, reviewer: theirs, auditor: theirs },
  listPrincipals: { admin: theirs, reviewer: no, auditor: theirs },
  readReach: { admin: theirs, reviewer: no, auditor: theirs },
  readEverReach: { admin: theirs, reviewer: no, auditor: theirs },
  // Of every tenant only by admins of all: the rows below are about one.
  addInvariant: { admin: theirs, reviewer: no, auditor: no },
  listInvariants: { admin: theirs, reviewer: no, auditor: theirs },
  removeInvariant: { admin: theirs, reviewer: no, auditor: no },
  checkInvariants: { admin: theirs, reviewer: no, auditor: theirs },
  listReachers: { admin: theirs, reviewer: no, auditor: theirs },
  previewGrant: { admin: theirs, reviewer: no, auditor: theirs },
  listOfferedTools: { admin: theirs, reviewer: no, auditor: theirs },
  tryTool: { admin: theirs, reviewer: no, auditor: no },
  startTrialTurn: { admin: theirs, reviewer: no, auditor: no },
  listDeliveries: { admin: theirs, reviewer: no, auditor: theirs },
  retryDelivery: { admin: theirs, reviewer: no, auditor: no },
  createBackup: { admin: all, reviewer: no, auditor: no },
  acceptLoss: { admin: all, reviewer: no, auditor: no },
  "/metrics": { admin: all, reviewer: no, auditor: all },
};

/** These name a credential and no tenant. That of another tenant is as unknown as one that is not there. */
const byCredential: ReadonlySet<string> = new Set(["showCredential", "revokeCredential", "rotateCredential"]);

let host: Host;
const folder = mkdtempSync(join(tmpdir(), "turnpike-roles-"));
const time = { now: new Date().toISOString() };
beforeAll(async () => {
  const flags = {
    "listen.port": "0",
    database: join(folder, "turnpike.db"),
    "limits.burst": "10000",
    "admin.tokenFile": "false",
  };
  const file = join(folder, "config.json");
  writeFileSync(
    file,
    JSON.stringify({
      mcp: { servers: { notes: { command: testServer() } } },
      // No server listens there: what it is told of stays.
      notify: { webhooks: [{ url: "http://127.0.0.1:1/", secretEnv: "HOOK_SECRET" }] },
    }),
  );
  const runtimes = await openRuntimes({ kind: "none" }, {});
  host = await startHost(loadConfig({ file, env: {}, flags }), {
    log: createLog({ level: "silent" }),
    ...runtimes,
    env: { HOOK_SECRET: "a secret of a webhook, long enough" },
  });
});
afterAll(async () => {
  await host.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Has the host tell its webhook of an escalation in a tenant; returns the id of the message. */
async function addMessage(tenant: string): Promise<string> {
  await askIn(host.stores, tenant, escalation());
  const [message] = await host.stores.deliveries.list(tenant, { limit: 1 });
  return message?.id ?? "none";
}

/** The token of an operator of one tenant, or of all. */
async function tokenOf(role: OperatorRole, tenant?: string): Promise<string> {
  return (await host.stores.credentials.create({ namespaceId: "operators", access: bobAs(role, tenant) })).token;
}

function send(token: string, name: AdminRouteName, row: AdminRow, input: Input): Promise<Answer> {
  const { request }: AdminRoute = adminRoutes[name];
  const { path, query } = placesOf(row, input as Record<string, string>);
  if (request !== undefined) return ask(host.url, path, { token, body: query });
  return ask(host.url, `${path}?${queryText(query)}`, { token, method: row.method, read: textOf });
}

function saidBy({ status, body }: Answer): unknown[] {
  return status < 400 ? [status] : [status, (body as Refusal).error.code];
}

/** The refusal of another request. */
function sameRefusal({ body }: Answer): unknown {
  return { error: { ...(body as Refusal).error, requestId: expect.any(String) as string } };
}

const denied = [403, "permission_denied"];
const hidden = [404, "not_found"];

async function changesIn(tenant: string): Promise<number> {
  return (await host.stores.audit.list(tenant, { type: "operator.changed", limit: 9 })).length;
}

/** The same request for something that is not there. */
function withNothing(input: Input): Input {
  if (input["namespaceId"] === undefined) return { ...input, id: "0".repeat(16) };
  const namespaceId = newTenant();
  return { ...input, namespaceId, ...(input["confirm"] !== undefined && { confirm: namespaceId }) };
}

const roles = ["admin", "reviewer", "auditor"] as const;

for (const [name, row] of Object.entries(adminRows) as [AdminRouteName, AdminRow][]) {
  describe(name, () => {
    for (const role of roles) {
      for (const scope of ["all tenants", "one tenant"] as const) {
        const where = mayUse[name][role];
        test(`by an operator with the role ${role} of ${scope}: ${where}`, async () => {
          const [own, other] = [newTenant(), newTenant()];
          const isOfAll = scope === "all tenants";
          const token = await tokenOf(role, isOfAll ? undefined : own);
          const isAllowed: Readonly<Record<Where, readonly [boolean, boolean]>> = {
            theirs: [true, isOfAll],
            all: [isOfAll, isOfAll],
            any: [true, true],
            no: [false, false],
          };
          for (const [tenant, mayThere] of [
            [own, isAllowed[where][0]],
            [other, isAllowed[where][1]],
          ] as const) {
            const input = await row.input({ stores: host.stores, time, addMessage }, tenant);
            const answer = await send(token, name, row, input);
            const refusal = byCredential.has(name) && where === theirs ? hidden : denied;
            expect(saidBy(answer)).toEqual(mayThere ? [row.status ?? 200] : refusal);
            // What is refused is not done, and the answer does not depend on what there is.
            const again = mayThere ? answer : await send(token, name, row, withNothing(input));
            expect(again.body).toEqual(mayThere ? answer.body : sameRefusal(answer));
            expect(mayThere ? 0 : await changesIn(tenant)).toBe(0);
          }
        });
      }
    }
  });
}

describe("/metrics", () => {
  for (const role of roles) {
    test(`by operators with the role ${role}: ${mayUse["/metrics"][role]}`, async () => {
      const statusOf = async (tenant?: string): Promise<number> =>
        (await ask(host.url, "/metrics", { token: await tokenOf(role, tenant) })).status;
      const mayAll = mayUse["/metrics"][role] === "all";
      expect([await statusOf(), await statusOf("acme")]).toEqual([mayAll ? 200 : 403, 403]);
    });
  }
});
