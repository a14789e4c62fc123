import type { InvariantRecord } from "../../src/admin-contract/index.ts";
import { grant, neverAborted, now, scope } from "../records.ts";
import type { Operations } from "./operation.ts";

const past = "2001-01-01T00:00:00.000Z";

const rule = { id: "rule", never: { resource: "crm" } };
const apart: InvariantRecord = { id: "apart", separate: { acts: [{ resource: "crm" }, { resource: "payroll" }] } };

export const grantOperations: Operations = {
  "grants.issue":
    ({ grants }, { tenant }) =>
    () =>
      grants.issue(grant("new", { namespaceId: tenant })),
  "grants.revoke":
    ({ grants }, { tenant }) =>
    () =>
      grants.revoke(tenant, "seeded", now),
  "grants.issue, with a credential":
    ({ grants }, { tenant, credential }) =>
    () =>
      grants.issue(grant("made", { namespaceId: tenant }), credential.id),
  "grants.findMaker":
    ({ grants }, { tenant }) =>
    () =>
      grants.findMaker(tenant, "seeded"),
  "grants.listMade": async ({ grants }, { tenant, credential }) => {
    await grants.issue(grant("made", { namespaceId: tenant }), credential.id);
    return () => grants.listMade(credential.id, now, { limit: 9 });
  },
  "grants.revokeAll":
    ({ grants }, { tenant }) =>
    () =>
      grants.revokeAll([grant("seeded", { namespaceId: tenant })], now),
  "grants.load":
    ({ grants }, { tenant }) =>
    async () =>
      grants.load({ ...scope, namespaceId: tenant }, neverAborted),
  "grants.loadStored":
    ({ grants }, { tenant }) =>
    () =>
      grants.loadStored({ ...scope, namespaceId: tenant }),
  "grants.find":
    ({ grants }, { tenant }) =>
    () =>
      grants.find(tenant, "seeded"),
  "grants.hasAny":
    ({ grants }) =>
    () =>
      grants.hasAny(),
  "grants.findStored":
    ({ grants }, { tenant }) =>
    () =>
      grants.findStored(tenant, "seeded"),
  "grants.findAll":
    ({ grants }, { tenant }) =>
    () =>
      grants.findAll(tenant, ["seeded", "none"]),
  "grants.findAllStored":
    ({ grants }, { tenant }) =>
    () =>
      grants.findAllStored(tenant, ["seeded", "none"]),
  "grants.readState":
    ({ grants }, { tenant }) =>
    () =>
      grants.readState(tenant),
  "grants.changeAll": async ({ grants }, { tenant }, { db }) => {
    const issue = [grant("new", { namespaceId: tenant }), grant("newer", { namespaceId: tenant })];
    return async () => {
      const { value } = await db.selectFrom("revision").select("value").executeTakeFirstOrThrow();
      return grants.changeAll(tenant, { issue, revoke: ["seeded"], at: now }, value);
    };
  },
  "grants.list":
    ({ grants }, { tenant }) =>
    () =>
      grants.list(tenant, { limit: 9 }),
  "grants.readUnended":
    ({ grants }, { tenant }) =>
    () =>
      grants.readUnended(tenant, past),
  "grants.removeEnded": async ({ grants }, { tenant }) => {
    const constraints = { expiresAt: "2000-01-01T00:00:00.000Z" };
    await grants.issue(grant("ended", { namespaceId: tenant, constraints }));
    const behind = { namespace_id: tenant, id: "" };
    return () => grants.removeEnded(new Date(past), behind, 3);
  },
  "grants.issue, with rules": async ({ grants, invariants }, { tenant }) => {
    await invariants.add({ ...rule, namespaceId: tenant }, past);
    await invariants.add({ ...apart, namespaceId: tenant }, past);
    return () => grants.issue(grant("new", { namespaceId: tenant }));
  },
  "invariants.list": async ({ invariants }, { tenant }) => {
    await invariants.add({ ...rule, namespaceId: tenant }, past);
    return () => invariants.list(tenant);
  },
  "invariants.add":
    ({ invariants }, { tenant }) =>
    () =>
      invariants.add({ ...rule, namespaceId: tenant }, past),
  "invariants.remove": async ({ invariants }, { tenant }) => {
    await invariants.add({ ...rule, namespaceId: tenant }, past);
    return () => invariants.remove(tenant, rule.id);
  },
  "invariants.check": async ({ invariants }, { tenant }) => {
    await invariants.add({ ...rule, namespaceId: tenant }, past);
    return () => invariants.check(tenant, past);
  },
  "invariants.preview": async ({ invariants }, { tenant }) => {
    await invariants.add({ ...rule, namespaceId: tenant }, past);
    return () => invariants.preview(tenant, { issue: [grant("new", { namespaceId: tenant })] }, past);
  },
  "grants.children":
    ({ grants }, { tenant }) =>
    () =>
      grants.children(tenant, ["seeded"]),
  "grants.descendants":
    ({ grants }, { tenant }) =>
    () =>
      grants.descendants(tenant, "seeded", 9),
};
