import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parsePrincipal } from "turnpike/contracts";
import { requestHash } from "turnpike/kernel";
import { permitStoreSuite } from "turnpike/testing";
import { databaseKinds, newLocation, newTenant, openHost, openPair, sharedDatabase } from "../../test/databases.ts";
import { actToApprove, askAct, makeReviewers, officeTime, oona, payment } from "../../test/office.ts";
import { assistant, context, grant } from "../../test/records.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import type { Database } from "../storage/index.ts";
import type { Answer } from "./escalation-answers.ts";

const hourMs = 3_600_000;
const another = { kind: "tool", tool: "bank.pay", arguments: { to: "eve" } } as const;

function hashIn(namespaceId: string): string {
  return actToApprove(namespaceId).hash;
}

/** A time on the day on which everything happens. */
function at(time: string): string {
  return `2026-01-01T${time}.000Z`;
}

function openAll(database: Database, options = {}): Stores {
  return openStores(database, { escalationMs: hourMs, ...options });
}

function answerTo({ namespaceId, id, ask }: EscalationRecord, time = officeTime): Answer {
  return { namespaceId, id, ask, by: "operator-1", person: oona, at: time };
}

describe.each(databaseKinds)("permits on %s", (kind) => {
  const open = sharedDatabase(kind);
  const stores = async (options = {}): Promise<Stores> => openAll(await open(), options);
  const kindAt = async ({ permits }: Stores, namespaceId: string, time: string) =>
    (await permits.find(namespaceId, hashIn(namespaceId), at(time)))?.kind;

  /** As the end of an act does of which nothing happened. */
  const giveBackPermits = async (namespaceId: string): Promise<void> => {
    const { db } = await open();
    await db.updateTable("uses").set({ used: 0 }).where("namespace_id", "=", namespaceId).execute();
  };

  const suite = permitStoreSuite(async () => {
    const { permits, escalations } = await stores();
    const mine = context({ namespaceId: newTenant(), now: at("12:00:00") });
    const answer = async (id: string, time: string, by = "human:carol"): Promise<Answer> => {
      const record = await escalations.find(mine.namespaceId, id, time);
      if (record === undefined) throw new Error("There is no such escalation.");
      return { ...answerTo(record, time), person: parsePrincipal(by) ?? oona };
    };
    // The suite's hashes are of no act: an answer to one would be refused.
    const real = new Map<string, string>();
    return {
      permits: {
        ...permits,
        find: (namespaceId, hash, now) => permits.find(namespaceId, real.get(hash) ?? hash, now),
        ask(who, asked) {
          const hash = requestHash(who, asked.act);
          real.set(asked.hash, hash);
          return permits.ask(who, { ...asked, hash });
        },
      },
      context: mine,
      approve: async (id, time, by) => void (await escalations.approve(await answer(id, time, by))),
      deny: async (id, time) => void (await escalations.deny(await answer(id, time), "No.")),
    };
  });
  for (const one of suite) test(one.name, () => expect(one.run()).resolves.toBeUndefined());

  test("an escalation that a caller was told has expired stays closed when the clock is set back", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const escalation = await askAct(own, namespaceId);
    expect(await kindAt(own, namespaceId, "13:00:00")).toBe("refused");
    expect(await own.escalations.approve(answerTo(escalation))).toMatchObject({ kind: "closed" });
    expect(await kindAt(own, namespaceId, "12:30:00")).toBe("refused");
  });

  test("an escalation about an act is stored whole, with who asked, for whom, and what they need", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const who = { traceId: "nul\0", executionId: "turn-1", now: "2026-01-01T13:00:00+01:00" };
    const args = { to: "bob\0\ud800", amount: 1 };
    const act = { kind: "tool", tool: "bank.pay", arguments: args } as const;
    const record = await askAct(own, namespaceId, { act }, who);
    const { actor, authority, owner, purpose } = context();
    expect(record).toMatchObject({
      namespaceId,
      status: "pending",
      ask: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      requester: actor,
      reviewer: owner,
      authority,
      purpose,
      reason: "Approval is needed to call bank.pay.",
      approval: { act, request: payment, grantId: "grant-1" },
      traceId: "nul\0",
      executionId: "turn-1",
      requestedAt: "2026-01-01T12:00:00.000Z",
      expiresAt: "2026-01-01T13:00:00.000Z",
    });
    expect(record).not.toHaveProperty("requestedAuthority");
  });

  test("an act that waits is found by what its row says, however much its content is", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const record = await askAct(own, namespaceId);
    const { db } = await open();
    // What cannot be read was not checked.
    await db.updateTable("escalations").set({ content: "{" }).where("id", "=", record.id).execute();
    const found = (time: string) => own.permits.find(namespaceId, record.ask, at(time));
    const escalation = { id: record.id, expiresAt: record.expiresAt };
    expect(await found("12:30:00")).toEqual({ kind: "asked", escalation });
    expect(await found("13:30:00")).toEqual({ kind: "refused", reason: "approval_expired" });
  });

  test("escalations about acts and requests for authority count together against what an actor may have open", async () => {
    const own = await stores({ openEscalations: 2 });
    const namespaceId = newTenant();
    const inWords = (reason: string) => ({
      status: "pending" as const,
      reason,
      requestedAt: officeTime,
      reviewer: oona,
    });
    expect(await own.escalations.add(context({ namespaceId }), inWords("one"))).not.toBe("full");
    expect(await own.permits.ask(context({ namespaceId }), actToApprove(namespaceId))).not.toBe("full");
    expect(await own.permits.ask(context({ namespaceId }), actToApprove(namespaceId, { act: another }))).toBe("full");
    expect(await own.escalations.add(context({ namespaceId }), inWords("two"))).toBe("full");
    expect(await own.permits.ask(context({ namespaceId }), actToApprove(namespaceId))).not.toBe("full");
  });

  test("the answer given last counts: an approval after a denial that lapsed, and a denial after an approval that was used", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const first = await askAct(own, namespaceId);
    await own.escalations.deny(answerTo(first, at("12:01:00")), "No.");
    expect(await kindAt(own, namespaceId, "12:02:00")).toBe("refused");
    const second = await askAct(own, namespaceId, {}, { now: at("13:01:00") });
    expect(await kindAt(own, namespaceId, "13:02:00")).toBe("asked");
    await own.escalations.approve(answerTo(second, at("13:02:00")));
    expect(await kindAt(own, namespaceId, "13:03:00")).toBe("permitted");
    await own.permits.use(namespaceId, second.id);
    expect(await kindAt(own, namespaceId, "13:03:00")).toBeUndefined();
    const third = await askAct(own, namespaceId, {}, { now: at("13:04:00") });
    await own.escalations.deny(answerTo(third, at("13:05:00")), "No.");
    expect(await kindAt(own, namespaceId, "13:06:00")).toBe("refused");
  });

  test("escalations of one act are in their order, also in one instant and on a host whose clock is behind", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const ids: string[] = [];
    for (const now of [at("12:00:00"), at("12:00:00"), at("11:50:00"), at("11:40:00")]) {
      const record = await askAct(own, namespaceId, {}, { now });
      ids.push(record.id);
      await own.escalations.approve(answerTo(record, now));
      await own.permits.use(namespaceId, record.id);
    }
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(4);
  });

  describe("when an act is asked about at the instant of an answer", () => {
    test("the answer counts, and not the escalation", async () => {
      for (const status of ["permitted", "refused"]) {
        const own = await stores();
        const namespaceId = newTenant();
        const first = answerTo(await askAct(own, namespaceId));
        await (status === "permitted" ? own.escalations.approve(first) : own.escalations.deny(first, "No."));
        const joined = await own.permits.ask(context({ namespaceId }), actToApprove(namespaceId));
        expect(joined).toMatchObject({ id: first.id });
        expect(await kindAt(own, namespaceId, "12:01:00")).toBe(status);
        expect(await own.escalations.list(namespaceId, { now: at("12:01:00"), limit: 9 })).toHaveLength(1);
      }
    });

    test("the answer counts again when its permit comes back, and not the escalation that was made meanwhile", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const first = await askAct(own, namespaceId);
      await own.escalations.approve(answerTo(first));
      await own.permits.use(namespaceId, first.id);
      await askAct(own, namespaceId, {}, { now: at("12:00:30") });
      expect(await kindAt(own, namespaceId, "12:01:00")).toBe("asked");
      await giveBackPermits(namespaceId);
      expect(await kindAt(own, namespaceId, "12:01:00")).toBe("permitted");
    });

    test("a permit waits until the escalation is answered, too: the answer given last counts", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const waits = (time: string) =>
        own.permits.waiting(context({ namespaceId, now: at(time) }), payment).then((permits) => permits.length);
      const first = await askAct(own, namespaceId);
      await own.escalations.approve(answerTo(first, at("12:01:00")), { expiresAt: at("20:00:00") });
      await own.permits.use(namespaceId, first.id);
      const second = await askAct(own, namespaceId, {}, { now: at("12:01:00") });
      await giveBackPermits(namespaceId);
      expect(await waits("12:02:00")).toBe(1);
      await own.escalations.deny(answerTo(second, at("12:03:00")), "No.");
      expect([await kindAt(own, namespaceId, "12:04:00"), await waits("12:04:00")]).toEqual(["refused", 0]);
    });

    test("under another grant, the escalation counts: an approval is for its grant alone", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      await own.escalations.approve(answerTo(await askAct(own, namespaceId)));
      await own.permits.ask(context({ namespaceId }), actToApprove(namespaceId, { grantId: "another" }));
      expect(await kindAt(own, namespaceId, "12:01:00")).toBe("asked");
    });

    test("a permit that had lapsed by then stays lapsed for a host whose clock is behind", async () => {
      const own = await stores();
      const namespaceId = newTenant();
      await own.escalations.approve(answerTo(await askAct(own, namespaceId)));
      expect(await kindAt(own, namespaceId, "12:14:59")).toBe("permitted");
      const again = { ...context({ namespaceId }), now: at("12:15:00") };
      await own.permits.ask(again, actToApprove(namespaceId));
      expect(await kindAt(own, namespaceId, "12:14:59")).toBe("asked");
    });
  });

  const ends: { name: string; expiresAt?: string; grantEnd?: string; end: string }[] = [
    { name: "after fifteen minutes unless the answer says when", end: at("12:15:00") },
    { name: "when the answer says", expiresAt: "2026-01-01T14:00:00+01:00", end: at("13:00:00") },
    { name: "with its grant, if that ends first", grantEnd: "2026-01-01T12:05:00Z", end: at("12:05:00") },
    {
      name: "with its grant, whatever the answer says",
      expiresAt: at("13:00:00"),
      grantEnd: at("12:05:00"),
      end: at("12:05:00"),
    },
    {
      name: "before its grant, if the answer says so",
      expiresAt: at("12:01:00"),
      grantEnd: at("12:05:00"),
      end: at("12:01:00"),
    },
  ];
  for (const { name, expiresAt, grantEnd, end } of ends) {
    test(`a permit ends ${name}`, async () => {
      const own = await stores();
      const namespaceId = newTenant();
      const constraints = grantEnd === undefined ? {} : { expiresAt: grantEnd };
      await own.grants.issue(grant("grant-1", { namespaceId, constraints }));
      const answered = await own.escalations.approve(answerTo(await askAct(own, namespaceId)), { expiresAt });
      expect(answered).toMatchObject({ kind: "done", record: { status: "approved", permitExpiresAt: end } });
      expect(answered).not.toHaveProperty("grant");
      expect(await own.permits.find(namespaceId, hashIn(namespaceId), officeTime)).toMatchObject({
        permit: { expiresAt: end },
      });
      expect(await own.grants.list(namespaceId, { limit: 9 })).toHaveLength(1);
    });
  }

  test("an act under a grant that has ended cannot be approved, and neither can several uses of one", async () => {
    const own = await stores();
    const namespaceId = newTenant();
    const record = await askAct(own, namespaceId);
    await own.grants.issue(grant("grant-1", { namespaceId, constraints: { expiresAt: officeTime } }));
    expect(await own.escalations.approve(answerTo(record))).toMatchObject({ kind: "invalid" });
    const free = await askAct(own, newTenant());
    expect(await own.escalations.approve(answerTo(free), { maxUses: 2 })).toMatchObject({ kind: "invalid" });
    expect(await own.escalations.find(namespaceId, record.id, officeTime)).toEqual(record);
  });

  test("a listener hears of escalations and answers, of each once, with the whole record, in its transaction", async () => {
    const told: unknown[] = [];
    const tell =
      (what: string) =>
      (_transaction: unknown, { id, approval }: EscalationRecord) =>
        Promise.resolve(told.push([what, id, approval?.act.kind]));
    const own = await stores({ onOpened: tell("opened"), onAnswered: tell("answered"), approvals: 2 });
    await makeReviewers(own, ["operator-1"]);
    const record = await askAct(own, newTenant());
    await askAct(own, record.namespaceId);
    await own.escalations.approve(answerTo(record));
    expect(told).toEqual([["opened", record.id, "tool"]]);
    await own.escalations.approve({ ...answerTo(record), person: { kind: "human", userId: "carol" } });
    expect(told.slice(1)).toEqual([["answered", record.id, "tool"]]);
  });

  describe("when two people have to approve", () => {
    const carol = { kind: "human", userId: "carol" } as const;
    const ofTwo = async (): Promise<Stores> => {
      const own = await stores({ approvals: 2 });
      await makeReviewers(own, ["operator-1", "operator-2"]);
      return own;
    };

    test("the first approval changes nothing but the record, and the second makes the permit with both names on it", async () => {
      const own = await ofTwo();
      const namespaceId = newTenant();
      const record = await askAct(own, namespaceId);
      const first = await own.escalations.approve(answerTo(record));
      const approvals = [{ by: oona, credential: "operator-1", at: officeTime }];
      expect(first).toEqual({ kind: "done", record: { ...record, approvals } });
      expect(await kindAt(own, namespaceId, "12:01:00")).toBe("asked");
      const second = { ...answerTo(record, at("12:02:00")), person: carol, by: "operator-2" };
      expect(await own.escalations.approve(second)).toMatchObject({
        kind: "done",
        record: { status: "approved", decidedBy: "operator-2", permitExpiresAt: at("12:17:00") },
      });
      expect(await own.permits.find(namespaceId, hashIn(namespaceId), at("12:03:00"))).toMatchObject({
        permit: { approvedBy: ["human:oona", "human:carol"] },
      });
    });

    test("one person does not count twice, whatever credential they have", async () => {
      const own = await ofTwo();
      const record = await askAct(own, newTenant());
      await own.escalations.approve(answerTo(record));
      const again = await own.escalations.approve({ ...answerTo(record), by: "operator-2" });
      expect(again).toMatchObject({ kind: "same-person" });
      expect(await kindAt(own, record.namespaceId, "12:01:00")).toBe("asked");
    });

    test("one denial is enough, also after an approval", async () => {
      const own = await ofTwo();
      const record = await askAct(own, newTenant());
      await own.escalations.approve(answerTo(record));
      expect(await own.escalations.deny({ ...answerTo(record), person: carol }, "No.")).toMatchObject({ kind: "done" });
      expect(await kindAt(own, record.namespaceId, "12:01:00")).toBe("refused");
    });

    test("the narrower of their terms hold", async () => {
      const own = await ofTwo();
      const record = await askAct(own, newTenant());
      await own.escalations.approve(answerTo(record), { expiresAt: at("12:05:00") });
      const last = await own.escalations.approve({ ...answerTo(record), person: carol }, { expiresAt: at("13:00:00") });
      expect(last).toMatchObject({ record: { permitExpiresAt: at("12:05:00") } });
    });

    test("one of them alone does not have it last longer than the other, who named no end, agreed to", async () => {
      const own = await ofTwo();
      const record = await askAct(own, newTenant());
      await own.escalations.approve(answerTo(record));
      const last = await own.escalations.approve({ ...answerTo(record), person: carol }, { expiresAt: at("18:00:00") });
      expect(last).toMatchObject({ record: { permitExpiresAt: at("12:15:00") } });
    });

    test("an earlier approval counts alone when one is enough by now, and any reviewer may give the last one", async () => {
      const record = await askAct(await stores(), newTenant());
      await (await stores({ approvals: 2 })).escalations.approve(answerTo(record));
      const own = await stores();
      expect(await own.escalations.approve(answerTo(record))).toMatchObject({ record: { status: "approved" } });
    });
  });

  test("no person approves their own act, and all may deny it", async () => {
    const own = await stores();
    const record = await askAct(own, newTenant());
    const mine = { ...answerTo(record), person: assistant };
    expect(await own.escalations.approve(mine)).toEqual({ kind: "own-request" });
    expect(await own.escalations.find(record.namespaceId, record.id, officeTime)).toEqual(record);
    expect(await own.escalations.deny(mine, "No.")).toMatchObject({ kind: "done" });
  });

  test("an approval, a denial and the use of a permit are there when the database is opened again", async () => {
    const location = await newLocation(kind);
    const before = await openHost(location);
    const own = openAll(before);
    const denied = await askAct(own, "denied");
    await own.escalations.deny(answerTo(denied), "No.");
    const [waiting, used] = [await askAct(own, "waiting"), await askAct(own, "used")];
    for (const record of [waiting, used]) await own.escalations.approve(answerTo(record));
    await own.permits.use("used", used.id);
    await before.close();
    const again = openAll(await openHost(location));
    expect(await kindAt(again, "denied", "12:59:59")).toBe("refused");
    expect(await kindAt(again, "waiting", "12:01:00")).toBe("permitted");
    expect(await kindAt(again, "used", "12:01:00")).toBeUndefined();
    expect(await again.permits.use("used", used.id)).toBe(false);
    expect(await again.permits.use("waiting", waiting.id)).toBe(true);
  });

  describe("when a statement fails", () => {
    // What failed is tried again in the background: not before the state was read.
    beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
    afterEach(() => void vi.useRealTimers());

    interface Operation {
      name: string;
      run(own: Stores, record: EscalationRecord): Promise<unknown>;
    }
    const operations: Operation[] = [
      {
        name: "ask",
        run: ({ permits }, { namespaceId }) =>
          permits.ask(context({ namespaceId }), actToApprove(namespaceId, { act: another })),
      },
      { name: "approve", run: ({ escalations }, record) => escalations.approve(answerTo(record)) },
      { name: "deny", run: ({ escalations }, record) => escalations.deny(answerTo(record), "No.") },
      {
        name: "find",
        run: ({ permits }, { namespaceId }) => permits.find(namespaceId, hashIn(namespaceId), officeTime),
      },
      { name: "waiting", run: ({ permits }, { namespaceId }) => permits.waiting(context({ namespaceId }), payment) },
    ];
    const used: Operation = { name: "use", run: ({ permits }, { namespaceId, id }) => permits.use(namespaceId, id) };
    const isRefused = (operation: Promise<unknown>): Promise<boolean> =>
      operation.then(
        () => false,
        () => true,
      );
    const seed = async ({ name }: Operation): Promise<EscalationRecord> => {
      const own = openAll(await open());
      const record = await askAct(own, newTenant());
      if (name === "use") await own.escalations.approve(answerTo(record));
      return record;
    };
    const stateOf = async ({ namespaceId }: EscalationRecord): Promise<string> => {
      const { db } = await open();
      const rows = [];
      for (const table of ["escalations", "uses", "grants"] as const)
        rows.push(await db.selectFrom(table).selectAll().where("namespace_id", "=", namespaceId).execute());
      return JSON.stringify(rows.map((found) => found.map((row) => JSON.stringify(row)).toSorted()));
    };

    for (const operation of [...operations, used]) {
      test(`${operation.name} rejects, nothing is half done, and the next try succeeds`, async () => {
        const { database, statements } = recordStatements(await open());
        await operation.run(openAll(database), await seed(operation));
        const problems: string[] = [];
        for (const [place, statement] of statements.entries()) {
          const record = await seed(operation);
          const before = await stateOf(record);
          const own = openAll(failingAt(await open(), place + 1, "before"));
          if (!(await isRefused(operation.run(own, record)))) problems.push(`acknowledged without ${statement}`);
          if ((await stateOf(record)) !== before) problems.push(`half done without ${statement}`);
          if (await isRefused(operation.run(own, record))) problems.push(`stuck after ${statement}`);
        }
        expect(statements.length).toBeGreaterThan(0);
        expect(problems).toEqual([]);
      });
    }
  });
});

