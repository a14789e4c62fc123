import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

/** Two a second, three at once: what each of these requests is told. */
const day = 86_400_000;
const rows: { name: string; at: number[]; granted: boolean[] }[] = [
  { name: "a burst is granted and no more", at: [0, 0, 0, 0], granted: [true, true, true, false] },
  { name: "half a second later there is one more", at: [0, 0, 0, 500, 500], granted: [true, true, true, true, false] },
  { name: "just before that there is not", at: [0, 0, 0, 499], granted: [true, true, true, false] },
  {
    name: "a refused request costs nothing",
    at: [0, 0, 0, 250, 499, 500],
    granted: [true, true, true, false, false, true],
  },
  {
    name: "a day of silence saves no more than a burst",
    at: [0, day, day, day, day],
    granted: [true, true, true, true, false],
  },
];

for (const row of rows) {
  test(row.name, () => {
    let now = 0;
    const limit = createRateLimit({ perSecond: 2, burst: 3, clock: () => now });
    const granted = row.at.map((at) => {
      now = at;
      return limit.take("credential-1").isGranted;
    });
    expect(granted).toEqual(row.granted);
  });
}

for (const hours of [-1, 24 * 365]) {
  test(`a time of day that is set ${hours} hours further changes nothing`, () => {
    vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ["Date", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const limit = createRateLimit({ perSecond: 2, burst: 1 });
    expect(limit.take("credential-1").isGranted).toBe(true);
    vi.setSystemTime(Date.now() + hours * 3_600_000);
    expect(limit.take("credential-1").isGranted).toBe(false);
    vi.advanceTimersByTime(500);
    expect(limit.take("credential-1").isGranted).toBe(true);
  });
}

test("requests inside a request are counted, and their sender waits for as long as they would have taken", () => {
  let now = 0;
  const limit = createRateLimit({ perSecond: 2, burst: 3, clock: () => now });
  expect(limit.take("credential-1").isGranted).toBe(true);
  limit.charge("credential-1", 4);
  limit.charge("credential-2", 4);
  const refused = limit.take("credential-1");
  expect([refused.isGranted, refused.headers["retry-after"], refused.headers["ratelimit"]]).toEqual([
    false,
    "2",
    '"default";r=0;t=2',
  ]);
  expect(limit.take("credential-2").isGranted).toBe(true);
  now = 1499;
  expect(limit.take("credential-1").isGranted).toBe(false);
  now = 1500;
  expect(limit.take("credential-1").isGranted).toBe(true);
});

test("credentials do not take from each other", () => {
  const limit = createRateLimit({ perSecond: 2, burst: 1, clock: () => 0 });
  expect(limit.take("credential-1").isGranted).toBe(true);
  expect(limit.take("credential-1").isGranted).toBe(false);
  expect(limit.take("credential-2").isGranted).toBe(true);
});

test("a sender that goes on sending keeps its bucket, and what it owes, when a hundred thousand others come", () => {
  let now = 0;
  const limit = createRateLimit({ perSecond: 2, burst: 1, clock: () => now });
  const isGranted = (): boolean => limit.take("credential-1").isGranted;
  const arrive = (wave: number): void => {
    for (let place = 0; place < 100_000; place += 1) limit.take(`${wave}-${place}`);
  };
  expect(isGranted()).toBe(true);
  arrive(1);
  expect(isGranted()).toBe(false);
  arrive(2);
  limit.charge("credential-1", 1);
  now = 500;
  expect([isGranted(), limit.take("2-99999").isGranted]).toEqual([false, true]);
  // Of a sender who is silent meanwhile nothing is remembered: that bounds the memory.
  arrive(3);
  arrive(4);
  expect(isGranted()).toBe(true);
});

test("the headers say what is left, what the policy is and, when refused, when to come back", () => {
  const limit = createRateLimit({ perSecond: 50, burst: 100, clock: () => 0 });
  const first = limit.take("credential-1").headers;
  expect(first).toEqual({ ratelimit: '"default";r=99;t=1', "ratelimit-policy": '"default";q=100;w=2' });
  for (let used = 1; used < 100; used += 1) limit.take("credential-1");
  const refused = limit.take("credential-1");
  expect(refused).toEqual({
    isGranted: false,
    headers: { ratelimit: '"default";r=0;t=1', "ratelimit-policy": '"default";q=100;w=2', "retry-after": "1" },
  });
});

test("a caller who comes back when told is granted, and never more than the policy in any stretch of time", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 200 }),
      (perSecond, burst, gaps) => {
        let now = 0;
        const limit = createRateLimit({ perSecond, burst, clock: () => now });
        const granted: number[] = [];
        for (const gap of gaps) {
          now += gap;
          const { isGranted, headers } = limit.take("credential-1");
          now += Number(headers["retry-after"] ?? 0) * 1000;
          expect(isGranted || limit.take("credential-1").isGranted).toBe(true);
          granted.push(now);
        }
        for (const [place, from] of granted.entries()) {
          const last = granted.at(-1) ?? from;
          expect(granted.length - place).toBeLessThanOrEqual(burst + ((last - from) / 1000) * perSecond + 1e-6);
        }
      },
    ),
  );
});
