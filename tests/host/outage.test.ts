import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { openCutProxy } from "../../packages/host/test/cut-proxy.ts";
import { newLocation } from "../../packages/host/test/databases.ts";
import { appendCall, effectsIn, makeEffectTenant, startEffectHost } from "../support/effect-host.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { alice, assistant, turn } from "../support/host-world.ts";
import { seed } from "../support/seed.ts";
import { outagesSuite } from "../trust/outages.ts";
import { cases } from "../trust/suite.ts";

/** A host that ends with its test: one that polls for its database is a busy neighbour. */
async function start(folder: string, settings: { database: string }): Promise<HostProcess> {
  const host = await startEffectHost(folder, settings);
  onTestFinished(() => void host.stop("SIGKILL"));
  return host;
}

const invoke = ({ url }: HostProcess, token: string, id: string) =>
  ask(url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body: appendCall(id, "t") });

describe("a host whose PostgreSQL is gone", () => {
  test("is not ready, does nothing, and continues when it is back", async () => {
    const folder = makeFolder();
    const proxy = await openCutProxy(await newLocation("postgres"));
    const host = await start(folder, { database: proxy.location });
    const token = await makeEffectTenant(host);
    const ready = await ask(host.url, "/ready");
    expect([ready.status, ready.text]).toEqual([200, '{"status":"ready"}']);

    proxy.cut();
    await eventually(async () => {
      const gone = await ask(host.url, "/ready");
      expect([gone.status, gone.body]).toEqual([
        503,
        { status: "unavailable", reason: "The database does not take writes right now." },
      ]);
    });
    expect((await ask(host.url, "/health")).status).toBe(200);
    const refused = await invoke(host, token, "gone");
    expect(refused).toMatchObject({ status: 503, body: { error: { code: expect.any(String) as string } } });
    expect(effectsIn(folder)).toEqual([]);

    proxy.mend();
    await eventually(async () => expect((await ask(host.url, "/ready")).status).toBe(200));
    await eventually(async () =>
      expect((await invoke(host, token, "back")).body).toMatchObject({ status: "succeeded" }),
    );
    expect(effectsIn(folder)).toEqual(["back"]);
    expect(await host.stop()).toEqual({ code: 0, signal: null });
  });

  test("that hangs is not ready long before its statements give up, and is ready when it responds again", async () => {
    const proxy = await openCutProxy(await newLocation("postgres"));
    const host = await start(makeFolder(), { database: proxy.location });
    const ready = async () => (await ask(host.url, "/ready")).status;
    expect(await ready()).toBe(200);
    proxy.freeze();
    await eventually(async () => expect(await ready()).toBe(503));
    for (let attempt = 0; attempt < 3; attempt += 1) {
      // The database is given 15 s for a statement: an answer that waits for it would come later than this.
      const soon = AbortSignal.timeout(14_000);
      expect([await ready(), soon.aborted]).toEqual([503, false]);
    }
    proxy.thaw();
    await eventually(async () => expect(await ready()).toBe(200));
  });

  test("answers its operator as well", async () => {
    const proxy = await openCutProxy(await newLocation("postgres"));
    const host = await start(makeFolder(), { database: proxy.location });
    proxy.cut();
    const answer = await ask(host.url, "/admin/v1/credentials", { token: host.operatorToken(), body: {} });
    expect(answer).toMatchObject({ status: 503, body: { error: { code: expect.any(String) as string } } });
  });

  test("knocks once in a while, not ever more often", async () => {
    const proxy = await openCutProxy(await newLocation("postgres"));
    const host = await start(makeFolder(), { database: proxy.location });
    const [before, cutAt] = [proxy.attempts(), performance.now()];
    proxy.cut();
    // However slow the machine is, ten attempts take no less than this.
    await eventually(() => expect(proxy.attempts() - before).toBeGreaterThanOrEqual(10));
    expect(performance.now() - cutAt).toBeGreaterThan(2500);
    proxy.mend();
    await eventually(async () => expect((await ask(host.url, "/ready")).status).toBe(200));
  });

  test("stops at SIGTERM all the same", async () => {
    const proxy = await openCutProxy(await newLocation("postgres"));
    const host = await start(makeFolder(), { database: proxy.location });
    proxy.cut();
    await eventually(async () => expect((await ask(host.url, "/ready")).status).toBe(503));
    // Requests that still run are given 30 s.
    const late = new Promise((resolve) => setTimeout(() => resolve("still there"), 25_000).unref());
    expect(await Promise.race([host.stop(), late])).toEqual({ code: 0, signal: null });
  });
});

