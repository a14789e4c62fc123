import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { sql } from "kysely";
import { expect, onTestFinished, test, vi } from "vitest";
import { openCutProxy } from "../../test/cut-proxy.ts";
import { newLocation, openFresh, openHost, openPair } from "../../test/databases.ts";
import { patience } from "../../test/host-calls.ts";
import { pauseBeats, settle } from "../../test/host-signs.ts";
import { opening, otherProcess } from "../../test/other-process.ts";
import { replayStoreOf } from "../../test/single-stores.ts";
import type { Database } from "./database.ts";
import { freePages } from "./free-pages.ts";
import { lockedHosts } from "./living-hosts.ts";
import { registerHost } from "./migrate.ts";
import { openDatabase } from "./open-database.ts";

test("hosts that run see each other alive; a host that never was is not", async () => {
  const [here, there] = await openPair();
  expect(await here.isAlive(here.hostId)).toBe(true);
  expect(await here.isAlive(there.hostId)).toBe(true);
  expect(await there.isAlive(here.hostId)).toBe(true);
  expect(await here.isAlive(there.hostId + 1000)).toBe(false);
});

test("a host that closed is not alive any more", async () => {
  const [here, there] = await openPair();
  await there.close();
  expect(await diesOut(here, there.hostId)).toBe(true);
});

test("a host that was killed is not alive, and what it had running is interrupted", async () => {
  const location = await newLocation("postgres");
  const other = await otherProcess(opening(location));
  expect(other.said).toBe("opened as 1");
  const here = await openHost(location);
  const key = { namespaceId: "tenant-1", actor: "agent:a", kind: "turn", scope: "", id: "turn-1" } as const;
  const { namespaceId, ...rest } = key;
  const left = { namespace_id: namespaceId, ...rest, fingerprint: "one", host_id: 1, result: null, finished_at: null };
  await here.db.insertInto("replay").values(left).execute();
  const replay = replayStoreOf(here);
  expect(await replay.begin(key, "one")).toEqual({ kind: "running" });
  await other.kill();
  expect(await diesOut(here, 1)).toBe(true);
  expect(await replay.begin(key, "one")).toEqual({ kind: "interrupted" });
});

test("a host with the same id on another database of the server is another host", async () => {
  const elsewhere = await openHost(await newLocation("postgres"));
  const [here, there] = await openPair();
  expect(elsewhere.hostId).toBe(here.hostId);
  await here.close();
  expect(await diesOut(there, here.hostId)).toBe(true);
});

test("a host that does not beat is dead although its lock is held, and alive when it beats again", async () => {
  const [here, there] = await openPair();
  const returned = vi.fn<() => void>();
  there.onReturn(returned);
  const resume = await pauseBeats(there, here);
  await settle(here);
  expect(await diesOut(here, there.hostId)).toBe(true);
  const locked = await sql`select 1 where ${there.hostId} in ${lockedHosts}`.execute(here.db);
  expect([locked.rows.length, returned.mock.calls.length]).toEqual([1, 0]);
  await resume();
  await vi.waitFor(async () => expect(await here.isAlive(there.hostId)).toBe(true), patience);
  await vi.waitFor(() => expect(returned).toHaveBeenCalled(), patience);
});

test("a host that was away holds no other for dead before it has beaten for a while", async () => {
  const [here, there] = await openPair();
  const resume = await pauseBeats(here, there);
  await there.db.updateTable("hosts").set({ beat_at: 1, beats_since: 1 }).execute();
  expect(await here.isAlive(there.hostId)).toBe(true);
  await resume();
});

test("hosts outlive that the clock of their server is set back, and those that died before are dead all the same", async () => {
  const [here, there] = await openPair();
  const dead = await registerHost(here.db);
  const ahead = sql<number>`extract(epoch from clock_timestamp()) + 3600`;
  await here.db.updateTable("hosts").set({ beat_at: ahead, beats_since: ahead }).execute();
  const judge = here.db.selectFrom("hosts").select("id").where("id", "=", here.hostId);
  const knowing = judge.where(sql<boolean>`beats_since <= extract(epoch from clock_timestamp())`);
  await vi.waitFor(async () => expect(await knowing.execute()).toHaveLength(1), patience);
  expect(await here.isAlive(there.hostId)).toBe(true);
  await settle(here);
  expect(await diesOut(here, dead)).toBe(true);
  await vi.waitFor(async () => expect(await here.isAlive(there.hostId)).toBe(true), patience);
});

