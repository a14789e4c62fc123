import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { startPgBouncer } from "../../packages/host/test/pgbouncer.ts";
import {
  durableClient,
  followToEnd,
  linesIn,
  makeDurableTenant,
  startDurableHost,
  stepsTurn,
} from "../support/durable-host.ts";
import { appendCall, type HostSettings, serveArgs } from "../support/effect-host.ts";
import { type HostProcess, makeFolder, runTurnpike } from "../support/host-process.ts";

/** Two hosts on a database, which end with the test. */
async function startTwo(folder: string, settings: HostSettings): Promise<[HostProcess, HostProcess]> {
  const start = async (): Promise<HostProcess> => {
    const host = await startDurableHost(folder, settings);
    onTestFinished(() => void host.stop("SIGKILL"));
    return host;
  };
  return [await start(), await start()];
}

/** Makes so many calls at once, by turns through each host, and says how they ended. */
async function callAtOnce(hosts: readonly HostProcess[], token: string, count: number): Promise<Set<unknown>> {
  const urls = hosts.map(({ url }) => url);
  const answers = await Promise.all(
    Array.from({ length: count }, (_, place) =>
      ask(urls[place % urls.length] ?? "", "/v1/tools/invoke", {
        token,
        headers: { "x-trace-id": "t" },
        body: appendCall(`call-${count}-${place}`, "t"),
      }),
    ),
  );
  return new Set(answers.map(({ status, body }) => (body as { status?: string }).status ?? status));
}

/** The strands that have rows in the audit log of a tenant, and those that hosts lease. */
async function strandsOf(location: string): Promise<{ written: number[]; leased: number[] }> {
  const client = new pg.Client(location);
  await client.connect();
  const numbers = async (query: string): Promise<number[]> =>
    (await client.query<{ strand: number }>(query)).rows.map(({ strand }) => strand);
  try {
    return {
      written: await numbers("select strand from audit_heads where namespace_id = 'acme' order by strand"),
      leased: await numbers("select strand from host_leases order by strand"),
    };
  } finally {
    await client.end();
  }
}

test("hosts behind a pooler in session mode serve as they do without one", async () => {
  const folder = makeFolder();
  const location = await newLocation("postgres");
  const database = await startPgBouncer(location, { pool_mode: "session", default_pool_size: 40 });
  const hosts = await startTwo(folder, { database });
  const { token } = await makeDurableTenant(hosts[0]);
  expect(await callAtOnce(hosts, token, 2)).toEqual(new Set(["succeeded"]));
  expect(await callAtOnce(hosts, token, 100)).toEqual(new Set(["succeeded"]));
  const client = durableClient(token, () => hosts[1].url);
  await client.startTurn(stepsTurn("turn", 2));
  expect((await followToEnd(client, "turn")).at(-1)).toMatchObject({ type: "turn.completed" });
  expect(await strandsOf(location)).toEqual({ written: [0, 1], leased: [] });
  for (const host of hosts) expect(await host.stop()).toEqual({ code: 0, signal: null });
});

describe("a pooler in transaction mode", () => {
  test("that the configuration does not tell of is refused by serve and told by the doctor, in the same words", async () => {
    const folder = makeFolder();
    const database = await startPgBouncer(await newLocation("postgres"), { pool_mode: "transaction" });
    const { host, pathname } = new URL(database);
    const says = `PgBouncer at ${host}${pathname} is in transaction mode, which the configuration does not say: set database.pooler to`;
    const served = await runTurnpike({ folder, args: serveArgs({ database }) });
    const examined = await runTurnpike({ folder, args: ["doctor", "--port", "0", "--database", database] });
    expect([served.code, examined.code]).toEqual([1, 1]);
    expect(served.stderr).toContain(says);
    expect(examined.stdout.replaceAll(/\s+/g, " ")).toContain(says);
  });

  test("serves hundreds of calls at once, and what a killed host leaves is another's", async () => {
    const folder = makeFolder();
    const location = await newLocation("postgres");
    const url = await startPgBouncer(location, { pool_mode: "transaction", default_pool_size: 20 });
    const env = { "database.url": url, "database.pooler": "transaction", "database.directUrl": location };
    const [one, other] = await startTwo(folder, env);
    const { token } = await makeDurableTenant(one);
    // What a host reads for its first call it knows for the others.
    expect(await callAtOnce([one, other], token, 2)).toEqual(new Set(["succeeded"]));
    expect(await callAtOnce([one, other], token, 600)).toEqual(new Set(["succeeded"]));
    expect(linesIn(folder, "effects.log")).toHaveLength(602);
    expect(await strandsOf(location)).toEqual({ written: [0, 1], leased: [0, 1] });

    const steps = 100;
    await durableClient(token, () => one.url).startTurn(stepsTurn("turn", steps));
    await eventually(() => expect(linesIn(folder, "asked.log").length).toBeGreaterThan(2));
    await one.stop("SIGKILL");
    const client = durableClient(token, () => other.url);
    expect(await client.turn("turn")).toMatchObject({ status: "running" });
    expect((await followToEnd(client, "turn")).at(-1)).toMatchObject({ type: "turn.completed" });
    const effects = linesIn(folder, "effects.log").filter((line) => line.startsWith("turn "));
    expect(new Set(effects).size).toBe(effects.length);

    await startDurableHost(folder, env);
    expect(await strandsOf(location)).toMatchObject({ leased: [0, 1] });
  });
});
