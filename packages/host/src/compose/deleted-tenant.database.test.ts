import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, newLocation, temporaryFolder } from "../../test/databases.ts";
import { ask, eventually } from "../../test/host-calls.ts";
import { identityProvider, trusting } from "../../test/identity-provider.ts";
import { createLog } from "../telemetry/index.ts";
import { openRuntimes } from "../turns/index.ts";
import { startHost } from "./compose.ts";
import { loadConfig } from "./config.ts";

describe.each(databaseKinds)("a whole host on %s", (kind) => {
  test("refuses the tokens that an identity provider still gives out for a tenant that was deleted", async () => {
    const provider = await identityProvider();
    const { jwks, issuer, audience } = trusting(provider);
    const folder = temporaryFolder();
    const flags = {
      "listen.port": "0",
      database: await newLocation(kind),
      "jwt.jwks": jwks,
      "jwt.issuer": issuer,
      "jwt.audience": audience,
      "audit.keyFile": join(folder, "key.pem"),
      "audit.checkpointFile": join(folder, "checkpoints.jsonl"),
      "retention.auditFolder": join(folder, "exports"),
      "admin.tokenFile": "false",
    };
    const log = createLog({ level: "silent" });
    const runtimes = await openRuntimes({ kind: "none" }, {});
    const host = await startHost(loadConfig({ env: {}, flags }), { log, ...runtimes });
    onTestFinished(() => host.close());
    if (host.operatorToken.kind !== "shown once") throw new Error("The operator's token is not shown.");
    const operator = { token: host.operatorToken.token };
    const token = await provider.sign({ exp: Math.floor(Date.now() / 1000) + 3600 });

    const list = async () => (await ask(host.url, "/v1/reach", { token })).status;
    expect(await list()).toBe(200);
    const grant = {
      id: "one",
      namespaceId: "tenant-1",
      subject: { kind: "human", userId: "alice" },
      issuer: { kind: "human", userId: "alice" },
      capabilities: [{ resource: { namespace: "files", path: [] }, actions: ["read"], scope: "descendants" }],
      constraints: {},
      issuedAt: "2026-01-01T00:00:00Z",
    };
    const create = async () => (await ask(host.url, "/admin/v1/grants", { ...operator, body: grant })).status;
    const remove = async () => {
      const body = { namespaceId: "tenant-1", confirm: "tenant-1" };
      return (await ask(host.url, "/admin/v1/tenants/delete", { ...operator, body })).body;
    };
    expect(await create()).toBe(201);
    expect(await remove()).toEqual({ namespaceId: "tenant-1", isFinished: false });
    expect(await list()).toBe(401);
    await eventually(async () => expect(await remove()).toMatchObject({ isFinished: true }));
    expect(await list()).toBe(401);
    // A tenant of this name begins anew.
    expect(await create()).toBe(201);
    expect(await list()).toBe(200);
  });
});