test("a host whose row the database lost makes it again, and no other host is given its id", async () => {
  const [here, there] = await openPair();
  const { db } = here;
  // At once, because the host makes its row again within two seconds.
  const lost = await db.transaction().execute(async (transaction) => {
    await sql`select setval(pg_get_serial_sequence('hosts', 'id'), ${here.hostId})`.execute(transaction);
    return transaction.deleteFrom("hosts").where("id", "=", there.hostId).executeTakeFirst();
  });
  expect(lost.numDeletedRows).toBe(1n);
  await vi.waitFor(async () => expect(await here.isAlive(there.hostId)).toBe(true), patience);
  expect(await registerHost(db)).toBe(there.hostId + 1);
});

test("a host whose id the database has given to another one is not present any more, and does not beat for it", async () => {
  const [here, there] = await openPair();
  const isOther = here.db.updateTable("hosts").where("id", "=", there.hostId);
  await isOther.set({ started_at: "2026-01-01T00:00:00.000Z", beat_at: 1 }).execute();
  await vi.waitFor(() => expect(there.isPresent()).toBe(false), patience);
  await there.close();
  const row = here.db.selectFrom("hosts").select(["beat_at", "ended_at"]).where("id", "=", there.hostId);
  expect(await row.execute()).toEqual([{ beat_at: 1, ended_at: null }]);
});

test("a host knows by its clocks that others may hold it for dead, until a beat is answered", async () => {
  const [here, there] = await openPair();
  expect(here.isPresent()).toBe(true);
  const resume = await pauseBeats(here, there);
  const ahead = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
  onTestFinished(() => ahead.mockRestore());
  expect(here.isPresent()).toBe(false);
  // The second beat is sent once the first one is answered.
  const lost = there.db.selectFrom("heartbeats").select("host_id");
  await vi.waitFor(async () => expect((await lost.execute()).length).toBeGreaterThan(1), patience);
  expect(here.isPresent()).toBe(false);
  ahead.mockRestore();
  await resume();
  await vi.waitFor(() => expect(here.isPresent()).toBe(true), patience);
  await here.close();
  expect(here.isPresent()).toBe(false);
});

test("a host beats by the clock of the server, on a row that it leaves as ended", async () => {
  const [here, there] = await openPair();
  const row = there.db.selectFrom("hosts").selectAll().where("id", "=", here.hostId);
  const { beat_at: first, ended_at } = await row.executeTakeFirstOrThrow();
  expect([first !== null, ended_at]).toEqual([true, null]);
  await vi.waitFor(
    async () => expect((await row.executeTakeFirstOrThrow()).beat_at).toBeGreaterThan(first ?? 0),
    patience,
  );
  await here.close();
  expect((await row.executeTakeFirstOrThrow()).ended_at).toBeGreaterThan(first ?? 0);
  expect(await there.isAlive(here.hostId)).toBe(false);
});

test("the server probes a connection that is silent, whatever it is used for", async () => {
  const { db, reporting } = await openHost(await newLocation("postgres"));
  const settings = sql<{ set: string }>`select string_agg(setting, ' ' order by name) as set from pg_settings
    where name in ('tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout')`;
  for (const handle of [db, reporting]) expect((await settings.execute(handle)).rows).toEqual([{ set: "3 5 2 10000" }]);
});

test("64-bit counts are numbers", async () => {
  const { db } = await openHost(await newLocation("postgres"));
  const { rows } = await sql`select 9007199254740991::bigint as most, count(*) as none from uses`.execute(db);
  expect(rows).toEqual([{ most: 9007199254740991, none: 0 }]);
});

test("a host whose connections break is alive again and works once the server is back", async () => {
  const location = await newLocation("postgres");
  const door = await doorTo(location);
  const cut = await openHost(door.location);
  const watching = await openHost(location);
  door.shut();
  await expect(sql`select 1`.execute(cut.db)).rejects.toThrow(Error);
  door.open();
  await vi.waitFor(() => sql`select 1`.execute(cut.db), patience);
  await vi.waitFor(async () => expect(await watching.isAlive(cut.hostId)).toBe(true), patience);
});

