import { describe, expect, test } from "vitest";
import { createLink, type Link } from "./reconnecting-client.ts";

interface Fake {
  close(): Promise<void>;
  lose(): void;
}

/** A link over connections that open and break as they are told, and a clock that stands still. */
function world(outcomes: readonly ("opens" | "fails")[]): {
  link: Link<Fake>;
  events: string[];
  advance(ms: number): void;
} {
  const events: string[] = [];
  let now = 0;
  let attempts = 0;
  const link = createLink<Fake>({
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
  return { link, events, advance: (ms) => void (now += ms) };
}

test("nothing is opened before it is needed, and then it is opened once", async () => {
  const { link, events } = world([]);
  expect(events).toEqual([]);
  const [one, two] = await Promise.all([link.connection(), link.connection()]);
  expect(one).toBe(two);
  expect(await link.connection()).toBe(one);
  expect(events).toEqual(["open #1"]);
});

test("after a failure nobody waits and nothing is tried until the pause is over; pauses double up to 30 s", async () => {
  const { link, events, advance } = world(Array.from({ length: 9 }, () => "fails"));
  for (const pauseMs of [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    await expect(link.connection()).rejects.toThrow("failed");
    advance(pauseMs - 1);
    await expect(link.connection()).rejects.toThrow("There is no connection right now.");
    expect(events.at(-1)).toMatch(`again in ${pauseMs}`);
    advance(1);
  }
  await expect(link.connection()).resolves.toBeDefined();
});

test("whoever comes late into an attempt does not wait for it, and finds what it came to", async () => {
  let now = 0;
  let open = (): void => {};
  const link = createLink({
    clock: () => now,
    onFailure: () => {},
    open: () => new Promise<Fake>((resolve) => (open = () => resolve({ close: async () => {}, lose: () => {} }))),
  });
  const first = link.connection();
  now = 1000;
  const second = link.connection();
  now = 1001;
  await expect(link.connection()).rejects.toThrow("It is still connecting.");
  open();
  expect(await first).toBe(await second);
  expect(await link.connection()).toBe(await first);
});

describe("a connection that is lost", () => {
  test("is closed and replaced after a pause, and said once however often it is noticed", async () => {
    const { link, events, advance } = world([]);
    const first = await link.connection();
    first.lose();
    first.lose();
    await expect(link.connection()).rejects.toThrow("There is no connection right now.");
    advance(250);
    expect(await link.connection()).not.toBe(first);
    first.lose();
    expect(events).toEqual(["open #1", "Error: #1 lost, again in 250", "close #1", "open #2"]);
  });

  for (const row of [
    { name: "soon, time after time, is replaced ever later", livedMs: 1000, pauses: [250, 500, 1000] },
    { name: "after a minute begins anew with the shortest pause", livedMs: 60_000, pauses: [250, 250, 250] },
  ]) {
    test(row.name, async () => {
      const { link, events, advance } = world([]);
      for (const pauseMs of row.pauses) {
        const connection = await link.connection();
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
    const { link, events } = world([]);
    const connection = await link.connection();
    await link.close();
    connection.lose();
    await link.close();
    await expect(link.connection()).rejects.toThrow("There is no connection right now.");
    expect(events).toEqual(["open #1", "close #1"]);
  });

  test("waits for what is just being opened", async () => {
    const { link, events } = world([]);
    const opening = link.connection();
    await link.close();
    await opening;
    expect(events).toEqual(["open #1", "close #1"]);
  });

  test("says nothing of what fails by it", async () => {
    const { link, events } = world(["fails"]);
    const opening = link.connection();
    await link.close();
    await expect(opening).rejects.toThrow("failed");
    expect(events).toEqual(["open #1"]);
  });
});
