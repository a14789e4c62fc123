import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AdminClientError } from "turnpike-host/admin-contract/call";
import { electByLock, type Locks } from "./election.ts";
import type { Message } from "./messages.ts";
import { followTenant, type TabPorts } from "./tab.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const settle = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** The locks of a browser, as far as they are used: one holder of each name, those who wait in their order, and robbing. */
function openLocks(): Locks {
  const holders = new Map<string, { lose(): void }>();
  const queues = new Map<string, (() => void)[]>();
  const passOn = (name: string): void => queues.get(name)?.shift()?.();
  const request = (name: string, { signal, steal }: LockOptions, use: () => unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const grant = (): void => {
        const mine = { lose: () => reject(new DOMException("taken", "AbortError")) };
        holders.set(name, mine);
        const end = (): void => {
          resolve(undefined);
          if (holders.get(name) !== mine) return;
          holders.delete(name);
          passOn(name);
        };
        void Promise.resolve().then(use).then(end);
      };
      if (steal === true) {
        holders.get(name)?.lose();
        return grant();
      }
      if (!holders.has(name)) return grant();
      const queue = queues.get(name) ?? [];
      queues.set(name, queue);
      queue.push(grant);
      signal?.addEventListener("abort", () => {
        if (!queue.includes(grant)) return;
        queue.splice(queue.indexOf(grant), 1);
        reject(new DOMException("withdrawn", "AbortError"));
      });
    });
  return { request: request as Locks["request"] };
}

/** A browser with tabs, and a host with rows of two tenants. */
function openBrowser({ hasLocks = true } = {}) {
  const locks = openLocks();
  const rows = new Map<string, number>();
  const streams = new Set<{ tenant: string; tell(sequence: number): void }>();
  const channels = new Map<string, Set<{ hear(message: Message): void }>>();
  const opened: string[] = [];
  const withdrawn: string[] = [];
  const withdrawnEvent = () => ({
    kind: "withdrawn",
    tools: withdrawn.map((tool) => ({ server: "notes", tool, at: "2026-01-01T12:00:00.000Z" })),
  });
  const ends = new Set<() => unknown>();
  let ids = 0;
  const encoder = new TextEncoder();

  const openTab = (
    tenant: string,
    { session = "one", from = undefined as string | undefined, isShown = true } = {},
  ) => {
    const tab = {
      heard: [] as number[],
      waiting: [] as number[],
      withdrawn: [] as string[],
      states: [] as string[],
      isFrozen: false,
      isShown,
    };
    /** What comes while the tab is frozen. */
    const delayed: (() => void)[] = [];
    const orLater = (act: () => void): void => void (tab.isFrozen ? delayed.push(act) : act());
    const ports: TabPorts = {
      open(of, cursor, signal) {
        opened.push(`${of} ${cursor ?? "now"}`);
        if (Number(cursor?.split(".")[1] ?? 0) > (rows.get(of) ?? 0))
          return Promise.reject(new AdminClientError("invalid_request", "ahead", { status: 400 }));
        let sent = cursor === undefined ? (rows.get(of) ?? 0) : Number(cursor.split(".")[1]);
        return Promise.resolve(
          new ReadableStream<Uint8Array>({
            start(controller) {
              const say = (event: object): void =>
                controller.enqueue(encoder.encode(`id: 0.${sent}\ndata: ${JSON.stringify(event)}\n\n`));
              const tell = (sequence: number): void => {
                sent = sequence;
                say({ kind: "trail", strand: 0, sequence, event: {} });
              };
              const stream = {
                tenant: of,
                tell: (sequence: number) => orLater(() => streams.has(stream) && tell(sequence)),
              };
              streams.add(stream);
              ends.add(() => streams.delete(stream) && controller.close());
              signal.addEventListener("abort", () => {
                if (streams.delete(stream)) controller.error(new Error("aborted"));
              });
              say({ kind: "waiting", count: 7 });
              if (withdrawn.length > 0) say(withdrawnEvent());
              for (let next = sent + 1; next <= (rows.get(of) ?? 0); next += 1) tell(next);
            },
          }),
        );
      },
      shared: hasLocks
        ? {
            election: electByLock(locks, session),
            openChannel(hear) {
              const members = channels.get(session) ?? new Set();
              channels.set(session, members);
              const member = { hear: (message: Message) => orLater(() => hear(message)) };
              members.add(member);
              return {
                post(message) {
                  if (tab.isFrozen) return;
                  for (const other of members)
                    if (other !== member) setTimeout(() => members.has(other) && other.hear(message), 1);
                },
                close: () => void members.delete(member),
              };
            },
          }
        : undefined,
      isShown: () => tab.isShown,
      makeId: () => `id-${++ids}`,
      silenceMs: 45_000,
      retryMs: 2000,
      everyMs: 10_000,
      answerMs: 4000,
    };
    const followed = followTenant(tenant, from, ports, {
      onOpen: () => void tab.states.push("open"),
      onHeard: () => {},
      onWaiting: (count) => void tab.waiting.push(count),
      onWithdrawn: (tools) => void (tab.withdrawn = tools.map(({ tool }) => tool)),
      onEvent: (event) => void (event.kind === "trail" && tab.heard.push(event.sequence)),
      onClosed: () => void tab.states.push("closed"),
    });
    return Object.assign(tab, {
      close: () => followed.close(),
      showOrHide: () => followed.showOrHide(),
      cursor: () => followed.cursor,
      thaw() {
        tab.isFrozen = false;
        for (const act of delayed.splice(0)) act();
      },
    });
  };
  const write = (tenant: string, count = 1): void => {
    for (let place = 0; place < count; place += 1) {
      const sequence = (rows.get(tenant) ?? 0) + 1;
      rows.set(tenant, sequence);
      for (const stream of streams) if (stream.tenant === tenant) stream.tell(sequence);
    }
  };
  /** Takes rows away, as a host does that begins with an older copy of its database. */
  const restore = (tenant: string, last: number): void => {
    rows.set(tenant, last);
    for (const end of ends) end();
  };
  /** Ends every stream, which tabs open again. */
  const breakStreams = (): void => {
    for (const end of ends) end();
  };
  return { openTab, write, restore, streams, opened, withdrawn, breakStreams };
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1);