test("a host lives on when the server goes away in the middle of a transaction", async () => {
  const door = await doorTo(await newLocation("postgres"));
  const other = await otherProcess(`
    const { db } = await openDatabase(${JSON.stringify(door.location)});
    const transaction = db.transaction().execute(async (within) => {
      await within.selectFrom("uses").selectAll().execute();
      console.log("in a transaction");
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve));
        await within.selectFrom("uses").selectAll().execute();
      }
    });
    await transaction.catch(() => {});
    setTimeout(() => console.log("lives"), 100);`);
  expect(other.said).toBe("in a transaction");
  door.shut();
  expect(await other.next()).toBe("lives");
});

test("a transaction that loses its connection fails with that, and not with the rollback that fails too", async () => {
  const door = await doorTo(await newLocation("postgres"));
  const { db } = await openHost(door.location);
  const failed = new Error("what made it fail");
  const transaction = db.transaction().execute(async (within) => {
    await sql`select 1`.execute(within);
    door.shut();
    await sql`select 1`.execute(within).catch(() => {});
    throw failed;
  });
  await expect(transaction).rejects.toBe(failed);
});

test("while the server is away a host waits a second before it knocks again", async () => {
  const door = await doorTo(await newLocation("postgres"));
  await openHost(door.location);
  const waits = hastenTimers(1000);
  const before = door.knocks();
  door.shut();
  await vi.waitFor(() => expect(door.knocks() - before).toBeGreaterThanOrEqual(5), patience);
  expect(waits()).toBeGreaterThanOrEqual(door.knocks() - before - 1);
});

test("a host that is closed while it comes back after an outage leaves no connection open", async () => {
  const proxy = await openCutProxy(await newLocation("postgres"));
  const host = await openDatabase(proxy.location);
  const before = proxy.attempts();
  proxy.freeze();
  proxy.cut();
  proxy.mend();
  await vi.waitFor(() => expect(proxy.attempts()).toBeGreaterThan(before), patience);
  const closed = host.close();
  proxy.thaw();
  await closed;
  await vi.waitFor(() => expect(proxy.isUsed()).toBe(false), patience);
});

test("a server that accepts and never answers is an outage after five seconds", async () => {
  const silent = createServer((socket) => void socket.on("error", () => {}).resume());
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const waits = hastenTimers(5000);
  await expect(openDatabase(`postgres://user:secret@127.0.0.1:${port}/none`)).rejects.toThrow(/timeout/);
  expect(waits()).toBeGreaterThanOrEqual(1);
});

/** Lets timers of so many milliseconds fire at once, and counts them: what is waited for is known without waiting. */
function hastenTimers(ms: number): () => number {
  const real = globalThis.setTimeout;
  let count = 0;
  const hasten = (run: (...args: unknown[]) => void, delay?: number, ...args: unknown[]): NodeJS.Timeout => {
    count += delay === ms ? 1 : 0;
    return real(run, delay === ms ? 20 : delay, ...args);
  };
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(hasten as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  return () => count;
}

/** The server notices with a short delay that a connection is gone. */
function diesOut(database: Database, hostId: number): Promise<boolean> {
  return vi.waitUntil(async () => !(await database.isAlive(hostId)), patience);
}

/** A way to a server that can be shut: what goes through breaks, and what knocks is turned away. */
async function doorTo(location: string) {
  const url = new URL(location);
  const port = Number(url.port);
  const through = new Set<Socket>();
  let [isOpen, knocks] = [true, 0];
  const door = createServer((near) => {
    knocks += 1;
    near.on("error", () => {});
    if (!isOpen) return void near.destroy();
    const far = connect(port, "127.0.0.1");
    far.on("error", () => near.destroy());
    for (const socket of [near, far]) through.add(socket.on("close", () => through.delete(socket)));
    near.pipe(far).pipe(near);
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  onTestFinished(() => void door.close());
  url.port = String((door.address() as AddressInfo).port);
  return {
    location: url.href,
    shut() {
      isOpen = false;
      for (const socket of through) socket.destroy();
    },
    open: () => void (isOpen = true),
    knocks: () => knocks,
  };
}

test("there is no copy: a PostgreSQL has tools of its own", async () => {
  expect((await openFresh("postgres")).copy).toBeUndefined();
});

test("its free pages are left alone", async () => {
  expect(await freePages(await openFresh("postgres"), 200)).toBe(0);
});
