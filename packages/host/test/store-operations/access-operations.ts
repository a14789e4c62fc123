import { operatorsTenant } from "../../src/admin-contract/index.ts";
import { access, alice, assistant, auditEvent, context, neverAborted, now } from "../records.ts";
import type { Operations } from "./operation.ts";

const certificate = "sha256:00";
const shown = { names: [certificate], validUntil: Infinity };
const admin = { actor: alice, owner: alice, purposes: ["operate"], admin: true };
const order = { actor: alice, operator: "operator-1", at: now };
const pinned = (tool: string) => [{ tool, hash: "two", definition: "{}" }];

/** Credentials, sessions, principals, settings, pins and tenants. */
export const accessOperations: Operations = {
  attempt: async ({ attempt, credentials, decisions }, { tenant, credential }) => {
    const verify = () => credentials.verify(credential.token, new Date(now));
    await verify();
    const event = auditEvent("attempted", { namespaceId: tenant });
    const decide = async (): Promise<void> => {
      if ((await verify()) === undefined) throw new Error("The credential is not valid.");
      await decisions.decide([{ event }], {});
    };
    return () => attempt(decide);
  },
  "credentials.create":
    ({ credentials }, { tenant }) =>
    () =>
      credentials.create({ namespaceId: tenant, access }),
  "credentials.find":
    ({ credentials }, { credential }) =>
    () =>
      credentials.find(credential.id),
  "credentials.list":
    ({ credentials }, { tenant }) =>
    () =>
      credentials.list({ namespaceId: tenant, limit: 9 }),
  "credentials.revoke":
    ({ credentials }, { credential }) =>
    () =>
      credentials.revoke(credential.id, now),
  "credentials.revokeUnlessLastAdmin": async ({ credentials }, { tenant }) => {
    const made = { namespaceId: operatorsTenant, access: { ...admin, tenant } };
    const { id } = await credentials.create(made);
    return () => credentials.revokeUnlessLastAdmin(id, now);
  },
  "credentials.rotate":
    ({ credentials }, { credential }) =>
    () =>
      credentials.rotate(credential.id, new Date(now)),
  "credentials.isValidAt":
    ({ credentials }, { credential }) =>
    () =>
      credentials.isValidAt(credential.id, new Date(now)),
  "credentials.writeUses": async ({ credentials }, { credential }) => {
    await credentials.verify(credential.token, new Date(now));
    return () => credentials.writeUses();
  },
  "credentials.verify":
    ({ credentials }, { credential }) =>
    () =>
      credentials.verify(credential.token, new Date(now)),
  "credentials.verifyAgain":
    ({ credentials }, { presented }) =>
    () =>
      credentials.verifyAgain(presented, new Date(now)),
  "credentials.verifyCertificate":
    ({ credentials }) =>
    () =>
      credentials.verifyCertificate(shown, new Date(now)),
  "sessions.begin":
    ({ sessions }, { presented }) =>
    () =>
      sessions.begin(freshId(), { presented }, new Date(now)),
  "sessions.begin, with a code": async ({ sessions }, { presented }) => {
    const codeId = freshId();
    await sessions.createCode(codeId, presented, new Date(now));
    return () => sessions.begin(freshId(), { presented, codeId }, new Date(now));
  },
  "sessions.verify": async ({ sessions }, { presented }) => {
    const begun = await sessions.begin(freshId(), { presented }, new Date(now));
    return () => sessions.verify({ cookie: begun?.cookie ?? "", page: begun?.page ?? "" }, new Date(now));
  },
  "sessions.end": async ({ sessions }, { presented }) => {
    const id = freshId();
    await sessions.begin(id, { presented }, new Date(now));
    return () => sessions.end(id);
  },
  "sessions.listOpen": async ({ sessions }, { presented }) => {
    await sessions.begin(freshId(), { presented }, new Date(now));
    return () => sessions.listOpen(presented.id, new Date(now), { limit: 9 });
  },
  "sessions.endAll": async ({ credentials, sessions }, { presented }) => {
    await sessions.begin(freshId(), { presented }, new Date(now));
    return () => credentials.revoke(presented.id, now, (transaction) => sessions.endAll(transaction, presented.id));
  },
  "sessions.createCode":
    ({ sessions }, { presented }) =>
    () =>
      sessions.createCode(freshId(), presented, new Date(now)),
  "sessions.verifyCode": async ({ sessions }, { presented }) => {
    const { code } = await sessions.createCode(freshId(), presented, new Date(now));
    return () => sessions.verifyCode(code, new Date(now));
  },
  "principals.list":
    ({ principals }, { tenant }) =>
    () =>
      principals.list(tenant, undefined, 9),
  "principals.count":
    ({ principals }, { tenant }) =>
    () =>
      principals.count(tenant, ["agent:assistant"]),
  "settings.applyUpdate":
    ({ settings }, { tenant }) =>
    () =>
      settings.applyUpdate(context({ namespaceId: tenant }), { enable: ["new"], disable: ["seeded"] }, neverAborted),
  "settings.change":
    ({ settings }, { tenant }) =>
    () =>
      settings.change({ namespaceId: tenant, actor: assistant }, { enable: ["new"], disable: ["seeded"] }),
  "settings.enabled":
    ({ settings }, { tenant }) =>
    () =>
      settings.enabled(tenant, assistant),
  "settings.list":
    ({ settings }, { tenant }) =>
    () =>
      settings.list(tenant, { limit: 9 }),
  "mcpPins.hashes":
    ({ mcpPins }, { tenant }) =>
    () =>
      mcpPins.hashes(tenant),
  "mcpPins.list":
    ({ mcpPins }, { tenant }) =>
    () =>
      mcpPins.list(tenant),
  "mcpPins.pin":
    ({ mcpPins }, { tenant }) =>
    () =>
      mcpPins.pin(tenant, pinned("seeded"), "operator-1"),
  "mcpPins.pinFirst":
    ({ mcpPins }, { emptyTenant }) =>
    () =>
      mcpPins.pinFirst(emptyTenant, pinned("new"), "operator-1"),
  "mcpPins.listWithdrawn":
    ({ mcpPins }, { tenant }) =>
    () =>
      mcpPins.listWithdrawn([tenant]),
  "mcpPins.withdraw":
    ({ mcpPins }, { tenant }) =>
    () =>
      mcpPins.withdraw(tenant, [{ tool: "seeded", hash: "three" }]),
  "mcpPins.restore": async ({ mcpPins }, { tenant }) => {
    const changed = [{ tool: "seeded", hash: "three" }];
    await mcpPins.withdraw(tenant, changed);
    return () => mcpPins.restore(tenant, changed);
  },
  "tenants.isDeleted":
    ({ tenants }, { tenant }) =>
    () =>
      tenants.isDeleted(tenant),
  "tenants.find":
    ({ tenants }, { tenant }) =>
    () =>
      tenants.find(tenant),
  "tenants.list":
    ({ tenants }) =>
    () =>
      tenants.list(),
  "tenants.listLiving":
    ({ tenants }) =>
    () =>
      tenants.listLiving(undefined, 9),
  "tenants.begin": async ({ tenants, credentials }, { tenant }) => {
    await credentials.create({ namespaceId: operatorsTenant, access: { ...admin, tenant } });
    return () => tenants.begin(tenant, order);
  },
  "tenants.finish": async ({ tenants }, { tenant }) => {
    await tenants.begin(tenant, order);
    return () => tenants.finish(tenant, now);
  },
  "tenants.reopen": async ({ tenants }, { emptyTenant }) => {
    await tenants.begin(emptyTenant, order);
    await tenants.finish(emptyTenant, now);
    return () => tenants.reopen(emptyTenant);
  },
};

function freshId(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 16);
}
