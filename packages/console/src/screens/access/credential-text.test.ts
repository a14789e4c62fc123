import { expect, test } from "vitest";
import { isAdminOfAll, operatorText, revocationText, stateOf } from "./credential-text.ts";

const now = new Date("2026-11-16T09:00:00.000Z");
const oona = { kind: "human", userId: "oona" } as const;
const credential = {
  id: "c1",
  namespaceId: "demo",
  access: { actor: oona, owner: oona, purposes: ["demo"] },
  createdAt: "2026-11-01T00:00:00.000Z",
};
const operator = { ...credential, access: { ...credential.access, admin: true } };

test("a credential is live until it ends or is revoked", () => {
  expect(stateOf(credential, now)).toBe("live");
  expect(stateOf({ ...credential, expiresAt: "2026-11-16T09:00:01.000Z" }, now)).toBe("live");
  expect(stateOf({ ...credential, expiresAt: "2026-11-16T09:00:00.000Z" }, now)).toBe("expired");
  expect(stateOf({ ...credential, expiresAt: "2026-11-01T09:00:00.000Z", revokedAt: "x" }, now)).toBe("revoked");
});

test("an operator without a role is an admin, and without a tenant of all", () => {
  expect(isAdminOfAll(operator)).toBe(true);
  expect(operatorText(operator)).toBe("admin of all tenants");
  expect(isAdminOfAll({ ...operator, access: { ...operator.access, tenant: "demo" } })).toBe(false);
  expect(isAdminOfAll({ ...operator, access: { ...operator.access, role: "auditor" } })).toBe(false);
  expect(isAdminOfAll(credential)).toBe(false);
});

test("who revokes the credential that they are signed in with is told so", () => {
  expect(revocationText(operator, true).join(" ")).toContain("you are signed out");
  expect(revocationText(operator, false).join(" ")).not.toContain("you are signed out");
});
