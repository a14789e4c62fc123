import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveEvent } from "turnpike-host/admin-contract";
import type { LeaderMessage, Message } from "./messages.ts";
import { followTenant, type TabPorts } from "./tab.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const row = (sequence: number): LiveEvent =>
  ({ kind: "trail", strand: 0, sequence, event: {} }) as unknown as LiveEvent;

/** A tab of acme that never leads, and hears what the test says. */
function openFollower({ from = undefined as string | undefined, isShown = true } = {}) {
  const said: Message[] = [];
  const heard: string[] = [];
  let hear = (_message: Message): void => {};
  let taken = 0;
  const page = { isShown };
  const ports: TabPorts = {
    open: () => Promise.reject(new Error("It does not lead.")),
    shared: {
      openChannel(listener) {
        hear = listener;
        return { post: (message) => void said.push(message), close: () => {} };
      },
      election: { wait: () => () => {}, take: () => ((taken += 1), () => {}) },
    },
    isShown: () => page.isShown,
    makeId: () => "me",
    silenceMs: 45_000,
    retryMs: 2000,
    everyMs: 10_000,
    answerMs: 4000,
  };
  const tab = followTenant("acme", from, ports, {
    onOpen: () => void heard.push("open"),
    onHeard: (at) => void heard.push(`heard ${at - start}`),
    onWaiting: (count) => void heard.push(`waiting ${count}`),
    onWithdrawn: () => {},
    onEvent: (event) => void heard.push(event.kind === "trail" ? `row ${event.sequence}` : event.kind),
    onClosed: () => void heard.push("closed"),
  });
  const start = Date.now();
  return {
    tab,
    page,
    said,
    taken: () => taken,
    /** What it was told because of some messages, without that the host was heard. */
    told(...messages: LeaderMessage[]): string[] {
      const before = heard.length;
      for (const message of messages) hear(message);
      return heard.slice(before).filter((one) => !one.startsWith("heard"));
    },
    heardAt: () => heard.findLast((one) => one.startsWith("heard")),
  };
}

/** What the leader says. */
const joined = (changes: object = {}): LeaderMessage =>
  ({
    kind: "joined",
    leader: "one",
    tenant: "acme",
    tab: "me",
    stream: "s1",
    cursor: "0.5",
    heardAt: Date.now(),
    waiting: 2,
    ...changes,
  }) as LeaderMessage;
const told = (sequence: number, changes: object = {}): LeaderMessage =>
  ({
    kind: "event",
    leader: "one",
    tenant: "acme",
    stream: "s1",
    event: row(sequence),
    cursor: `0.${sequence}`,
    ...changes,
  }) as LeaderMessage;
const opened = (changes: object = {}): LeaderMessage =>
  ({
    kind: "open",
    leader: "one",
    tenant: "acme",
    stream: "s2",
    from: "0.5",
    isAnew: false,
    ...changes,
  }) as LeaderMessage;
const closed = (changes: object = {}): LeaderMessage =>
  ({ kind: "closed", leader: "one", tenant: "acme", ...changes }) as LeaderMessage;

test("a tab joins, and hears each row once", () => {
  const { told: tell, tab, said } = openFollower();
  expect(said).toEqual([
    { kind: "follow", tab: "me", tenant: "acme", cursor: undefined, leader: undefined, isShown: true },
  ]);
  expect(tell(joined())).toEqual(["waiting 2", "open"]);
  expect(tell(told(6), told(6), told(7))).toEqual(["row 6", "row 7"]);
  expect(tab.cursor).toBe("0.7");
  // The answer to what it says every ten seconds opens nothing again.
  expect(tell(joined({ waiting: 3 }))).toEqual(["waiting 3"]);
});

for (const { name, changes } of [
  { name: "another tenant", changes: { tenant: "other" } },
  { name: "another leader", changes: { leader: "two" } },
  { name: "another stream", changes: { stream: "s9" } },
]) {
  test(`nothing of ${name} is heard`, () => {
    const { told: tell, tab, heardAt } = openFollower();
    tell(joined());
    vi.advanceTimersByTime(1000);
    const before = heardAt();
    expect(tell(told(6, changes), { ...told(6), kind: "heard", ...changes } as LeaderMessage)).toEqual([]);
    expect([tab.cursor, heardAt()]).toEqual(["0.5", before]);
    expect(tell(told(6))).toEqual(["row 6"]);
  });
}