describe("permits on a PostgreSQL that two hosts share", () => {
  const openHosts = async (options = {}): Promise<[Stores, Stores]> => {
    const [here, there] = await openPair();
    return [openAll(here, options), openAll(there, options)];
  };

  test("the same act through both at once is one escalation, and of forty who use its permit one does", async () => {
    const hosts = await openHosts();
    for (let round = 0; round < 5; round += 1) {
      const namespaceId = newTenant();
      const asked = await Promise.all(
        Array.from({ length: 20 }, (_, place) =>
          (place % 2 === 0 ? hosts[0] : hosts[1]).permits.ask(context({ namespaceId }), actToApprove(namespaceId)),
        ),
      );
      expect(new Set(asked.map((one) => one !== "full" && one.id)).size).toBe(1);
      const record = await askAct(hosts[0], namespaceId);
      await hosts[1].escalations.approve(answerTo(record));
      const taken = await Promise.all(
        Array.from({ length: 40 }, (_, place) =>
          (place % 2 === 0 ? hosts[0] : hosts[1]).permits.use(namespaceId, record.id),
        ),
      );
      expect(taken.filter(Boolean)).toHaveLength(1);
    }
  });

  test("of an approval and a denial at once one counts, and the other one is told", async () => {
    const [here, there] = await openHosts();
    for (let round = 0; round < 10; round += 1) {
      const record = await askAct(here, newTenant());
      const [approved, denied] = await Promise.all([
        here.escalations.approve(answerTo(record)),
        there.escalations.deny(answerTo(record), "No."),
      ]);
      expect([approved.kind, denied.kind].toSorted()).toEqual(["closed", "done"]);
      const state = await there.permits.find(record.namespaceId, record.ask, officeTime);
      expect(state?.kind).toBe(approved.kind === "done" ? "permitted" : "refused");
    }
  });

  test("two people who approve at once on two hosts are two, and one who does is one", async () => {
    const [here, there] = await openHosts({ approvals: 2 });
    await makeReviewers(here, ["operator-1", "operator-2"]);
    for (const person of [oona, { kind: "human", userId: "carol" } as const]) {
      const record = await askAct(here, newTenant());
      const said = await Promise.all([
        here.escalations.approve(answerTo(record)),
        there.escalations.approve({ ...answerTo(record), person, by: "operator-2" }),
      ]);
      const isOne = person === oona;
      expect(said.map(({ kind }) => kind).toSorted()).toEqual(isOne ? ["done", "same-person"] : ["done", "done"]);
      const state = await there.permits.find(record.namespaceId, record.ask, officeTime);
      expect(state?.kind).toBe(isOne ? "asked" : "permitted");
    }
  });
});
