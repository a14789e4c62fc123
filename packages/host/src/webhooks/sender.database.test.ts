import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, openFresh, openPair } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import { askIn, escalation, officeTime, oona } from "../../test/office.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { alice, auditEvent, context } from "../../test/records.ts";
import { openReceiver, type Receiver } from "../../test/webhook-receiver.ts";
import { openStores } from "../compose/stores.ts";
import { createMetrics } from "../telemetry/index.ts";
import type { Database } from "../storage/index.ts";
import { createNotices } from "./notices.ts";
import { NotifySettingsSchema } from "./notify-settings.ts";
import { openOutbox } from "./outbox.ts";
import { createSender, retryMs, type SenderOptions } from "./sender.ts";
import { openWebhooks } from "./webhook.ts";

const secret = "a secret of a webhook, long enough";
const secretBytes = Buffer.from(secret);
const dayMs = 86_400_000;

interface HostOptions extends Partial<Pick<SenderOptions, "attemptMs" | "graceMs" | "expire" | "isTooOld">> {
  events?: readonly string[];
}

/** What a host does of all this, with a clock that the test moves. */
function openHost(database: Database, urls: readonly string[], { events, ...options }: HostOptions = {}) {
  const time = { now: Date.parse(officeTime) };
  const clock = (): Date => new Date(time.now);
  const log = recordingLog();
  const metrics = createMetrics();
  const settings = NotifySettingsSchema.parse({
    webhooks: urls.map((url) => ({ url, secretEnv: "HOOK_SECRET", ...(events && { events }) })),
  });
  const webhooks = openWebhooks(settings, { HOOK_SECRET: secret });
  const dropped: boolean[] = [];
  const notices = createNotices({
    webhooks,
    consoleUrl: () => "https://console.example.com/console/",
    clock,
    onDropped: (_webhook, isFirst) => void dropped.push(isFirst),
  });
  const stores = openStores(database, { escalationMs: 3_600_000, ...notices });
  const outbox = openOutbox(database);
  const sender = createSender({
    webhooks,
    outbox,
    notices,
    expire: stores.escalations.expire,
    isShared: database.isShared,
    isTooOld: database.isTooOld,
    clock,
    log,
    metrics,
    pollMs: 5,
    ...options,
  });
  onTestFinished(sender.close);
  const counted = async (outcome: string): Promise<number> => {
    const line = (await metrics.text()).match(
      new RegExp(`^turnpike_webhook_messages_total\\{outcome="${outcome}"\\} (\\d+)$`, "m"),
    );
    return Number(line?.[1] ?? 0);
  };
  /** Several of one instant have no order but that of their making. */
  const ask = async (reason: string): Promise<{ id: string; expiresAt: string }> => {
    const asked = { status: "pending" as const, reason, requestedAt: officeTime, reviewer: alice };
    const opened: unknown = await stores.escalations.add(context({ namespaceId: "acme" }), asked);
    return opened as { id: string; expiresAt: string };
  };
  return { time, log, webhooks, notices, stores, outbox, sender, dropped, counted, ask, database };
}

type TestHost = ReturnType<typeof openHost>;

const idsOf = ({ received }: Receiver): unknown[] => received.map(({ message }) => message.data["escalationId"]);
const arrived = (receiver: Receiver, count: number) =>
  eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(count));
/** A message is counted once it is out of the queue. */
const counted = (host: TestHost, outcome: string, times: number) =>
  eventually(async () => expect(await host.counted(outcome)).toBe(times));
const emptied = ({ outbox }: TestHost) => eventually(async () => expect(await outbox.count()).toBe(0));
const failures = ({ log }: TestHost) =>
  log.said.filter(({ message }) => message === "could not send to webhook, will retry");
const failed = (host: TestHost, count: number) => eventually(() => expect(failures(host).length).toBe(count));