describe("tabs of one session", () => {
  test("ten share one stream, and each hears every row once", async () => {
    const { openTab, write, streams, opened } = openBrowser();
    const tabs = Array.from({ length: 10 }, () => openTab("acme"));
    await settle(100);
    write("acme", 3);
    await settle(100);
    expect(tabs.map(({ heard }) => heard)).toEqual(tabs.map(() => [1, 2, 3]));
    expect(tabs.every(({ waiting, states }) => waiting.at(-1) === 7 && states.at(-1) === "open")).toBe(true);
    expect([streams.size, opened]).toEqual([1, ["acme now"]]);
  });

  test("a tab that comes later is told how many wait, and hears what comes from then on", async () => {
    const { openTab, write, opened } = openBrowser();
    openTab("acme");
    await settle(100);
    write("acme", 3);
    await settle(100);
    const late = openTab("acme");
    await settle(100);
    write("acme");
    await settle(100);
    expect([late.heard, late.waiting.at(-1), late.states, opened]).toEqual([[4], 7, ["open"], ["acme now"]]);
  });

  test("all know which tools are withdrawn, those too that come later, and a stream that tells of none begins with none", async () => {
    const { openTab, withdrawn, breakStreams } = openBrowser();
    withdrawn.push("echo");
    const first = openTab("acme");
    await settle(100);
    const late = openTab("acme");
    await settle(100);
    expect([first.withdrawn, late.withdrawn]).toEqual([["echo"], ["echo"]]);
    withdrawn.pop();
    breakStreams();
    await settle(5000);
    expect([first.withdrawn, late.withdrawn]).toEqual([[], []]);
  });

  test("the leader is closed, and another continues behind the last row", async () => {
    const { openTab, write, streams, opened } = openBrowser();
    const [leader, second, third] = [openTab("acme"), openTab("acme"), openTab("acme")];
    await settle(100);
    write("acme", 2);
    await settle(100);
    leader?.close();
    write("acme", 2);
    await settle(100);
    write("acme", 2);
    await settle(100);
    expect([second.heard, third.heard, streams.size]).toEqual([upTo(6), upTo(6), 1]);
    expect(opened).toEqual(["acme now", "acme 0.2"]);
    expect(second.states).not.toContain("closed");
  });

  test("a leader that freezes is replaced by a tab that is seen; thawed, it follows and has missed nothing", async () => {
    const { openTab, write, streams } = openBrowser();
    const leader = openTab("acme");
    await settle(100);
    const others = [openTab("acme"), openTab("acme"), openTab("acme")];
    await settle(100);
    write("acme", 2);
    await settle(100);
    leader.isFrozen = true;
    leader.isShown = false;
    write("acme", 2);
    await settle(100);
    expect(others.map(({ heard }) => heard)).toEqual(others.map(() => upTo(2)));
    await settle(15_000);
    expect(others.map(({ heard }) => heard)).toEqual(others.map(() => upTo(4)));
    leader.thaw();
    write("acme");
    await settle(15_000);
    write("acme");
    await settle(100);
    expect([leader, ...others].map(({ heard }) => heard)).toEqual(upTo(4).map(() => upTo(6)));
    expect(streams.size).toBe(1);
  });

  test("a new tab takes the lead from a frozen one, and others continue where they were, not where the new one begins", async () => {
    const { openTab, write, streams } = openBrowser();
    const leader = openTab("acme");
    await settle(100);
    const hidden = openTab("acme", { isShown: false });
    await settle(100);
    write("acme", 2);
    await settle(100);
    Object.assign(leader, { isFrozen: true, isShown: false });
    write("acme", 2);
    const fresh = openTab("acme");
    await settle(5000);
    write("acme");
    await settle(100);
    expect([hidden.heard, fresh.heard.at(-1), streams.size]).toEqual([upTo(5), 5, 1]);
  });

  test("a tab that comes back has the rows of meanwhile told again, and the others pass them over", async () => {
    const { openTab, write, opened, streams } = openBrowser();
    const [stays, leaves] = [openTab("acme"), openTab("acme")];
    await settle(100);
    write("acme", 2);
    await settle(100);
    leaves.close();
    write("acme", 3);
    await settle(100);
    const back = openTab("acme", { from: leaves.cursor() ?? "" });
    await settle(100);
    write("acme");
    await settle(100);
    expect([stays.heard, leaves.heard, back.heard]).toEqual([upTo(6), upTo(2), [3, 4, 5, 6]]);
    expect([opened, streams.size]).toEqual([["acme now", "acme 0.2"], 1]);
  });

  test("after a restore that took rows away, tabs hear what comes from then on", async () => {
    const { openTab, write, restore } = openBrowser();
    const tabs = [openTab("acme"), openTab("acme")];
    await settle(100);
    write("acme", 5);
    await settle(100);
    restore("acme", 2);
    await settle(10_000);
    write("acme", 2);
    await settle(100);
    expect(tabs.map(({ heard }) => heard)).toEqual(tabs.map(() => [...upTo(5), 3, 4]));
  });

  test("the last tab that is closed leaves no stream, no timer and no lock", async () => {
    const { openTab, streams, opened } = openBrowser();
    const tabs = [openTab("acme"), openTab("acme")];
    await settle(100);
    for (const tab of tabs) tab.close();
    await settle(100);
    expect([streams.size, vi.getTimerCount()]).toEqual([0, 0]);
    openTab("acme");
    await settle(100);
    expect([streams.size, opened.length]).toEqual([1, 2]);
  });
});

