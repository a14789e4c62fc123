import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { TailRow } from "../audit/index.ts";
import type { WithdrawnTool } from "../mcp-servers/index.ts";
import type { LiveEvent } from "../admin-contract/index.ts";
import type { LiveTurnRow } from "../turns/index.ts";
import { openEventStream } from "./event-stream.ts";
import { createLiveTenants, type LiveOptions, type ReaderRequest } from "./live-tenants.ts";
import type { LiveReader } from "./live-reader.ts";
import { parseCursor } from "./audit-cursor.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A tenant in memory, and how often each of its stores was asked. */
function openWorld(changes: Partial<LiveOptions> = {}) {
  const unanswered: (() => void)[] = [];
  const world = {
    rows: [] as TailRow[],
    heads: new Map<number, number>(),
    turns: new Map<string, LiveTurnRow>(),
    waiting: 0,
    withdrawn: [] as WithdrawnTool[],
    isFailing: false,
    isHanging: false,
    /** Answers what was asked while nothing was answered. */
    recover() {
      world.isHanging = false;
      for (const answer of unanswered.splice(0)) answer();
    },
    asked: { polls: 0, pages: 0 },
    failures: [] as unknown[],
  };
  const orFail = async <T>(value: T): Promise<T> => {
    if (world.isHanging) await new Promise<void>((resolve) => unanswered.push(resolve));
    if (world.isFailing) throw new Error("The database is away.");
    return value;
  };
  const live = createLiveTenants({
    stores: {
      audit: {
        headsOf: () => orFail([...world.heads].map(([strand, sequence]) => ({ strand, sequence, hash: "" }))),
        listRowsBehind(_tenant, { strand, sequence }, limit) {
          world.asked.pages += 1;
          const behind = world.rows.filter((row) => row.strand === strand && row.sequence > sequence);
          return orFail(behind.slice(0, limit));
        },
      },
      escalations: {
        countPendingOf(tenants) {
          world.asked.polls += 1;
          return orFail(new Map(tenants.map((tenant) => [tenant, world.waiting])));
        },
      },
      turns: {
        listLive: () => orFail([...world.turns.values()].filter(({ status }) => status === "running")),
        findLive: (ids) => orFail(ids.flatMap((id) => world.turns.get(id) ?? [])),
      },
    },
    withdrawnTools: () => orFail(world.withdrawn),
    clock: () => new Date(),
    maxStreams: 1000,
    onFailure: (error) => void world.failures.push(error),
    ...changes,
  });
  const write = (strand = 0, count = 1, text = ""): void => {
    for (let place = 0; place < count; place += 1) {
      const sequence = (world.heads.get(strand) ?? 0) + 1;
      world.heads.set(strand, sequence);
      const at = new Date(Date.now() + world.rows.length).toISOString();
      world.rows.push({
        strand,
        sequence,
        at,
        content: JSON.stringify({ id: `${strand}.${sequence}`, ...(text !== "" && { text }) }),
      });
    }
  };
  const setTurn = (id: string, status: string, events: number): void => {
    const heading = JSON.stringify({ executionId: id, traceId: "trace-1", agent: {}, actor: "agent:assistant" });
    world.turns.set(id, { id, heading, status, events, updated_at: new Date().toISOString() });
  };
  const open = async (request: Partial<ReaderRequest> = {}): Promise<LiveReader> => {
    const isStillAdmitted = (): Promise<boolean> => Promise.resolve(true);
    const base = { namespaceId: "acme", credentialId: "credential-1", isAuditTold: true, isStillAdmitted };
    const reader = await live.open({ ...base, ...request });
    if (typeof reader === "string") throw new Error(reader);
    return reader;
  };
  return { world, live, write, setTurn, open };
}

type World = ReturnType<typeof openWorld>["world"];

/** What a reader is told next, while the clock runs. */
async function hear(reader: LiveReader): Promise<LiveEvent[]> {
  const told = reader.next();
  await vi.advanceTimersByTimeAsync(500);
  return ((await told) ?? []).map(({ data }) => JSON.parse(data) as LiveEvent);
}

function rowsOf(events: readonly LiveEvent[]): string[] {
  return events.flatMap((event) => (event.kind === "trail" ? [`${event.strand}.${event.sequence}`] : []));
}