test("a stream of another tenant, or of another leader, that opens or closes changes nothing", () => {
  const { told: tell } = openFollower();
  tell(joined());
  expect(
    tell(
      closed({ tenant: "other" }),
      closed({ leader: "two" }),
      opened({ tenant: "other" }),
      opened({ leader: "two" }),
    ),
  ).toEqual([]);
  expect([tell(told(6)), tell(closed())]).toEqual([["row 6"], ["closed"]]);
});

test("an answer to another tab, or about another tenant, is not its own", () => {
  const { told: tell, tab } = openFollower();
  expect(tell(joined({ tab: "you" }), joined({ tenant: "other" }))).toEqual([]);
  expect(tab.cursor).toBeUndefined();
});

test("a leader that has no stream for it, or one that is being opened, is not live", () => {
  const { told: tell } = openFollower();
  expect(tell(joined({ stream: undefined, heardAt: undefined, cursor: undefined }))).toEqual(["waiting 2", "closed"]);
  expect(tell(joined({ heardAt: undefined, cursor: undefined }))).toEqual(["waiting 2"]);
  expect(tell(opened({ stream: "s1", from: undefined }))).toEqual(["open"]);
});

for (const { name, cursor, from, isLate } of [
  { name: "begins where the tab is", cursor: "0.5", from: "0.5", isLate: false },
  { name: "begins earlier than the tab is", cursor: "0.5", from: "0.3", isLate: false },
  { name: "begins behind rows that the tab has not heard", cursor: "0.5", from: "0.6", isLate: true },
  { name: "begins now, when the tab is at a row", cursor: "0.5", from: undefined, isLate: true },
]) {
  test(`a stream that ${name} is ${isLate ? "too late: the leader is asked for an earlier one" : "heard"}`, () => {
    const { told: tell, said } = openFollower({ from: cursor });
    tell(joined());
    said.length = 0;
    expect(tell(opened({ from }))).toEqual(isLate ? [] : ["open"]);
    expect(said).toEqual(
      isLate ? [{ kind: "follow", tab: "me", tenant: "acme", cursor, leader: "one", isShown: true }] : [],
    );
    // Rows of a stream that is too late are not heard: those before them would be missed.
    expect(tell(told(7, { stream: "s2" }))).toEqual(isLate ? [] : ["row 7"]);
  });
}

test("a stream that begins anew, because rows were taken away, is heard from there", () => {
  const { told: tell, tab } = openFollower({ from: "0.9" });
  tell(joined({ cursor: "0.9" }));
  expect(tell(opened({ from: undefined, isAnew: true }), told(3, { stream: "s2" }))).toEqual(["open", "row 3"]);
  expect(tab.cursor).toBe("0.3");
});

test("another tab takes the lead: it is followed at once, and the one before is not believed any more", () => {
  const { told: tell, said } = openFollower();
  tell(joined());
  said.length = 0;
  expect(tell({ kind: "lead", leader: "two" })).toEqual([]);
  expect(said).toEqual([{ kind: "follow", tab: "me", tenant: "acme", cursor: "0.5", leader: "two", isShown: true }]);
  expect(tell(told(6), closed())).toEqual([]);
  expect(tell(joined({ leader: "two", stream: "s2" }), told(6, { leader: "two", stream: "s2" }))).toEqual([
    "waiting 2",
    "open",
    "row 6",
  ]);
});

test("a leader that does not answer is replaced by a tab that is seen, and not by one that is hidden", () => {
  const shown = openFollower();
  const hidden = openFollower({ isShown: false });
  vi.advanceTimersByTime(3999);
  expect([shown.taken(), hidden.taken()]).toEqual([0, 0]);
  vi.advanceTimersByTime(60_000);
  expect([shown.taken() > 0, hidden.taken()]).toEqual([true, 0]);
});

test("a tab that was hidden before the leader's time was over takes no lead, nor one that is closed", () => {
  const one = openFollower();
  const two = openFollower();
  vi.advanceTimersByTime(1000);
  one.page.isShown = false;
  two.tab.close();
  vi.advanceTimersByTime(60_000);
  expect([one.taken(), two.taken(), two.said.at(-1)]).toEqual([0, 0, { kind: "leave", tab: "me" }]);
  one.tab.close();
  expect(vi.getTimerCount()).toBe(0);
});