describe("tabs of several tenants", () => {
  test("each hears its own tenant alone, from one leader", async () => {
    const { openTab, write, streams } = openBrowser();
    const [acme, other] = [openTab("acme"), openTab("other")];
    await settle(100);
    write("acme", 2);
    write("other");
    await settle(100);
    expect([acme.heard, other.heard, streams.size]).toEqual([[1, 2], [1], 2]);
  });

  test("there are never more than three streams: those that are seen come first, and one that is seen again continues", async () => {
    const { openTab, write, streams } = openBrowser();
    const tabs = [..."abcdef"].map((tenant) => openTab(tenant, { isShown: false }));
    await settle(100);
    const last = tabs[5];
    if (last === undefined) throw new Error("There are six.");
    expect(streams.size).toBe(3);
    last.isShown = true;
    last.showOrHide();
    await settle(100);
    expect([streams.size, last.states.at(-1)]).toEqual([3, "open"]);
    write("f", 2);
    await settle(120_000);
    expect([streams.size, last.heard]).toEqual([3, [1, 2]]);
    expect(tabs.filter(({ states }) => states.at(-1) === "open").length).toBe(3);
  });

  test("a tenant that no tab follows any more has no stream", async () => {
    const { openTab, streams } = openBrowser();
    openTab("acme");
    const other = openTab("other");
    await settle(100);
    other.close();
    await settle(100);
    expect([...streams].map(({ tenant }) => tenant)).toEqual(["acme"]);
  });
});

test("a tab of another session hears nothing, and has a leader of its own", async () => {
  const { openTab, write, opened } = openBrowser();
  openTab("acme");
  await settle(100);
  const other = openTab("other", { session: "two" });
  await settle(100);
  write("acme", 2);
  await settle(100);
  expect([other.heard, opened]).toEqual([[], ["acme now", "other now"]]);
});

test("without locks each tab has a stream of its own", async () => {
  const { openTab, write, streams } = openBrowser({ hasLocks: false });
  const tabs = [openTab("acme"), openTab("acme")];
  await settle(100);
  write("acme", 2);
  await settle(100);
  expect([tabs.map(({ heard }) => heard), streams.size]).toEqual([[upTo(2), upTo(2)], 2]);
  for (const tab of tabs) tab.close();
  expect([streams.size, vi.getTimerCount()]).toEqual([0, 0]);
});