describe.each(databaseKinds)("a webhook on %s", (kind) => {
  const begin = async (options: HostOptions = {}) => {
    const receiver = await openReceiver(secretBytes);
    const host = openHost(await openFresh(kind), [receiver.url], options);
    return { receiver, host };
  };

  test("is told who tried what is asked, and who asked about it", async () => {
    const { receiver, host } = await begin();
    const triedBy = { actor: oona, credential: "operator-1" };
    const askedBy = { actor: { kind: "service", serviceId: "gateway" } as const, credential: "gateway-1" };
    await askIn(host.stores, "acme", escalation(), { triedBy, askedBy });
    host.sender.start();
    await emptied(host);
    expect(receiver.received.map(({ message }) => message.data)).toMatchObject([
      {
        actor: { kind: "agent", agentId: "assistant" },
        triedBy: { actor: { kind: "human", userId: "oona" }, credential: "operator-1" },
        askedBy: { actor: { kind: "service", serviceId: "gateway" }, credential: "gateway-1" },
      },
    ]);
  });

  test("is told of an escalation that opens, of its answer, and of one that is not answered, in this order", async () => {
    const { receiver, host } = await begin();
    const { stores, time, sender } = host;
    const first = await askIn(stores, "acme", escalation(), { executionId: "turn-1" });
    const answer = {
      namespaceId: "acme",
      id: first.id,
      ask: first.ask,
      by: "operator-1",
      person: oona,
      at: officeTime,
    };
    await stores.escalations.deny(answer, "No.");
    const second = await host.ask("Once more?");
    time.now = Date.parse(second.expiresAt);
    sender.start();
    await emptied(host);
    const data = {
      tenant: "acme",
      escalationId: first.id,
      executionId: "turn-1",
      about: "authority",
      actor: { kind: "agent", agentId: "assistant" },
      requestHash: first.ask,
      status: "pending",
      requestedAt: officeTime,
      expiresAt: first.expiresAt,
      link: `https://console.example.com/console/acme/questions/${first.id}`,
    };
    expect(receiver.received.map(({ message }) => message)).toEqual([
      { type: "escalation.opened", timestamp: officeTime, data },
      {
        type: "escalation.answered",
        timestamp: officeTime,
        data: { ...data, status: "denied", decidedAt: officeTime, decidedBy: "operator-1" },
      },
      { type: "escalation.opened", timestamp: officeTime, data: expect.objectContaining({ escalationId: second.id }) },
      {
        type: "escalation.expired",
        timestamp: second.expiresAt,
        data: expect.objectContaining({ escalationId: second.id, status: "expired" }),
      },
    ]);
    expect(receiver.received.every(({ isSigned }) => isSigned)).toBe(true);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(4);
    expect(new Set(receiver.received.map(({ timestamp }) => timestamp))).toEqual(new Set([time.now / 1000]));
    await counted(host, "sent", 4);
  });

  test("is sent nothing while the host is too old for the database, and everything after that", async () => {
    const state = { isTooOld: true, looks: 0 };
    const isTooOld = (): boolean => {
      state.looks += 1;
      return state.isTooOld;
    };
    const { receiver, host } = await begin({ isTooOld });
    const { expiresAt } = await host.ask("Once more?");
    host.time.now = Date.parse(expiresAt);
    host.sender.start();
    await eventually(() => expect(state.looks).toBeGreaterThan(2));
    expect([receiver.received.length, await host.outbox.count()]).toEqual([0, 1]);
    state.isTooOld = false;
    await emptied(host);
    expect(receiver.received.map(({ message }) => message.type)).toEqual(["escalation.opened", "escalation.expired"]);
  });

  test("is told once of what expired, also after every host was down", async () => {
    const { receiver, host } = await begin({ events: ["escalation.expired"] });
    const { id } = await host.ask("Is anyone there?");
    host.time.now += 7 * dayMs;
    host.sender.start();
    await arrived(receiver, 1);
    await host.sender.close();
    const next = openHost(host.database, [receiver.url], { events: ["escalation.expired"] });
    next.time.now = host.time.now;
    next.sender.start();
    await host.stores.escalations.expire(new Date(host.time.now).toISOString(), 9);
    await emptied(next);
    expect(idsOf(receiver)).toEqual([id]);
  });

  test("is not told of what expired before there was a webhook", async () => {
    const receiver = await openReceiver(secretBytes);
    const before = openHost(await openFresh(kind), []);
    await before.ask("Is anyone there?");
    before.time.now += dayMs;
    before.sender.start();
    const { db } = before.database;
    await eventually(async () =>
      expect(await db.selectFrom("escalations").select("status").execute()).toEqual([{ status: "expired" }]),
    );
    await before.sender.close();
    const after = openHost(before.database, [receiver.url]);
    after.time.now = before.time.now;
    after.sender.start();
    const { id } = await after.ask("And now?");
    await emptied(after);
    expect(idsOf(receiver)[0]).toBe(id);
    expect(receiver.received.filter(({ message }) => message.data["escalationId"] !== id)).toEqual([]);
  });

  test("that fails is tried again within 5 s, with the same id, a new time and the same body", async () => {
    const { receiver, host } = await begin();
    receiver.reply((_one, place) => (place === 0 ? 500 : 200));
    await host.ask("May I?");
    host.sender.start();
    await failed(host, 1);
    host.time.now += 5_000;
    await emptied(host);
    const [first, second, ...more] = receiver.received;
    expect(more).toEqual([]);
    expect(second).toEqual({ ...first, timestamp: (first?.timestamp ?? 0) + 5 });
    expect(second?.isSigned).toBe(true);
    expect(failures(host)[0]?.facts).toMatchObject({ webhook: withoutPath(receiver.url), attempts: 1, status: 500 });
    await counted(host, "sent", 1);
    await counted(host, "failed", 1);
  });

  test("gets nothing before what failed is sent, and another is not held up by that", async () => {
    const [one, other] = [await openReceiver(secretBytes), await openReceiver(secretBytes)];
    const host = openHost(await openFresh(kind), [one.url, other.url]);
    one.reply((_received, place) => (place < 2 ? 503 : 200));
    const asked: string[] = [];
    for (const reason of ["one", "two", "three"]) asked.push((await host.ask(reason)).id);
    host.sender.start();
    await arrived(other, 3);
    await failed(host, 1);
    host.time.now += 5_000;
    await failed(host, 2);
    host.time.now += 10_000;
    await emptied(host);
    expect(idsOf(other)).toEqual(asked);
    expect(idsOf(one)).toEqual([asked[0], asked[0], ...asked]);
    expect(one.received[0]?.id).not.toBe(other.received[0]?.id);
  });

  test("that is slow gets one message at a time, and no other receiver waits for it", async () => {
    const { receiver, host } = await begin();
    const open: ServerResponse[] = [];
    receiver.reply(() => (response) => void open.push(response));
    host.sender.start();
    const asked = [await host.ask("one"), await host.ask("two"), await host.ask("three")];
    for (const [place] of asked.entries()) {
      await eventually(() => expect(open).toHaveLength(place + 1));
      open[place]?.writeHead(200).end("thanks");
    }
    await emptied(host);
    expect(idsOf(receiver)).toEqual(asked.map(({ id }) => id));
    expect(receiver.mostAtOnce()).toBe(1);
  });

  test("that does not answer in time is tried again", async () => {
    const { receiver, host } = await begin({ attemptMs: 1000 });
    receiver.reply((_one, place) => (place === 0 ? "hang" : 200));
    await host.ask("May I?");
    host.sender.start();
    await failed(host, 1);
    expect(failures(host)[0]?.facts).toMatchObject({ error: "TimeoutError" });
    host.time.now += 5_000;
    await emptied(host);
    expect(receiver.received).toHaveLength(2);
  });

  test("that was away for a while gets everything, in order", async () => {
    const { receiver, host } = await begin();
    await receiver.stop();
    host.sender.start();
    const asked = [await host.ask("one"), await host.ask("two")].map(({ id }) => id);
    for (let attempts = 1; attempts <= 3; attempts += 1) {
      await failed(host, attempts);
      host.time.now += 3_600_000;
    }
    await failed(host, 4);
    expect(failures(host)[0]?.facts).toMatchObject({ error: "ECONNREFUSED" });
    await receiver.start();
    host.time.now += 3_600_000;
    await eventually(() => expect(idsOf(receiver).slice(0, 2)).toEqual(asked));
  });

  test("gets its messages although the clock was set back since they were made", async () => {
    const { receiver, host } = await begin();
    receiver.reply((_one, place) => (place === 0 ? 500 : 200));
    await host.ask("May I?");
    host.time.now -= 2 * dayMs;
    host.sender.start();
    await failed(host, 1);
    host.time.now += 5_000;
    await emptied(host);
    expect(receiver.received).toHaveLength(2);
  });

  test("is told of a tenant whose name no URL can have", async () => {
    const { receiver, host } = await begin();
    await askIn(host.stores, "half a \ud800 character", escalation());
    host.sender.start();
    await arrived(receiver, 1);
    expect(receiver.received[0]?.message.data["tenant"]).toBe("half a \ud800 character");
    expect(receiver.received[0]?.message.data["link"]).toMatch(/\/console\/sha256%3A[0-9a-f]{64}\/questions\/q/);
  });

  test("is told what waits while what expired cannot be marked", async () => {
    const expire = () => Promise.reject(new Error("This row cannot be read."));
    const { receiver, host } = await begin({ expire });
    const { id } = await host.ask("May I?");
    host.sender.start();
    await arrived(receiver, 1);
    expect(idsOf(receiver)).toEqual([id]);
  });

  test("does not hold up the end of a host that has very much to mark as expired", async () => {
    const { host } = await begin({ expire: (_now, most) => Promise.resolve(most) });
    host.sender.start();
    await expect(host.sender.close()).resolves.toBeUndefined();
  });

  test("is not followed where it redirects to", async () => {
    const { receiver, host } = await begin();
    const elsewhere = await openReceiver(secretBytes);
    receiver.reply(() => (response) => void response.writeHead(307, { location: elsewhere.url }).end());
    await host.ask("May I?");
    host.sender.start();
    await failed(host, 1);
    expect(failures(host)[0]?.facts).toMatchObject({ status: 307 });
    expect(elsewhere.received).toEqual([]);
  });

  test("whose answer has no end is not read to it", async () => {
    const { receiver, host } = await begin();
    const endless = (response: ServerResponse): void => {
      response.writeHead(200);
      // A write that fails says so at once, and the next one would as well.
      const go = (error?: Error | null): void =>
        void (error || response.destroyed || response.write("x".repeat(65_536), go));
      go();
    };
    receiver.reply((_one, place) => (place === 0 ? endless : 200));
    await host.ask("one");
    await host.ask("two");
    host.sender.start();
    await eventually(() => expect(receiver.received).toHaveLength(2), 5_000);
    await emptied(host);
  });

  test("that says it is gone is left alone until a restart, and its messages are dropped", async () => {
    const { receiver, host } = await begin();
    receiver.reply(() => 410);
    for (const reason of ["one", "two", "three"]) await host.ask(reason);
    host.sender.start();
    await emptied(host);
    await eventually(() => expect(host.log.said).toHaveLength(1));
    expect(host.log.said[0]).toMatchObject({
      level: "error",
      facts: { webhook: withoutPath(receiver.url), status: 410, dropped: 3 },
    });
    await host.ask("four");
    expect(await host.outbox.count()).toBe(0);
    // Another host has not heard of it.
    const other = openHost(host.database, [receiver.url]);
    await other.ask("five");
    await emptied(host);
    expect(receiver.received).toHaveLength(1);
    await counted(host, "dropped", 4);
    await host.sender.close();
    receiver.reply(() => 200);
    const next = openHost(host.database, [receiver.url]);
    next.sender.start();
    await next.ask("six");
    await arrived(receiver, 2);
  });

  test("gets no message that is a day old and failed once more, and then the next", async () => {
    const { receiver, host } = await begin({ events: ["escalation.opened"] });
    const first = await host.ask("one");
    receiver.reply(({ message }) => (message.data["escalationId"] === first.id ? 500 : 200));
    host.sender.start();
    await failed(host, 1);
    host.time.now += dayMs - 1;
    await failed(host, 2);
    const second = await host.ask("two");
    host.time.now += 3_600_000;
    await eventually(() => expect(idsOf(receiver)).toContain(second.id));
    const given = host.log.said.filter(({ message }) => message === "could not send to webhook, will not retry");
    expect(given).toMatchObject([{ level: "error", facts: { attempts: 3, status: 500 } }]);
    await counted(host, "dropped", 1);
  });

  test("that is not configured any more has its messages dropped", async () => {
    const { receiver, host } = await begin();
    await host.ask("one");
    const other = await openReceiver(secretBytes);
    const next = openHost(host.database, [other.url]);
    const { id } = await next.ask("two");
    next.sender.start();
    await emptied(next);
    expect(receiver.received).toEqual([]);
    expect(idsOf(other)).toEqual([id]);
    expect(next.log.said).toMatchObject([{ level: "warn", facts: { dropped: 1 } }]);
  });

  test("holds up the end of a host briefly, and its message is due at the next start", async () => {
    const { receiver, host } = await begin({ graceMs: 20 });
    receiver.reply((_one, place) => (place === 0 ? "hang" : 200));
    await host.ask("May I?");
    host.sender.start();
    await arrived(receiver, 1);
    await host.sender.close();
    const next = openHost(host.database, [receiver.url]);
    next.sender.start();
    await emptied(next);
    expect(receiver.received[1]).toEqual(receiver.received[0]);
    expect(await host.counted("failed")).toBe(0);
  });

  test("gets a message of a host that was killed while it sent it", async () => {
    const { receiver, host } = await begin();
    await host.ask("May I?");
    const [webhook] = host.webhooks;
    if (webhook === undefined) throw new Error("There is no webhook.");
    expect(await host.outbox.take(webhook, new Date(host.time.now))).toMatchObject({ attempts: 1 });
    expect(await host.outbox.take(webhook, new Date(host.time.now))).toBeUndefined();
    const next = openHost(host.database, [receiver.url]);
    next.sender.start();
    // One that has the database for itself knows that no other host sends it.
    if (host.database.isShared) next.time.now += 20_000;
    await emptied(next);
    expect(receiver.received).toHaveLength(1);
  });

  test("has its message with one host, also when another that had it before says that it failed", async () => {
    const { host } = await begin();
    await host.ask("May I?");
    const [webhook] = host.webhooks;
    if (webhook === undefined) throw new Error("There is no webhook.");
    const [first, later] = [new Date(host.time.now), new Date(host.time.now + 20_000)];
    const before = await host.outbox.take(webhook, first);
    const taken = await host.outbox.take(webhook, later);
    if (before === undefined || taken === undefined) throw new Error("It was not taken.");
    await host.outbox.postpone(before, later);
    expect(await host.outbox.take(webhook, later)).toBeUndefined();
    await host.outbox.postpone(taken, later);
    expect(await host.outbox.take(webhook, later)).toMatchObject({ message: taken.message, attempts: 3 });
  });

  describe("that wants denials", () => {
    const denial = (id: string) =>
      auditEvent(id, {
        type: "authorization.checked",
        outcome: "denied",
        reason: "no_matching_grant",
        tool: "files.read",
        action: "MARKER",
        resource: { namespace: "files", path: ["MARKER"], owner: alice },
        metadata: { requestHash: "a".repeat(64), argument: "MARKER" },
        executionId: "turn-1",
      });
    const events = ["decision.denied"];

    test("is told of them, and of nothing that was allowed", async () => {
      const { receiver, host } = await begin({ events });
      await host.stores.audit.record({ ...denial("allowed"), outcome: "allowed" });
      await host.stores.audit.record({ ...denial("invoked"), type: "tool.invoked" });
      await host.stores.audit.record(denial("denied"));
      await host.ask("May I?");
      host.sender.start();
      await emptied(host);
      expect(receiver.received.map(({ message }) => message)).toEqual([
        {
          type: "decision.denied",
          timestamp: "2026-01-01T12:00:00Z",
          data: {
            tenant: "tenant-1",
            eventId: "denied",
            executionId: "turn-1",
            tool: "files.read",
            actor: { kind: "agent", agentId: "assistant" },
            requestHash: "a".repeat(64),
            reasonCode: "no_matching_grant",
          },
        },
      ]);
      expect(receiver.received[0]?.isSigned).toBe(true);
    });

    test("is told who tried what was denied, and who asked about it", async () => {
      const { receiver, host } = await begin({ events });
      const triedBy = { actor: { kind: "human", userId: "oona" }, credential: "operator-1" };
      const askedBy = { actor: { kind: "service", serviceId: "gateway" }, credential: "gateway-1" };
      await host.stores.audit.record({ ...denial("tried"), metadata: { triedBy } });
      await host.stores.audit.record({ ...denial("asked"), metadata: { askedBy } });
      host.sender.start();
      await emptied(host);
      const told = receiver.received.map(({ message: { data } }) => [
        data["eventId"],
        data["triedBy"],
        data["askedBy"],
      ]);
      expect(told).toEqual([
        ["tried", triedBy, undefined],
        ["asked", undefined, askedBy],
      ]);
    });

    test("is not told of them while ten thousand wait, which is said once", async () => {
      const { receiver, host } = await begin({ events });
      await receiver.stop();
      const [webhook] = host.webhooks;
      const at = { created_at: officeTime, due_at: officeTime };
      const row = { webhook: webhook?.key ?? "", namespace_id: "acme", type: "decision.denied", content: "{}", ...at };
      for (let filled = 0; filled < 9_990; filled += 999)
        await host.database.db
          .insertInto("outbox")
          .values(Array.from({ length: 999 }, (_, place) => ({ ...row, message: `msg_${filled + place}` })))
          .execute();
      host.sender.start();
      await failed(host, 1);
      await Promise.all(Array.from({ length: 30 }, (_, place) => host.stores.audit.record(denial(`denied-${place}`))));
      expect(await host.outbox.count()).toBe(10_000);
      expect(host.dropped).toEqual([true, ...Array.from({ length: 19 }, () => false)]);
      await host.ask("Escalations are told of all the same");
      expect(await host.outbox.count()).toBe(10_000);
    });

    test("costs nothing when no one does", async () => {
      const { host } = await begin();
      expect(host.notices.noticesOf).toBeUndefined();
    });
  });

  test("gets no word of an act's arguments or of the agent, and the outbox and the log have no secret", async () => {
    const { receiver, host } = await begin();
    const base = await askIn(host.stores, "acme", escalation({ reason: "MARKER" }));
    const approval = {
      act: { kind: "tool" as const, tool: "mail.send", arguments: { to: "MARKER" } },
      request: { resource: { namespace: "mail", path: ["MARKER"], owner: alice }, action: "MARKER" },
      grantId: "grant-1",
    };
    const [resource, payload] = [{ namespace: "mail", path: ["MARKER"], owner: alice }, { text: "MARKER" }];
    const acts = [
      approval.act,
      { kind: "resource" as const, action: "send", resource, input: payload, metadata: payload },
      { kind: "message" as const, receiver: alice, payload },
    ];
    await host.database.db.transaction().execute(async (transaction) => {
      for (const act of acts) {
        const request = act.kind === "tool" ? approval.request : { resource, action: "send" };
        const record = { ...base, approval: { ...approval, act, request }, answer: "MARKER" };
        await host.notices.onOpened(transaction, record);
        await host.notices.onAnswered(transaction, {
          ...record,
          status: "approved",
          approvals: [{ by: alice, at: officeTime }],
        });
      }
    });
    receiver.reply((_one, place) => (place === 0 ? 500 : 200));
    const stored = JSON.stringify(await host.database.db.selectFrom("outbox").selectAll().execute());
    host.sender.start();
    await failed(host, 1);
    host.time.now += 5_000;
    await emptied(host);
    for (const text of [stored, JSON.stringify(host.log.said), ...receiver.received.map(({ body }) => body)]) {
      expect(text).not.toContain("MARKER");
      expect(text).not.toContain(secret);
      expect(text).not.toContain(secretBytes.toString("base64"));
    }
    expect(JSON.stringify(host.log.said)).not.toContain("requestHash");
    expect(
      receiver.received.slice(2).map(({ message: { data } }) => [data["about"], data["tool"], data["action"]]),
    ).toEqual([
      ["act", "mail.send", undefined],
      ["act", "mail.send", undefined],
      ["act", undefined, "send"],
      ["act", undefined, "send"],
      ["act", undefined, "send"],
      ["act", undefined, "send"],
    ]);
    expect(receiver.received[3]?.message.data["approvedBy"]).toEqual([alice]);
  });
});

test("two hosts that share a PostgreSQL send every message once, in order, one at a time", async () => {
  const receiver = await openReceiver(secretBytes);
  const hosts = (await openPair()).map((database) => openHost(database, [receiver.url]));
  for (const { sender } of hosts) sender.start();
  const asked: string[] = [];
  for (let place = 0; place < 40; place += 1) asked.push((await hosts[place % 2]?.ask(`ask ${place}`))?.id ?? "");
  await Promise.all(hosts.map(emptied));
  expect(idsOf(receiver)).toEqual(asked);
  expect(receiver.mostAtOnce()).toBe(1);
});

test("attempts come at longer and longer times, up to an hour, and never all at once", () => {
  expect([1, 2, 3, 10, 11, 60].map((attempts) => retryMs(attempts, 1) / 1000)).toEqual([4, 8, 16, 2048, 3600, 3600]);
  expect([1, 60].map((attempts) => retryMs(attempts, 0) / 1000)).toEqual([2, 1800]);
});

/** The URL of a receiver as the log may show it. */
function withoutPath(url: string): string {
  return url.replace("/hook", "/***");
}
