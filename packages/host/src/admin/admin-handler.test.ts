import { describe, expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../database/open-database.ts";
import { openStores, type Stores } from "../stores/stores.ts";
import { createAdminHandler } from "./admin-handler.ts";

const alice = { kind: "human", userId: "alice" } as const;
const assistant = { kind: "agent", agentId: "assistant" } as const;
const grant = {
  id: "grant-1",
  namespaceId: "acme",
  subject: assistant,
  issuer: alice,
  capabilities: [{ resource: { namespace: "files", path: ["notes"] }, actions: ["read"], scope: "descendants" }],
  constraints: {},
  issuedAt: "2026-01-01T00:00:00Z",
};
const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };

/** An operator's and an agent's token, and a way to send something with either. */
async function office() {
  const database = await openDatabase(":memory:");
  onTestFinished(() => database.close());
  const stores = openStores(database);
  const token = async (isOperator: boolean): Promise<string> => {
    const made = { ...access, ...(isOperator && { admin: true }) };
    return (await stores.credentials.create({ namespaceId: "acme", access: made })).token;
  };
  const tokens = { operator: await token(true), agent: await token(false), nobody: "tp_none" };
  const changes: string[] = [];
  const handler = createAdminHandler(
    stores,
    () => {},
    (facts) => void changes.push(facts.changed),
  );
  const send = async (as: keyof typeof tokens, path: string, body: unknown, method = "POST") => {
    const headers = { authorization: `Bearer ${tokens[as]}` };
    const init = method === "GET" ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await handler(new Request(`http://host${path}`, init));
    return { status: response?.status, body: (await response?.json()) as Record<string, unknown> };
  };
  return { stores, send, tokens, changes };
}

async function verifies({ credentials }: Stores, token: unknown): Promise<boolean> {
  return (await credentials.verify(String(token), new Date())) !== undefined;
}

test("an operator makes a credential that works, and revokes it at once", async () => {
  const { stores, send } = await office();
  const made = await send("operator", "/admin/v1/credentials", { namespaceId: "acme", access });
  expect(made).toEqual({ status: 201, body: { id: expect.any(String), token: expect.stringMatching(/^tp_/) } });
  expect(await verifies(stores, made.body["token"])).toBe(true);
  const { id } = made.body;
  expect(await send("operator", "/admin/v1/credentials/revoke", { id })).toEqual({
    status: 201,
    body: { revoked: id },
  });
  expect(await verifies(stores, made.body["token"])).toBe(false);
  expect((await send("operator", "/admin/v1/credentials/revoke", { id })).status).toBe(404);
});

test("an operator issues a grant once, and revokes it once, and each change is told", async () => {
  const { stores, send, changes } = await office();
  expect(await send("operator", "/admin/v1/grants", grant)).toEqual({ status: 201, body: grant });
  expect((await send("operator", "/admin/v1/grants", grant)).status).toBe(409);
  const ref = { namespaceId: "acme", id: "grant-1" };
  expect(await send("operator", "/admin/v1/grants/revoke", ref)).toEqual({ status: 201, body: { revoked: "grant-1" } });
  expect((await stores.grants.find("acme", "grant-1"))?.revokedAt).toEqual(expect.any(String));
  expect((await send("operator", "/admin/v1/grants/revoke", ref)).status).toBe(404);
  expect((await send("operator", "/admin/v1/grants/revoke", { ...ref, namespaceId: "other" })).status).toBe(404);
  expect(changes).toEqual(["grant-1", "grant-1"]);
});

describe("everything here is refused", () => {
  const paths = [
    "/admin/v1/credentials",
    "/admin/v1/credentials/revoke",
    "/admin/v1/grants",
    "/admin/v1/grants/revoke",
    "/admin/v1/nothing",
  ];
  for (const path of paths) {
    test(`to an agent's credential and to nobody's: ${path}`, async () => {
      const { send } = await office();
      expect(await send("agent", path, {})).toMatchObject({
        status: 403,
        body: { error: { code: "permission_denied" } },
      });
      expect(await send("nobody", path, {})).toMatchObject({
        status: 401,
        body: { error: { code: "unauthenticated" } },
      });
    });
  }

  for (const { name, path, body, method, status, code } of [
    {
      name: "a path that is none",
      path: "/admin/v1/nothing",
      body: {},
      method: "POST",
      status: 404,
      code: "not_found",
    },
    {
      name: "another verb",
      path: "/admin/v1/grants",
      body: {},
      method: "GET",
      status: 405,
      code: "method_not_allowed",
    },
    {
      name: "a grant that is none",
      path: "/admin/v1/grants",
      body: {},
      method: "POST",
      status: 400,
      code: "invalid_request",
    },
    {
      name: "a credential that would be an operator's",
      path: "/admin/v1/credentials",
      body: { namespaceId: "acme", access: { ...access, admin: true } },
      method: "POST",
      status: 400,
      code: "invalid_request",
    },
  ]) {
    test(`to an operator with ${name}`, async () => {
      const { send } = await office();
      expect(await send("operator", path, body, method)).toMatchObject({ status, body: { error: { code } } });
    });
  }
});

test("what is not the operators' is left to others", async () => {
  const { stores } = await office();
  expect(
    await createAdminHandler(
      stores,
      () => {},
      () => {},
    )(new Request("http://host/v1/tools")),
  ).toBeUndefined();
});
