import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { newLocation, openFresh, temporaryFolder } from "../../test/databases.ts";
import type { Database } from "../storage/index.ts";
import { loadMcpPool } from "../mcp-servers/index.ts";
import { createLog, createMetrics } from "../telemetry/index.ts";
import { openRuntimes } from "../turns/index.ts";
import { startHost } from "./compose.ts";
import { loadConfig } from "./config.ts";
import { wireHost } from "./wire-host.ts";

const log = createLog({ level: "silent" });

async function settingsOf(port: number) {
  const folder = temporaryFolder();
  const flags = {
    "listen.port": String(port),
    database: await newLocation("sqlite"),
    "audit.keyFile": join(folder, "key.pem"),
    "audit.checkpointFile": join(folder, "checkpoints.jsonl"),
    "retention.auditFolder": join(folder, "exports"),
    "admin.tokenFile": "false",
  };
  return loadConfig({ env: {}, flags });
}

/** A port on which the test itself listens, so that no host can. */
async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("what a host is prepared with is there before it listens", async () => {
  const config = await settingsOf(await takenPort());
  const { runtime } = await openRuntimes({ kind: "none" }, {});
  const prepared: string[] = [];
  const prepare = (stores: object): Promise<void> => Promise.resolve(void prepared.push(...Object.keys(stores)));
  await expect(startHost(config, { log, runtime, prepare })).rejects.toThrow("in use");
  expect(prepared).toContain("grants");
});

test("a host that could not be prepared does not listen", async () => {
  const config = await settingsOf(await takenPort());
  const { runtime } = await openRuntimes({ kind: "none" }, {});
  const prepare = (): Promise<void> => Promise.reject(new Error("no world"));
  await expect(startHost(config, { log, runtime, prepare })).rejects.toThrow("no world");
});

/** A host without a socket, and what it answers at `/ready`. */
async function wiredHost(database: Database) {
  const { runtime } = await openRuntimes({ kind: "none" }, {});
  const openPool = await loadMcpPool(undefined, log);
  const parts = {
    database,
    metrics: createMetrics(),
    tracing: undefined,
    openPool,
    webhooks: [],
    consoleUrl: () => "",
  };
  const host = await wireHost(await settingsOf(0), { log, runtime }, parts);
  onTestFinished(() => host.close(() => Promise.resolve()));
  const ready = async (): Promise<unknown[]> => {
    const answer = await host.front({
      method: "GET",
      target: "/ready",
      headers: { get: () => null },
      address: "",
      signal: new AbortController().signal,
      body: { bytes: () => Promise.resolve(new Uint8Array()) },
      admit() {},
      toFetch: () => new Request("http://127.0.0.1/ready"),
    });
    return [answer.status, JSON.parse(String(answer.body))];
  };
  return { host, ready };
}

test("a host is ready once it has started, and not before", async () => {
  const { host, ready } = await wiredHost(await openFresh("sqlite"));
  expect(await ready()).toEqual([503, { status: "unavailable", reason: "The host is still starting." }]);
  host.start();
  expect(await ready()).toEqual([200, { status: "ready" }]);
});

test("a host whose calls could not write for five seconds is not ready, and says why", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const database = await openFresh("sqlite");
  let isFull = false;
  const full = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
  const transact: Database["transact"] = (work) => (isFull ? Promise.reject(full) : database.transact(work));
  const { host, ready } = await wiredHost({ ...database, transact });
  host.start();
  const call = () => host.stores.usage.consume("acme", "grant-1", 9).catch((error: Error) => error.message);
  isFull = true;
  expect(await call()).toBe("database or disk is full");
  vi.advanceTimersByTime(5000);
  expect(await call()).toBe("database or disk is full");
  expect(await ready()).toEqual([503, { status: "unavailable", reason: "The disk of the database is full." }]);
  isFull = false;
  vi.advanceTimersByTime(5000);
  expect(await ready()).toEqual([200, { status: "ready" }]);
});

test("a host that others cannot see is not ready, and says why", async () => {
  let isPresent = false;
  const { host, ready } = await wiredHost({ ...(await openFresh("sqlite")), isPresent: () => isPresent });
  host.start();
  const reason = "Other hosts cannot see this one, and take over what it has under way.";
  expect(await ready()).toEqual([503, { status: "unavailable", reason }]);
  isPresent = true;
  expect(await ready()).toEqual([200, { status: "ready" }]);
});
