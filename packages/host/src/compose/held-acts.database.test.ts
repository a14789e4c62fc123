import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, openPair } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import { makeReviewers, oona } from "../../test/office.ts";
import { alice, assistant, grant } from "../../test/records.ts";
import { openWiredHost, type WiredTestHost } from "../../test/wired-host.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import { openRuntimes } from "../turns/index.ts";

const now = "2026-01-01T12:00:00.000Z";
const need = { action: "run", resource: { namespace: "shell", path: ["deploy"] } };
const wait = { headers: { prefer: "wait=60" } };

describe.each(databaseKinds)("an act whose caller waits for the person, on %s", (kind) => {
  /** The host that holds calls; and where answers are given: another host of the same database, where there may be one. */
  const open = async (settings: Readonly<Record<string, string>> = {}) => {
    const [first, second = first] = kind === "sqlite" ? [await openFresh(kind)] : await openPair();
    const runtimes = await openRuntimes({ kind: "none" }, {});
    const parts = { ...runtimes, clock: () => new Date(now), settings };
    const host = await openWiredHost(first, parts);
    const other = second === first ? host : await openWiredHost(second, parts);
    const tenant = newTenant();
    const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
    const { id: credentialId, token } = await host.stores.credentials.create({ namespaceId: tenant, access });
    const capabilities = [
      { resource: need.resource, actions: [need.action], scope: "exact" as const, approval: "each" as const },
    ];
    await host.stores.grants.issue(grant("run", { namespaceId: tenant, capabilities }));
    await makeReviewers(host.stores, ["operator-1"]);
    const act = { version: 1, tool: "deploy", needs: [need], requestedAt: now, traceId: "trace-1" };
    const begin = (id = "act-1", more: Parameters<WiredTestHost["post"]>[3] = wait, changes: object = {}) =>
      host.post(token, "/v1/acts", { ...act, id, ...changes }, more);
    /** The escalation that waits, once there is one besides those that are known. */
    const asked = (...known: readonly EscalationRecord[]): Promise<EscalationRecord> =>
      eventually(async () => {
        const waiting = await other.stores.escalations.list(tenant, { status: "pending", now, limit: 9 });
        const fresh = waiting.find(({ id }) => !known.some((one) => one.id === id));
        if (fresh === undefined) throw new Error("No escalation waits yet.");
        return fresh;
      });
    const answerTo = ({ id, ask }: EscalationRecord) => ({
      namespaceId: tenant,
      id,
      ask,
      by: "operator-1",
      person: oona,
      at: now,
    });
    /** Resolves when so many decisions were denied: what was asked by then was asked about. */
    const denied = (count: number): Promise<void> =>
      eventually(async () => {
        const rows = await host.stores.audit.list(tenant, { limit: 50 });
        const found = rows.filter(({ event }) => event.outcome === "denied").length;
        if (found < count) throw new Error(`${found} of ${count} decisions are denied yet.`);
      });
    /** How often the approval was used. */
    const used = ({ id }: EscalationRecord): Promise<number> => host.stores.usage.used(tenant, `permit\n${id}`);
    return { host, other, token, credentialId, begin, asked, answerTo, denied, used };
  };

  test("is allowed once they have approved it, wherever they did", async () => {
    const { other, begin, asked, answerTo, used } = await open();
    const held = begin();
    const escalation = await asked();
    await other.stores.escalations.approve(answerTo(escalation));
    const { status, headers, body } = await held;
    expect([status, body]).toMatchObject([200, { status: "allowed", id: "act-1", grants: ["run"] }]);
    expect(headers.get("preference-applied")).toBe("wait=60");
    expect(await used(escalation)).toBe(1);
  });

  test("is denied once they have denied it", async () => {
    const { other, begin, asked, answerTo, used } = await open();
    const held = begin();
    const escalation = await asked();
    await other.stores.escalations.deny(answerTo(escalation), "no");
    expect(await held).toMatchObject({ status: 200, body: { status: "denied", error: { code: "approval_denied" } } });
    expect(await used(escalation)).toBe(0);
  });

  test("is waited for with the second of two approvals, not the first", async () => {
    const { host, other, begin, asked, answerTo } = await open({ "escalations.approvals": "2" });
    await makeReviewers(host.stores, ["operator-2"]);
    const held = begin();
    const escalation = await asked();
    await other.stores.escalations.approve(answerTo(escalation));
    const second = { by: "operator-2", person: { kind: "human", userId: "omar" } } as const;
    await other.stores.escalations.approve({ ...answerTo(escalation), ...second });
    expect(await held).toMatchObject({ status: 200, body: { status: "allowed" } });
  });

  for (const { name, more, changes } of [
    { name: "does not ask to wait", more: {}, changes: {} },
    { name: "asks in words that say nothing", more: { headers: { prefer: "wait=soon" } }, changes: {} },
    { name: "tries it dry", more: wait, changes: { dryRun: true } },
  ])
    test(`is answered at once when its caller ${name}`, async () => {
      const { begin } = await open();
      const { status, headers, body } = await begin("act-1", more, changes);
      expect([status, body["status"], headers.get("preference-applied")]).toEqual([202, "waiting", null]);
    });

  test("takes nothing when its caller has gone, and the approval is there for the next one", async () => {
    const { host, other, token, begin, asked, answerTo, used } = await open();
    const caller = new AbortController();
    const held = begin("act-1", { ...wait, signal: caller.signal });
    const escalation = await asked();
    caller.abort();
    expect((await held).body).toMatchObject({ error: { code: "request_aborted" } });
    await other.stores.escalations.approve(answerTo(escalation));
    expect(await host.get(token, "/v1/acts/act-1?traceId=trace-1")).toMatchObject({ status: 404 });
    expect(await used(escalation)).toBe(0);
    expect(await begin("act-1", {})).toMatchObject({ status: 200, body: { status: "allowed" } });
    expect(await used(escalation)).toBe(1);
  });

  test("is refused when its credential was revoked meanwhile", async () => {
    const { other, credentialId, begin, asked, used } = await open();
    const held = begin();
    const escalation = await asked();
    await other.stores.credentials.revoke(credentialId, now);
    expect(await held).toMatchObject({ status: 401, body: { error: { code: "unauthenticated" } } });
    expect(await used(escalation)).toBe(0);
  });

  test("is answered as if the time were over when the host stops", async () => {
    const { host, begin, asked } = await open();
    const held = begin();
    const escalation = await asked();
    await host.close();
    expect(await held).toMatchObject({ status: 202, body: { status: "waiting", escalationId: escalation.id } });
  });

  for (const { name, other, ended } of [
    { name: "under another id: one runs", other: "act-2", ended: [200, 202] },
    { name: "under the same id: one runs, and the other is told so", other: "act-1", ended: [200, 409] },
  ])
    test(`shares one approval with the same act ${name}`, async () => {
      const world = await open();
      const held = [world.begin("act-1")];
      const escalation = await world.asked();
      held.push(world.begin(other));
      await world.denied(2);
      await world.other.stores.escalations.approve(world.answerTo(escalation));
      if (ended.includes(202)) {
        // What is asked anew is waited for until the host stops.
        await world.asked(escalation);
        await Promise.race(held);
        await world.host.close();
      }
      const all = await Promise.all(held);
      expect(all.map(({ status }) => status).toSorted()).toEqual(ended);
      expect(all.map(({ body }) => body["status"])).toContain("allowed");
    });

  test("is answered at once when its credential has as many as it may", async () => {
    const { other, begin, asked, answerTo } = await open({ "limits.held": "2" });
    const held = begin("act-1");
    const escalation = await asked();
    // Which of the two requests is held is not known.
    const next = begin("act-2");
    const first = await Promise.race([held, next]);
    expect([first.status, first.headers.get("preference-applied")]).toEqual([202, null]);
    await other.stores.escalations.approve(answerTo(escalation));
    const ended = await Promise.all([held, next]);
    expect(ended.map(({ status }) => status).toSorted()).toEqual([200, 202]);
  });
});