describe("polling", () => {
  test("200 readers of a tenant cost as many polls as one, and a row one query", async () => {
    const { world, write, open } = openWorld();
    const readers = await Promise.all(Array.from({ length: 200 }, () => open()));
    await Promise.all(readers.map(hear));
    const before = { ...world.asked };
    write();
    const told = readers.map(async (reader) => reader.next());
    await vi.advanceTimersByTimeAsync(500);
    expect((await Promise.all(told)).every((events) => events?.length === 1)).toBe(true);
    expect(world.asked).toEqual({ polls: before.polls + 1, pages: before.pages + 1 });
  });

  test("no poll reads a tenant without readers, nor after the last has left", async () => {
    const { world, open } = openWorld();
    await vi.advanceTimersByTimeAsync(5000);
    expect(world.asked.polls).toBe(0);
    const readers = [await open(), await open()];
    readers[0]?.close();
    await vi.advanceTimersByTimeAsync(5000);
    const { polls } = world.asked;
    expect(polls).toBeGreaterThan(9);
    readers[1]?.close();
    await vi.advanceTimersByTimeAsync(5000);
    expect([world.asked.polls, vi.getTimerCount()]).toEqual([polls, 0]);
  });

  test("a database that fails ends nothing: it is logged once, and what happened meanwhile is told afterwards", async () => {
    const { world, write, open } = openWorld();
    const reader = await open();
    await hear(reader);
    world.isFailing = true;
    write();
    const told = reader.next();
    await vi.advanceTimersByTimeAsync(5000);
    expect(world.failures).toHaveLength(1);
    world.isFailing = false;
    await vi.advanceTimersByTimeAsync(500);
    expect((await told)?.map(({ cursor }) => cursor)).toEqual(["0.1"]);
  });

  test("what is not read for one reader is read again, and nothing is passed over", async () => {
    const { world, write, open } = openWorld();
    const reader = await open();
    await hear(reader);
    const reading = reader.next();
    write(0, 2);
    // The poll succeeds, and the page does not.
    const { rows } = world;
    Object.defineProperty(world, "rows", {
      configurable: true,
      get() {
        Object.defineProperty(world, "rows", { value: rows });
        throw new Error("The page is not read.");
      },
    });
    await vi.advanceTimersByTimeAsync(1000);
    expect((await reading)?.map(({ cursor }) => cursor)).toEqual(["0.1", "0.2"]);
  });
});

