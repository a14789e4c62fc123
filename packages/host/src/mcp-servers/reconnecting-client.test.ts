import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createReconnectingClient, type ReconnectingClient } from "./reconnecting-client.ts";

interface Fake {
  close(): Promise<void>;
  lose(): void;
}

/** A reconnecting client over connections that open and break as they are told, and a fixed clock. */
function world(outcomes: readonly ("opens" | "fails")[]): {
  client: ReconnectingClient<Fake>;
  events: string[];
  advance(ms: number): void;
} {
  const events: string[] = [];
  let now = 0;
  let attempts = 0;
  const client = createReconnectingClient<Fake>({
    clock: () => now,
    onFailure: (error, retryInMs) => events.push(`${String(error)}, again in ${retryInMs}`),
    async open(_signal, onLost) {
      attempts += 1;
      const name = `#${attempts}`;
      events.push(`open ${name}`);
      if ((outcomes[attempts - 1] ?? "opens") === "fails") throw new Error(`${name} failed`);
      return { close: async () => void events.push(`close ${name}`), lose: () => onLost(new Error(`${name} lost`)) };
    },
  });
  return { client, events, advance: (ms) => void (now += ms) };
}

test("nothing is opened before it is needed, and then it is opened once", async () => {
  const { client, events } = world([]);
  expect(events).toEqual([]);
  const [one, two] = await Promise.all([client.connection(), client.connection()]);
  expect(one).toBe(two);
  expect(await client.connection()).toBe(one);
  expect(events).toEqual(["open #1"]);
});

test("after a failure no caller waits and nothing is tried until the pause is over; pauses double up to 30 s", async () => {
  const { client, events, advance } = world(Array.from({ length: 9 }, () => "fails"));
  for (const pauseMs of [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    await expect(client.connection()).rejects.toThrow("failed");
    advance(pauseMs - 1);
    await expect(client.connection()).rejects.toThrow("There is no connection right now.");
    expect(events.at(-1)).toMatch(`again in ${pauseMs}`);
    advance(1);
  }
  await expect(client.connection()).resolves.toBeDefined();
});

/** A reconnecting client whose attempts last until a test ends them. */
function slowWorld() {
  const events: string[] = [];
  let now = 0;
  let [open, fail] = [(): void => {}, (): void => {}];
  let lose = (): void => {};
  const client = createReconnectingClient<Fake>({
    clock: () => now,
    onOpened: () => void events.push("opened"),
    onFailure: (error) => void events.push(String(error)),
    open: (_signal, onLost) =>
      new Promise<Fake>((resolve, reject) => {
        events.push("open");
        open = () => resolve({ close: async () => {}, lose: () => {} });
        fail = () => reject(new Error("failed"));
        lose = () => onLost(new Error("lost"));
      }),
  });
  return {
    client,
    events,
    advance: (ms: number) => void (now += ms),
    open: () => open(),
    fail: () => fail(),
    lose: () => lose(),
  };
}

const patient = { signal: new AbortController().signal, timeoutMs: 60_000 };

test("the first attempt is waited for, however long it takes", async () => {
  const { client, advance, open } = slowWorld();
  const first = client.connection();
  advance(29_000);
  const second = client.connection();
  expect(client.isConnected).toBe(false);
  open();
  expect(await first).toBe(await second);
  expect(client.isConnected).toBe(true);
});

test("after a failure, a caller who comes late into an attempt does not wait for it, and is told its outcome", async () => {
  const { client, advance, open, fail } = slowWorld();
  const failed = client.connection();
  fail();
  await expect(failed).rejects.toThrow("failed");
  advance(250);
  const first = client.connection();
  advance(1000);
  const second = client.connection();
  advance(1);
  await expect(client.connection()).rejects.toThrow("It is still connecting.");
  open();
  expect(await first).toBe(await second);
  expect(await client.connection()).toBe(await first);
});

describe("a caller who waits for a connection", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("gets the one that is being opened", async () => {
    const { client, advance, open } = slowWorld();
    const connected = client.connected(patient);
    advance(10_000);
    open();
    expect(await connected).toBe(await client.connection());
  });

  test("gets the one that replaces one that was lost, after the pause", async () => {
    const { client, events, advance, open, lose } = slowWorld();
    const first = client.connection();
    open();
    await first;
    lose();
    const connected = client.connected(patient);
    advance(250);
    await vi.advanceTimersByTimeAsync(250);
    expect(events).toEqual(["open", "opened", "Error: lost", "open"]);
    open();
    expect(await connected).not.toBe(await first);
  });

  test("is told at once when the last attempt failed", async () => {
    const { client, fail } = slowWorld();
    const first = client.connected(patient);
    fail();
    await expect(first).rejects.toThrow("failed");
    await expect(client.connected(patient)).rejects.toThrow("There is no connection right now.");
  });

  test("waits no longer than their time, and the attempt continues for others", async () => {
    const { client, open } = slowWorld();
    const [short, long] = [client.connected({ ...patient, timeoutMs: 1000 }), client.connected(patient)];
    const [refused] = await Promise.all([Promise.allSettled([short]), vi.advanceTimersByTimeAsync(1000)]);
    expect(refused).toMatchObject([{ status: "rejected" }]);
    open();
    expect(await long).toBeDefined();
  });

  test("may leave, and is sent away when nothing is opened any more", async () => {
    const leaving = new AbortController();
    const { client, open } = slowWorld();
    const [one, other] = [client.connected({ ...patient, signal: leaving.signal }), client.connected(patient)];
    const waits = Promise.allSettled([one, other]);
    leaving.abort();
    const retired = client.retire();
    expect(await waits).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
    open();
    await retired;
    await expect(client.connected(patient)).rejects.toThrow("There is no connection right now.");
  });
});

