import { beforeAll, describe, expect, test } from "vitest";
import type { TurnResult } from "../../packages/turnpike/src/contracts/index.ts";
import { databaseKinds, newLocation } from "../../packages/host/test/databases.ts";
import { effectsIn, makeEffectTenant, openGate, startEffectHost } from "../support/effect-host.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { assistant, turn } from "../support/host-world.ts";

/** What an operator takes away between two calls of a turn, and how the turn then ends. */
const rows: { name: string; path: string; body(tenant: string, credentialId: string): object; end: object }[] = [
  {
    name: "its credential is revoked",
    path: "/admin/v1/credentials/revoke",
    body: (_tenant, id) => ({ id }),
    end: { status: "denied", error: { code: "credential_revoked" } },
  },
  {
    name: "the namespace of its tool is switched off",
    path: "/admin/v1/namespaces",
    body: (namespaceId) => ({ namespaceId, actor: assistant, update: { disable: ["effects"] } }),
    end: { status: "succeeded", output: ["succeeded", "denied: tool_unavailable"] },
  },
  {
    name: "the grant that admitted it is revoked",
    path: "/admin/v1/grants/revoke",
    body: (namespaceId) => ({ namespaceId, id: "turns" }),
    end: { output: ["succeeded", expect.stringMatching(/^denied: /)] },
  },
  {
    name: "the grant of the call is revoked",
    path: "/admin/v1/grants/revoke",
    body: (namespaceId) => ({ namespaceId, id: "effects" }),
    end: { status: "succeeded", output: ["succeeded", expect.stringMatching(/^denied: /)] },
  },
];

describe.each(databaseKinds)("a running turn on %s makes no further call once", (kind) => {
  const folder = makeFolder();
  let host: HostProcess;
  /** Where the operator is: on another host, when there can be one. */
  let elsewhere: HostProcess;
  beforeAll(async () => {
    const settings = kind === "postgres" ? { database: await newLocation(kind) } : {};
    host = await startEffectHost(folder, settings);
    elsewhere = kind === "postgres" ? await startEffectHost(folder, settings) : host;
  });

  for (const [index, { name, path, body, end }] of rows.entries()) {
    test(name, async () => {
      const tenant = `tenant-${index}`;
      const token = await makeEffectTenant(host, { tenant });
      const [first, second, gate] = [`first-${index}`, `second-${index}`, `gate-${index}`];
      const request = turn("turn-1", "trace-1", { calls: [{ id: first }, { id: second, until: gate }] });
      const running = ask(host.url, "/v1/turns", { token, headers: { "x-trace-id": "trace-1" }, body: request });
      await eventually(() => expect(effectsIn(folder)).toContain(first));

      const [, credentialId = ""] = token.split("_");
      const operator = { token: elsewhere.operatorToken(), body: body(tenant, credentialId) };
      expect((await ask(elsewhere.url, path, operator)).status).toBe(200);
      openGate(folder, gate);
      expect((await running).body as TurnResult).toMatchObject(end);
      expect(effectsIn(folder)).not.toContain(second);
    });
  }
});
