import { beforeAll, describe, expect, test } from "vitest";
import { newLocation, tenAtOnce } from "../../packages/host/test/databases.ts";
import { appendCall, effectsIn, makeEffectTenant, startEffectHost } from "../support/effect-host.ts";
import { ask } from "../../packages/host/test/host-calls.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { revokeCredential, revokeGrant } from "../support/host-stores.ts";
import { makeCredential } from "../support/host-world.ts";

const invoke = (host: HostProcess, token: string, id: string, until?: string) => {
  const args = until === undefined ? {} : { until };
  return ask(host.url, "/v1/tools/invoke", {
    token,
    headers: { "x-trace-id": "t" },
    body: appendCall(id, "t", args),
  });
};

describe("two hosts on one PostgreSQL", () => {
  const folder = makeFolder();
  let database: string;
  let hosts: readonly [HostProcess, HostProcess];
  beforeAll(async () => {
    database = await newLocation("postgres");
    hosts = await Promise.all([startEffectHost(folder, { database }), startEffectHost(folder, { database })]);
  });
  const succeeded = { status: "succeeded" };
  const unavailable = { status: "denied", error: { code: "tool_unavailable" } };

  test("starting at the same time on an empty database works", async () => {
    for (const { url } of hosts) expect((await ask(url, "/ready")).status).toBe(200);
  });

  test("settings changed through one are seen by the next call on the other", async () => {
    const [one, other] = hosts;
    const token = await makeEffectTenant(one, { tenant: "settings" });
    const set = (host: HostProcess, body: unknown) =>
      ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body });
    for (let round = 0; round < 10; round += 1) {
      const [here, there] = round % 2 === 0 ? [one, other] : [other, one];
      await set(here, { disable: ["effects"] });
      expect((await invoke(there, token, `off-${round}`)).body).toMatchObject(unavailable);
      await set(here, { enable: ["effects"] });
      expect((await invoke(there, token, `on-${round}`)).body).toMatchObject(succeeded);
    }
  });

  test("patches made through both at once are all stored", async () => {
    const token = await makeEffectTenant(hosts[0], { tenant: "patches" });
    const names = Array.from({ length: 20 }, (_, place) => `tools-${place}`);
    const changed = await Promise.all(
      names.map((name, place) =>
        ask((place % 2 === 0 ? hosts[0] : hosts[1]).url, "/v1/tools/namespaces", {
          token,
          method: "PUT",
          body: { enable: [name] },
        }),
      ),
    );
    expect(changed.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect((await invoke(hosts[1], token, "still on")).body).toMatchObject(succeeded);
  });

  test("a bounded grant that both consume at once is never used more often than it says", async () => {
    const token = await makeEffectTenant(hosts[0], { tenant: "bounded", maxUses: 25 });
    const before = effectsIn(folder).length;
    const calls = hosts.map((host, which) =>
      tenAtOnce(40, (place) => invoke(host, token, `bounded-${which}-${place}`)),
    );
    const answers = (await Promise.all(calls)).flat();
    const outcomes = answers.map(({ body }) => body as { status: string; error?: { code: string } });
    expect(outcomes.filter(({ status }) => status === "succeeded")).toHaveLength(25);
    expect(outcomes.filter(({ error }) => error?.code === "grant_exhausted")).toHaveLength(55);
    expect(effectsIn(folder).length - before).toBe(25);
  });

  test("one id sent to both at once is one effect", async () => {
    const token = await makeEffectTenant(hosts[0], { tenant: "same" });
    for (let round = 0; round < 10; round += 1) {
      const id = `same-${round}`;
      const answers = await Promise.all([0, 1, 0, 1].map((place) => invoke(hosts[place === 0 ? 0 : 1], token, id)));
      const outcomes = answers.map(({ body }) => body as { status?: string; error?: { code: string } });
      const words = outcomes.map(({ status, error }) => status ?? error?.code);
      expect(words).toContain("succeeded");
      expect(words.filter((word) => word !== "succeeded" && word !== "replay_pending")).toEqual([]);
      expect(effectsIn(folder).filter((line) => line === id)).toHaveLength(1);
    }
  });

  test("a revoked grant stops the next call on every host", async () => {
    const token = await makeEffectTenant(hosts[0], { tenant: "revoked-grant" });
    for (const host of hosts) expect((await invoke(host, token, `good-${host.url}`)).body).toMatchObject(succeeded);
    expect(await revokeGrant(database, "revoked-grant", "effects")).toBe(true);
    for (const host of hosts) expect((await invoke(host, token, `bad-${host.url}`)).body).toMatchObject(unavailable);
  });

  test("a revoked credential stops the next call on every host", async () => {
    const { id, token } = await makeCredential(hosts[0], { tenant: "revoked-credential" });
    for (const { url } of hosts) expect((await ask(url, "/v1/reach", { token })).status).toBe(200);
    expect(await revokeCredential(database, id)).toBe(true);
    for (const { url } of hosts) expect((await ask(url, "/v1/reach", { token })).status).toBe(401);
  });

  test("what one host was doing when it died is interrupted for the other, and runs while it lives", async () => {
    const [one, other] = hosts;
    const token = await makeEffectTenant(one, { tenant: "death" });
    const lost = invoke(one, token, "dying", "never").catch(() => "lost");
    await expect.poll(() => effectsIn(folder)).toContain("dying");
    expect((await invoke(other, token, "dying", "never")).body).toMatchObject({ error: { code: "replay_pending" } });
    await one.stop("SIGKILL");
    expect(await lost).toBe("lost");
    await expect
      .poll(async () => (await invoke(other, token, "dying", "never")).body)
      .toMatchObject({ error: { code: "replay_interrupted" } });
    expect(effectsIn(folder).filter((line) => line === "dying")).toHaveLength(1);
  });
});
