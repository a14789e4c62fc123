import { describe, expect, test } from "vitest";
import { createReconnectingClient, type ReconnectingClient } from "./reconnecting-client.ts";

interface Fake {
  close(): Promise<void>;
  lose(): void;
}

/** A reconnecting client over connections that open and break as they are told, and a clock that stands still. */
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

test("after a failure nobody waits and nothing is tried until the pause is over; pauses double up to 30 s", async () => {
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

test("whoever comes late into an attempt does not wait for it, and finds what it came to", async () => {
  let now = 0;
  let open = (): void => {};
  const client = createReconnectingClient({
    clock: () => now,
    onFailure: () => {},
    open: () => new Promise<Fake>((resolve) => (open = () => resolve({ close: async () => {}, lose: () => {} }))),
  });
  const first = client.connection();
  now = 1000;
  const second = client.connection();
  now = 1001;
  await expect(client.connection()).rejects.toThrow("It is still connecting.");
  open();
  expect(await first).toBe(await second);
  expect(await client.connection()).toBe(await first);
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