describe("a client that stays connected", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("connects at once, and again after each failure and each loss, without a caller who needs it", async () => {
    const { client, events, advance, open, fail, lose } = slowWorld();
    client.stayConnected();
    expect(events).toEqual(["open"]);
    fail();
    await vi.advanceTimersByTimeAsync(249);
    expect(events).toEqual(["open", "Error: failed"]);
    advance(250);
    await vi.advanceTimersByTimeAsync(1);
    open();
    await vi.advanceTimersByTimeAsync(0);
    lose();
    advance(500);
    await vi.advanceTimersByTimeAsync(500);
    expect(events).toEqual(["open", "Error: failed", "open", "opened", "Error: lost", "open"]);
    open();
    await client.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(events).toHaveLength(6);
  });
});

describe("a connection that is lost", () => {
  test("is closed and replaced after a pause, and said once however often it is noticed", async () => {
    const { client, events, advance } = world([]);
    const first = await client.connection();
    first.lose();
    first.lose();
    await expect(client.connection()).rejects.toThrow("There is no connection right now.");
    advance(250);
    expect(await client.connection()).not.toBe(first);
    first.lose();
    expect(events).toEqual(["open #1", "Error: #1 lost, again in 250", "close #1", "open #2"]);
  });

  for (const row of [
    { name: "soon, time after time, is replaced ever later", livedMs: 1000, pauses: [250, 500, 1000] },
    { name: "after a minute begins anew with the shortest pause", livedMs: 60_000, pauses: [250, 250, 250] },
  ]) {
    test(row.name, async () => {
      const { client, events, advance } = world([]);
      for (const pauseMs of row.pauses) {
        const connection = await client.connection();
        advance(row.livedMs);
        connection.lose();
        expect(events.findLast((event) => event.includes("again"))).toMatch(`again in ${pauseMs}`);
        advance(pauseMs);
      }
    });
  }
});

describe("closing", () => {
  test("closes what is open, once, and nothing is opened after it", async () => {
    const { client, events } = world([]);
    const connection = await client.connection();
    await client.close();
    connection.lose();
    await client.close();
    await expect(client.connection()).rejects.toThrow("There is no connection right now.");
    expect(events).toEqual(["open #1", "close #1"]);
  });

  test("waits for what is just being opened", async () => {
    const { client, events } = world([]);
    const opening = client.connection();
    await client.close();
    await opening;
    expect(events).toEqual(["open #1", "close #1"]);
  });

  test("says nothing of what fails by it", async () => {
    const { client, events } = world(["fails"]);
    const opening = client.connection();
    await client.close();
    await expect(opening).rejects.toThrow("failed");
    expect(events).toEqual(["open #1"]);
  });
});

test("one that is retired opens nothing more, and lets what is open end in its own time", async () => {
  const signals: AbortSignal[] = [];
  let isEnded = false;
  let end = (): void => {};
  const client = createReconnectingClient({
    clock: () => 0,
    onFailure: () => {},
    async open(signal) {
      signals.push(signal);
      return { close: () => new Promise<void>((resolve) => (end = resolve)) };
    },
  });
  await client.connection();
  const retired = client.retire().then(() => (isEnded = true));
  await expect(client.connection()).rejects.toThrow("There is no connection right now.");
  expect([signals.map(({ aborted }) => aborted), isEnded]).toEqual([[false], false]);
  const closed = client.close();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  end();
  await Promise.all([retired, closed]);
});
