import { join } from "node:path";
import type { GateAct } from "turnpike/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, newLocation, newTenant, openHost, temporaryFolder } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import { makeReviewers, oona } from "../../test/office.ts";
import { alice, assistant, grant } from "../../test/records.ts";
import { createLog } from "../telemetry/index.ts";
import { loadConfig, type Config } from "./config.ts";
import { openGate, type HostGate } from "./open-gate.ts";
import { openStores } from "./stores.ts";

const act: GateAct = {
  id: "call-1",
  tool: "deploy",
  needs: [{ action: "run", resource: { namespace: "shell", path: ["deploy"] } }],
  traceId: "trace-1",
};

describe.each(databaseKinds)("a gate within the process on %s", (kind) => {
  /** A database with the assistant's credential and a grant of two uses. */
  const prepare = async (): Promise<{
    config: Config;
    namespaceId: string;
    id: string;
    token: string;
    revoke(): Promise<unknown>;
  }> => {
    const folder = temporaryFolder();
    const database = await newLocation(kind);
    const config = loadConfig({
      env: {},
      flags: {
        database,
        "audit.keyFile": join(folder, "key.pem"),
        "audit.checkpointFile": join(folder, "checkpoints.jsonl"),
        "retention.auditFolder": join(folder, "exports"),
        "admin.tokenFile": "false",
      },
    });
    const namespaceId = newTenant();
    const change = async <T>(run: (stores: ReturnType<typeof openStores>) => Promise<T>): Promise<T> => {
      const opened = await openHost(database);
      try {
        return await run(openStores(opened));
      } finally {
        await opened.close();
      }
    };
    const made = await change(async ({ credentials, grants }) => {
      const capabilities = act.needs.map(({ action, resource }) => ({
        resource,
        actions: [action],
        scope: "exact" as const,
      }));
      await grants.issue(grant("run", { namespaceId, capabilities, constraints: { maxUses: 2 } }));
      const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
      return credentials.create({ namespaceId, access });
    });
    const revoke = () => change(({ credentials }) => credentials.revoke(made.id, new Date().toISOString()));
    return { config, namespaceId, ...made, revoke };
  };
  const open = async (config: Config): Promise<HostGate> => {
    const gate = await openGate({ config, env: {}, log: createLog({ level: "silent" }) });
    onTestFinished(() => gate.close());
    return gate;
  };

  test("carries an effect out once for an id, for the bearer of a token and of its credential alike", async () => {
    const { config, id, token } = await prepare();
    const gate = await open(config);
    let effects = 0;
    const effect = () => ({ done: (effects += 1) });
    expect(await gate.as(token).run(act, effect)).toEqual({ done: 1 });
    expect(await gate.as(id).run(act, effect)).toEqual({ done: 1 });
    expect(await gate.as(id).run({ ...act, id: "call-2" }, effect)).toEqual({ done: 2 });
    await expect(gate.as(token).run({ ...act, id: "call-3" }, effect)).rejects.toMatchObject({
      name: "ActDeniedError",
      code: "grant_exhausted",
    });
    expect(effects).toBe(2);
  });

  test.runIf(kind === "postgres")("waits for a person, who approves on another host", async () => {
    const { config, namespaceId, token } = await prepare();
    const { escalations, credentials, grants } = openStores(await openHost(config.database));
    await makeReviewers({ credentials }, ["operator-1"]);
    const pay = { action: "pay", resource: { namespace: "bank", path: ["bob"] } };
    const capabilities = [
      { resource: pay.resource, actions: [pay.action], scope: "exact" as const, approval: "each" as const },
    ];
    await grants.issue(grant("pay", { namespaceId, capabilities }));
    const gate = (await open(config)).as(token);
    const running = gate.run({ ...act, tool: "pay", needs: [pay] }, () => "paid", { wait: 600 });
    const now = new Date().toISOString();
    const { id, ask } = await eventually(async () => {
      const [waiting] = await escalations.list(namespaceId, { status: "pending", now, limit: 1 });
      if (waiting === undefined) throw new Error("No escalation waits yet.");
      return waiting;
    });
    await escalations.approve({ namespaceId, id, ask, by: "operator-1", person: oona, at: new Date().toISOString() });
    expect(await running).toBe("paid");
  });

  test("takes an outcome after the host was closed and opened again", async () => {
    const { config, token } = await prepare();
    const first = await open(config);
    expect(await first.as(token).begin(act)).toMatchObject({ status: "allowed", grants: ["run"] });
    await first.close();
    const gate = (await open(config)).as(token);
    await expect(gate.begin(act)).rejects.toMatchObject({ status: 409, code: "replay_pending" });
    const outcome = { traceId: "trace-1", status: "succeeded", output: "done" } as const;
    expect(await gate.finish("call-1", outcome)).toMatchObject({ status: "succeeded", output: "done" });
    expect(await gate.begin(act)).toMatchObject({ status: "succeeded", output: "done" });
  });

  test("admits no one with a credential that was revoked, or is unknown", async () => {
    const { config, id, token, revoke } = await prepare();
    await revoke();
    const gate = await open(config);
    for (const who of [id, token, "0123456789abcdef", "tp_nonsense"])
      await expect(gate.as(who).begin(act)).rejects.toMatchObject({ status: 401, code: "unauthenticated" });
  });

  test("refuses what does not fit the contract, as over HTTP", async () => {
    const { config, token } = await prepare();
    const gate = (await open(config)).as(token);
    await expect(gate.begin({ ...act, needs: [] })).rejects.toMatchObject({ status: 400, code: "invalid_request" });
    await expect(gate.begin({ ...act, tool: "files.read" })).rejects.toMatchObject({
      status: 400,
      code: "tool_is_offered",
    });
    const outcome = { traceId: "trace-1", status: "succeeded" } as const;
    await expect(gate.finish("call-1", outcome)).rejects.toMatchObject({ status: 404, code: "not_found" });
  });
});