describe("a PostgreSQL with time limits of its own", () => {
  /** A database whose sessions begin with a limit, and a connection to it that has none. */
  async function limited(setting: string): Promise<{ database: string; client: pg.Client }> {
    const database = await newLocation("postgres");
    const client = new pg.Client({ connectionString: database });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(`alter database ${new URL(database).pathname.slice(1)} set ${setting}`);
    return { database, client };
  }

  /** One request for each kind of thing that a host stores: how many were refused, and what was answered that must not be. */
  async function askAll(
    host: HostProcess,
    token: string,
    round: string,
  ): Promise<{ refused: number; wrong: string[] }> {
    const operator = host.operatorToken();
    const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
    const answers = await Promise.all([
      invoke(host, token, `call-${round}`),
      ask(host.url, "/v1/turns", {
        token,
        headers: { "x-trace-id": "t" },
        body: turn(`turn-${round}`, "t", { calls: [] }),
      }),
      ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["effects"] } }),
      ask(host.url, "/v1/reach", { token }),
      ask(host.url, "/admin/v1/credentials", { token: operator, body: { namespaceId: "other", access } }),
      ask(host.url, "/admin/v1/audit?namespaceId=acme", { token: operator }),
      ask(host.url, "/admin/v1/hosts", { token: operator }),
    ]);
    // A refusal is a code and a sentence. What was done is whatever was asked for.
    const wrong = answers.filter(({ status, body, text }) => {
      const { code, message = "" } = (body as { error?: { code?: string; message?: string } }).error ?? {};
      // How a turn ends could not be read: its caller is told to ask again. What could not be recorded may have happened.
      const isUnrecorded = status === 409 && (code === "replay_interrupted" || code === "replay_pending");
      const isRefused = status === 503 || isUnrecorded;
      return (
        text.includes("internal_error") ||
        !(isRefused || [200, 201].includes(status)) ||
        (isRefused && !message.includes(" "))
      );
    });
    return { refused: answers.filter(({ status }) => status === 503).length, wrong: wrong.map(({ text }) => text) };
  }

  test("answers 503 in words while a lock is not free in time, and serves when it is", async () => {
    const { database, client } = await limited("lock_timeout = '100ms'");
    const host = await start(makeFolder(), { database });
    const token = await makeEffectTenant(host);
    let count = 0;
    for (const table of ["replay", "revision", "grants", "credentials", "turns", "audit", "audit_heads"]) {
      await client.query(`begin; lock table ${table} in access exclusive mode`);
      const { refused, wrong } = await askAll(host, token, `locked-${table}`);
      expect(wrong).toEqual([]);
      count += refused;
      await client.query("rollback");
    }
    expect(count).toBeGreaterThan(0);
    await eventually(async () =>
      expect(await askAll(host, token, crypto.randomUUID())).toEqual({ refused: 0, wrong: [] }),
    );
  });

  test("answers no request with an internal error when it ends transactions that take a millisecond", async () => {
    const { database, client } = await limited("lock_timeout = 0");
    const host = await start(makeFolder(), { database });
    const token = await makeEffectTenant(host);
    for (const setting of ["idle_in_transaction_session_timeout", "transaction_timeout"])
      await client.query(`alter database ${new URL(database).pathname.slice(1)} set ${setting} = '1ms'`);
    // Only new sessions have the limits.
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    for (let round = 0; round < 8; round += 1)
      expect(await askAll(host, token, `short-${round}`)).toMatchObject({ wrong: [] });
  });
});

test("without its replay table a host answers 503 replay_unavailable and nothing runs", async () => {
  const folder = makeFolder();
  const database = await newLocation("postgres");
  const host = await start(folder, { database });
  const token = await makeEffectTenant(host);
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query("alter table replay rename to elsewhere");
  const refused = await invoke(host, token, "accepted");
  expect(refused.status).toBe(503);
  expect(refused.body).toMatchObject({
    error: { code: "replay_unavailable", message: "The replay store did not answer; nothing ran." },
  });
  expect(effectsIn(folder)).toEqual([]);
  await client.query("alter table elsewhere rename to replay");
  await client.end();
  expect((await invoke(host, token, "accepted")).body).toMatchObject({ status: "succeeded" });
  expect(effectsIn(folder)).toEqual(["accepted"]);
});

test("hosts whose PostgreSQL is killed, frozen, cut off and silent under load lose nothing and do nothing twice", async () => {
  const { counts, findings } = await outagesSuite.run(cases(4, seed));
  expect(findings).toEqual([]);
  expect(counts).toMatchObject({ killed: 1, frozen: 1, "cut off": 1, silent: 1 });
  expect(counts["refused"]).toBeGreaterThan(0);
}, 600_000);