describe("a reader", () => {
  test("begins with how many escalations wait, and is told when that changes", async () => {
    const { world, open } = openWorld();
    world.waiting = 2;
    const reader = await open();
    expect(await hear(reader)).toEqual([{ kind: "waiting", count: 2 }]);
    world.waiting = 3;
    expect(await hear(reader)).toEqual([{ kind: "waiting", count: 3 }]);
  });

  test("without a cursor begins behind the newest rows, with one behind it", async () => {
    const { write, open } = openWorld();
    write(0, 3);
    expect(rowsOf(await hear(await open()))).toEqual([]);
    expect(rowsOf(await hear(await open({ from: parseCursor("0.1") })))).toEqual(["0.2", "0.3"]);
  });

  test("is told of a strand that begins later from its first row", async () => {
    const { write, open } = openWorld();
    write(0, 2);
    const reader = await open();
    await hear(reader);
    write(3, 2);
    expect(rowsOf(await hear(reader))).toEqual(["3.1", "3.2"]);
  });

  test("is told of rows of several strands by time, and of each strand in its order", async () => {
    const { write, open } = openWorld();
    const from = parseCursor("0.0");
    for (const strand of [0, 1, 1, 0, 2]) write(strand);
    expect(rowsOf(await hear(await open({ from })))).toEqual(["0.1", "1.1", "1.2", "0.2", "2.1"]);
  });

  test("with an old cursor gets pages, and nothing is read before it is asked for", async () => {
    const { world, write, open } = openWorld();
    write(0, 250);
    const reader = await open({ from: parseCursor("0.0") });
    expect(rowsOf(await hear(reader))).toHaveLength(100);
    await vi.advanceTimersByTimeAsync(5000);
    expect(world.asked.pages).toBe(1);
    const rest = [await hear(reader), await hear(reader)].map(rowsOf);
    expect(rest.map((rows) => [rows.length, rows.at(-1)])).toEqual([
      [100, "0.200"],
      [50, "0.250"],
    ]);
  });

  test("is told of long rows a few at a time, and of each once: a reader who takes none costs little memory", async () => {
    const { write, open } = openWorld();
    write(0, 3, "x".repeat(40_000));
    write(1, 1, "x".repeat(300_000));
    write(0, 2);
    const reader = await open({ from: parseCursor("0.0") });
    const told: string[][] = [];
    while (told.flat().length < 6) told.push(rowsOf(await hear(reader)));
    expect(told).toEqual([["0.1", "0.2"], ["0.3"], ["1.1"], ["0.4", "0.5"]]);
  });

  test("from before rows were removed continues with what there is", async () => {
    const { world, write, open } = openWorld();
    write(0, 9);
    write(1, 2);
    world.rows = world.rows.filter(({ strand, sequence }) => strand === 0 && sequence > 6);
    const reader = await open({ from: parseCursor("0.2") });
    const told = await hear(reader);
    expect(rowsOf(told)).toEqual(["0.7", "0.8", "0.9"]);
    write(1);
    expect(rowsOf(await hear(reader))).toEqual(["1.3"]);
  });

  test("with a cursor behind rows that never were is refused", async () => {
    const { write, open } = openWorld();
    write(0, 2);
    for (const cursor of ["0.3", "0.1,1.1"]) await expect(open({ from: parseCursor(cursor) })).rejects.toThrow("ahead");
    expect(await hear(await open({ from: parseCursor("0.3"), isAuditTold: false }))).toHaveLength(1);
  });

  test("is told of a turn that begins, continues and ends; of what there was before it is told nothing", async () => {
    const { setTurn, open } = openWorld();
    setTurn("old", "running", 1);
    const reader = await open();
    expect(await hear(reader)).toEqual([{ kind: "waiting", count: 0 }]);
    for (const [status, events] of [
      ["running", 0],
      ["running", 2],
      ["succeeded", 3],
    ] as const) {
      setTurn("turn-1", status, events);
      expect(await hear(reader)).toMatchObject([
        { kind: "turn", actor: { kind: "agent", agentId: "assistant" }, executionId: "turn-1", status, events },
      ]);
    }
  });

  test("that is slow is told of each turn once, as it is now, and so of the number that wait", async () => {
    const { world, setTurn, open } = openWorld();
    const reader = await open();
    await hear(reader);
    for (let events = 0; events < 5; events += 1) {
      setTurn("turn-1", "running", events);
      setTurn("turn-2", "running", events);
      world.waiting = events;
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(await hear(reader)).toMatchObject([
      { kind: "waiting", count: 4 },
      { executionId: "turn-1", events: 4 },
      { executionId: "turn-2", events: 4 },
    ]);
  });

  test("who may not read the audit log is told of neither rows nor turns, and has no cursor", async () => {
    const { world, write, setTurn, open } = openWorld();
    const reader = await open({ isAuditTold: false, from: parseCursor("0.0") });
    write();
    expect(await hear(reader)).toEqual([{ kind: "waiting", count: 0 }]);
    setTurn("turn-1", "running", 1);
    write();
    world.waiting = 1;
    const told = reader.next();
    await vi.advanceTimersByTimeAsync(500);
    expect(await told).toEqual([{ data: '{"kind":"waiting","count":1}' }]);
  });

  test("whose credential is revoked hears no more, also when nothing happens", async () => {
    const { world, write, open } = openWorld();
    let isValid = true;
    const reader = await open({ isStillAdmitted: () => Promise.resolve(isValid) });
    await hear(reader);
    const told = reader.next();
    isValid = false;
    write();
    await vi.advanceTimersByTimeAsync(500);
    expect(await told).toBeUndefined();
    expect([await reader.next(), vi.getTimerCount(), world.asked.pages]).toEqual([undefined, 0, 0]);
  });

  test("of whom it is not known whether they may hear is told nothing until it is known", async () => {
    const { write, open } = openWorld();
    let isKnown = true;
    const isStillAdmitted = (): Promise<boolean> =>
      isKnown ? Promise.resolve(true) : Promise.reject(new Error("away"));
    const reader = await open({ isStillAdmitted });
    await hear(reader);
    isKnown = false;
    write();
    let told: unknown;
    void reader.next().then((events) => (told = events));
    await vi.advanceTimersByTimeAsync(5000);
    expect(told).toBeUndefined();
    isKnown = true;
    await vi.advanceTimersByTimeAsync(500);
    expect(told).toMatchObject([{ cursor: "0.1" }]);
  });
});

describe("withdrawn tools", () => {
  const echo = { server: "notes", tool: "echo", hash: "hash-2", at: "2026-01-01T12:00:00.000Z" };
  const told = { kind: "withdrawn", tools: [{ server: "notes", tool: "echo", at: "2026-01-01T12:00:00.000Z" }] };

  test("are told at the beginning when there are any, and when that changes", async () => {
    const { world, open } = openWorld();
    const reader = await open();
    expect(await hear(reader)).toEqual([{ kind: "waiting", count: 0 }]);
    world.withdrawn = [echo];
    expect(await hear(reader)).toEqual([told]);
    expect(await hear(await open())).toEqual([{ kind: "waiting", count: 0 }, told]);
    world.withdrawn = [];
    expect(await hear(reader)).toEqual([{ kind: "withdrawn", tools: [] }]);
  });

  test("are those of the tenant that is followed", async () => {
    const { open } = openWorld({
      withdrawnTools: (tenant) => Promise.resolve(tenant === "acme" ? [echo] : []),
    });
    expect(await hear(await open({ namespaceId: "acme" }))).toContainEqual(told);
    expect(await hear(await open({ namespaceId: "other" }))).toEqual([{ kind: "waiting", count: 0 }]);
  });

  test("are not told to those who are told how many escalations wait alone", async () => {
    const { world, open } = openWorld();
    world.withdrawn = [echo];
    expect(await hear(await open({ isAuditTold: false }))).toEqual([{ kind: "waiting", count: 0 }]);
  });
});

describe("the host", () => {
  test("ends all streams at once when it stops, and those that come then", async () => {
    const { live, open } = openWorld();
    const reader = await open();
    await hear(reader);
    const told = reader.next();
    await live.close();
    expect([await told, await (await open()).next(), vi.getTimerCount()]).toEqual([undefined, undefined, 0]);
  });

  test("lets a credential have so many streams, and another one when one is left", async () => {
    const { open } = openWorld({ maxStreams: 2 });
    const [first] = await Promise.all([open(), open()]);
    await expect(open()).rejects.toThrow("full");
    await open({ credentialId: "credential-2" });
    first.close();
    first.close();
    await open();
    await expect(open()).rejects.toThrow("full");
  });

  test("counts no stream that was refused or could not begin", async () => {
    const { world, open } = openWorld({ maxStreams: 1 });
    await expect(open({ from: parseCursor("0.3") })).rejects.toThrow("ahead");
    world.isFailing = true;
    await expect(open()).rejects.toThrow("away");
    world.isFailing = false;
    await open();
  });
});

describe("the stream", () => {
  const decoder = new TextDecoder();

  test("has an id and data for each event, and a comment every 15 seconds of silence", async () => {
    const { write, open } = openWorld();
    write();
    const stream = openEventStream(await open({ from: parseCursor("0.0") }), new AbortController().signal).getReader();
    const read = async (ms: number): Promise<string> => {
      const chunk = stream.read();
      await vi.advanceTimersByTimeAsync(ms);
      return decoder.decode((await chunk).value);
    };
    expect(await read(500)).toBe(
      'id: 0.0\ndata: {"kind":"waiting","count":0}\n\n' +
        'id: 0.1\ndata: {"kind":"trail","strand":0,"sequence":1,"event":{"id":"0.1"}}\n\n',
    );
    expect([await read(15_000), await read(15_000)]).toEqual([":\n\n", ":\n\n"]);
    write();
    expect(await read(500)).toContain("id: 0.2\n");
  });

  for (const { name, fail } of [
    { name: "cannot be read", fail: (world: World) => void (world.isFailing = true) },
    { name: "does not answer", fail: (world: World) => void (world.isHanging = true) },
  ])
    test(`is silent while the database ${name}, so that no client takes it for live, and speaks when it can be read`, async () => {
      const { world, open } = openWorld();
      const stream = openEventStream(await open(), new AbortController().signal).getReader();
      await vi.advanceTimersByTimeAsync(500);
      await stream.read();
      fail(world);
      let said: string | undefined;
      void stream.read().then(({ value }) => (said = decoder.decode(value)));
      await vi.advanceTimersByTimeAsync(120_000);
      expect(said).toBeUndefined();
      world.isFailing = false;
      world.recover();
      await vi.advanceTimersByTimeAsync(500);
      expect(said).toBe(":\n\n");
    });

  test("is silent while it is not known whether its reader may hear", async () => {
    const { open } = openWorld();
    let isKnown = true;
    const isStillAdmitted = (): Promise<boolean> =>
      isKnown ? Promise.resolve(true) : Promise.reject(new Error("away"));
    const stream = openEventStream(await open({ isStillAdmitted }), new AbortController().signal).getReader();
    await vi.advanceTimersByTimeAsync(500);
    await stream.read();
    isKnown = false;
    let said: string | undefined;
    void stream.read().then(({ value }) => (said = decoder.decode(value)));
    await vi.advanceTimersByTimeAsync(120_000);
    expect(said).toBeUndefined();
    isKnown = true;
    await vi.advanceTimersByTimeAsync(500);
    expect(said).toBe(":\n\n");
  });

  test("leaves its tenant when its reader goes away, also before anything was read", async () => {
    const { open } = openWorld();
    await openEventStream(await open(), new AbortController().signal).cancel();
    const gone = new AbortController();
    openEventStream(await open(), gone.signal);
    gone.abort();
    openEventStream(await open(), AbortSignal.abort());
    await vi.advanceTimersByTimeAsync(500);
    expect(vi.getTimerCount()).toBe(0);
  });
});
