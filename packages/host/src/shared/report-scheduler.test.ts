import { expect, test } from "vitest";
import { neverAborted } from "../../test/records.ts";
import { createReportScheduler, type ReportOwner } from "./report-scheduler.ts";
import { mapInSlices, yieldToEventLoop } from "./time-slices.ts";

const limits = { running: 2, waiting: 4, waitMs: 60_000 };

/** A scheduler, and reports that run until they are let go, in the order in which they began. */
function scheduled(changes: Partial<typeof limits> = {}) {
  let refused = 0;
  const scheduler = createReportScheduler({ ...limits, ...changes }, () => (refused += 1));
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    scheduler,
    begun,
    refused: () => refused,
    run(name: string, owner: ReportOwner, signal: AbortSignal = neverAborted): Promise<string> {
      return scheduler.run(owner, signal, async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        return name;
      });
    },
    async end(name: string): Promise<void> {
      await expect.poll(() => ends.has(name)).toBe(true);
      ends.get(name)?.();
    },
  };
}

const ofTenant = (tenant: string, operator = tenant): ReportOwner => ({ tenant, operator });

test("two reports run at once, and the next one when a place is free", async () => {
  const { scheduler, run, begun, end } = scheduled();
  const reports = ["a", "b", "c"].map((name) => run(name, ofTenant(name)));
  await expect.poll(() => [begun, scheduler.running, scheduler.waiting]).toEqual([["a", "b"], 2, 1]);
  await end("a");
  expect(await reports[0]).toBe("a");
  await end("c");
  await end("b");
  expect(await Promise.all(reports)).toEqual(["a", "b", "c"]);
  await expect.poll(() => [scheduler.running, scheduler.waiting]).toEqual([0, 0]);
});

test("of one operator one report runs and four wait, and one more is told to come back", async () => {
  const { scheduler, run, begun, end, refused } = scheduled({ waitMs: 10_000 });
  const owner = ofTenant("acme");
  const reports = [1, 2, 3, 4, 5].map((place) => run(`${place}`, owner));
  await expect(run("6", owner)).rejects.toMatchObject({
    status: 429,
    code: "rate_limited",
    headers: { "retry-after": "10" },
  });
  expect([begun, scheduler.waiting, refused()]).toEqual([["1"], 4, 1]);
  const other = run("other", ofTenant("globex"));
  await expect.poll(() => begun).toEqual(["1", "other"]);
  for (const name of ["1", "2", "3", "4", "5", "other"]) await end(name);
  expect(await Promise.all(reports)).toEqual(["1", "2", "3", "4", "5"]);
  expect(await other).toBe("other");
});

test("a report that waited for too long is told to come back", async () => {
  const { scheduler, run, begun, end, refused } = scheduled({ waitMs: 20 });
  const first = run("first", ofTenant("acme"));
  await expect(run("second", ofTenant("acme"))).rejects.toMatchObject({
    status: 429,
    code: "rate_limited",
    headers: { "retry-after": "1" },
  });
  expect([begun, scheduler.waiting, refused()]).toEqual([["first"], 0, 1]);
  await end("first");
  await first;
});

test("a tenant with many operators does not make another one wait behind all of them", async () => {
  const { run, begun, end } = scheduled();
  const reports = ["a1", "a2", "a3", "a4"].map((name) => run(name, ofTenant("acme", name)));
  reports.push(run("b1", ofTenant("globex")), run("host", { operator: "host" }));
  await end("a1");
  await end("b1");
  await end("host");
  await end("a2");
  await end("a3");
  await end("a4");
  await Promise.all(reports);
  expect(begun).toEqual(["a1", "a2", "b1", "host", "a3", "a4"]);
});

test("operators of all tenants are told apart, and one of a tenant is not one of another by its name", async () => {
  const { run, begun, end } = scheduled({ running: 3 });
  const reports = [
    run("one", { operator: "one" }),
    run("two", { operator: "two" }),
    run("three", { operator: "three", tenant: "one" }),
  ];
  await expect.poll(() => begun).toEqual(["one", "two", "three"]);
  for (const name of begun) await end(name);
  await Promise.all(reports);
});

test("a caller who leaves while waiting frees the place, and a report whose caller has left ends at its next slice", async () => {
  const { scheduler, run, begun, end } = scheduled({ running: 1 });
  const leaving = new AbortController();
  const first = scheduler.run(ofTenant("acme"), leaving.signal, async () => {
    begun.push("first");
    for (;;) await yieldToEventLoop();
  });
  const left = new AbortController();
  const second = run("second", ofTenant("globex"), left.signal);
  const third = run("third", ofTenant("initech"));
  left.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  expect([begun, scheduler.waiting]).toEqual([["first"], 1]);
  leaving.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  await end("third");
  expect(await third).toBe("third");
  expect(begun).toEqual(["first", "third"]);
  await expect(run("late", ofTenant("acme"), left.signal)).rejects.toThrow("left");
});

test("a report that fails frees its place", async () => {
  const { scheduler, run, end } = scheduled({ running: 1 });
  const failing = scheduler.run(ofTenant("acme"), neverAborted, () => Promise.reject(new Error("broken")));
  await expect(failing).rejects.toThrow("broken");
  const next = run("next", ofTenant("acme"));
  await end("next");
  expect(await next).toBe("next");
});

test("closing ends those that wait and those that run, and lets none begin", async () => {
  const { scheduler, run } = scheduled({ running: 1 });
  const stops = { status: 503, code: "authority_unavailable" };
  const running = scheduler.run(ofTenant("acme"), neverAborted, async () => {
    for (;;) await yieldToEventLoop();
  });
  const waiting = run("waiting", ofTenant("globex"));
  scheduler.close();
  await expect(waiting).rejects.toMatchObject(stops);
  await expect(running).rejects.toMatchObject(stops);
  await expect(run("late", ofTenant("acme"))).rejects.toMatchObject(stops);
});

/** Occupies the processor for so many milliseconds. */
function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("all reports together leave half of the time to others, in slices and behind those that have none", async () => {
  const scheduler = createReportScheduler(limits);
  const startedAt = performance.now();
  let busyMs = 0;
  const busy = (): void => {
    const from = performance.now();
    work(6);
    busyMs += performance.now() - from;
  };
  const sliced = (owner: ReportOwner) =>
    scheduler.run(owner, neverAborted, () => mapInSlices(Array.from({ length: 10 }), busy));
  const unsliced = (owner: ReportOwner) =>
    scheduler.run(owner, neverAborted, async () => Array.from({ length: 5 }).forEach(busy));
  const [one, other] = [ofTenant("acme"), ofTenant("globex")];
  await Promise.all([sliced(one), sliced(other), unsliced(one), unsliced(other), unsliced(one)]);
  await expect.poll(() => scheduler.running).toBe(0);
  // However slow the machine is, the pauses are about as long as the work: without them there would be nearly none.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1.5 * busyMs);
});
