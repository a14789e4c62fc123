import type { ServiceApi } from "turnpike/http";
import { TurnPause } from "turnpike/runtime";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { context } from "../../test/records.ts";
import { OutdatedHostError } from "../storage/index.ts";
import { createOutdatedHost } from "./outdated-host.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A host whose database says when it is too old, and what it did. */
function hostOn() {
  const heard: string[] = [];
  let isTooOld = false;
  let isDrained = (): boolean => false;
  let polled = 0;
  const outdated = createOutdatedHost({
    database: {
      isTooOld() {
        polled += 1;
        return isTooOld;
      },
      showDrained: (asked) => void (isDrained = asked),
    },
    journal: {
      letGo: () => Promise.resolve(void heard.push("let go")),
      resume: () => void heard.push("resume"),
      stopAll: (reason) => void heard.push(`stop: ${reason instanceof TurnPause}`),
    },
    onChange: (is) => void heard.push(is ? "too old" : "served again"),
    onError: (error) => void heard.push(String(error)),
  });
  const begun: (() => void)[] = [];
  const service = {
    invokeTool: () => new Promise((resolve) => begun.push(() => resolve("done"))),
    executeTurn: () => new Promise((resolve) => begun.push(() => resolve("done"))),
    reach: () => Promise.resolve("reach"),
  } as unknown as ServiceApi;
  const api = outdated.refuseNew(outdated.watchRuns(service), ["invokeTool", "executeTurn"]);
  const runs = outdated.watchRuns(service);
  outdated.start();
  const become = (is: boolean): Promise<unknown> => {
    isTooOld = is;
    return vi.advanceTimersByTimeAsync(1000);
  };
  return { outdated, api, runs, heard, begun, become, isDrained: () => isDrained(), polls: () => polled };
}

const call = (api: ServiceApi) => api.invokeTool(context(), {} as never);
const turn = (api: ServiceApi) => api.executeTurn(context(), {} as never);
const refused = { status: 503, code: "overloaded", headers: { "retry-after": "1" } };

test("a host that is too old begins nothing, finishes what runs, and is drained then", async () => {
  const { api, runs, begun, become, isDrained } = hostOn();
  const running = [call(api), turn(api), turn(runs)];
  expect(isDrained()).toBe(false);
  await become(true);
  await expect(call(api)).rejects.toMatchObject(refused);
  await expect(turn(api)).rejects.toMatchObject(refused);
  expect(await api.reach(context())).toBe("reach");
  for (const [place, end] of begun.entries()) {
    expect(isDrained()).toBe(false);
    end();
    expect(await running[place]).toBe("done");
  }
  expect(isDrained()).toBe(true);
});

test("a host that learns it only by a write that was refused answers in the same way", async () => {
  const service = {
    invokeTool: () => Promise.reject(new Error("not stored", { cause: new OutdatedHostError() })),
    executeTurn: () => Promise.reject(new Error("not stored")),
  } as unknown as ServiceApi;
  const { outdated } = hostOn();
  const api = outdated.refuseNew(service, ["invokeTool", "executeTurn"]);
  await expect(call(api)).rejects.toMatchObject(refused);
  await expect(turn(api)).rejects.toThrow("not stored");
});

test("it lets its turns go again and again, and stops those that have not ended after thirty seconds", async () => {
  const { heard, become } = hostOn();
  await become(true);
  expect(heard[0]).toBe("too old");
  await vi.advanceTimersByTimeAsync(28_000);
  expect(new Set(heard.slice(1))).toEqual(new Set(["let go"]));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(heard.filter((one) => one.startsWith("stop"))).toEqual(["stop: true"]);
});

test("it serves again when its database says so, and is not drained meanwhile", async () => {
  const { api, begun, heard, become, isDrained } = hostOn();
  await become(true);
  await become(false);
  expect(heard.slice(-2)).toEqual(["served again", "resume"]);
  expect(isDrained()).toBe(false);
  const again = call(api);
  begun[0]?.();
  expect(await again).toBe("done");
});

test("a host that is closed looks no more", async () => {
  const { outdated, heard, become } = hostOn();
  outdated.close();
  await become(true);
  expect(heard).toEqual([]);
});

test("a host that is closed while it looks does not look again", async () => {
  const { outdated, heard, become, polls } = hostOn();
  await become(true);
  vi.advanceTimersToNextTimer();
  outdated.close();
  const seen = polls();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(polls()).toBe(seen);
  expect(heard).not.toContain("resume");
});
