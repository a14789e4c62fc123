import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import {
  durableClient,
  followToEnd,
  linesIn,
  makeDurableTenant,
  statesOf,
  stepsTurn,
} from "../support/durable-host.ts";
import { appendCall, effectsIn, makeEffectTenant, openGate } from "../support/effect-host.ts";
import { makeFolder } from "../support/host-process.ts";
import { makeCredential, turn } from "../support/host-world.ts";
import { startSteppedHost, type SteppedHost } from "../support/stepped-host.ts";

const hourMs = 3_600_000;
const traced = { "x-trace-id": "t" };

describe("a host whose clock is set", () => {
  const folder = makeFolder();
  let host: SteppedHost;
  beforeAll(async () => {
    host = await startSteppedHost(folder, "effect-host.js");
  });
  afterEach(() => host.setClock(0));

  const operate = (path: string, body?: object): Promise<Answer> =>
    ask(host.url, `/admin/v1${path}`, { token: host.operatorToken(), ...(body && { body }) });
  const codeOf = async (token: string, id: string, line = id): Promise<string> => {
    const body = appendCall(id, "t", { line });
    const answer = await ask(host.url, "/v1/tools/invoke", { token, headers: traced, body });
    const { status, error } = answer.body as { status?: string; error?: { code: string } };
    return error?.code ?? status ?? "";
  };
  /** Asks for an approval of an act, and approves or denies it. */
  const answerAct = async (token: string, tenant: string, line: string, answer: "approve" | "deny"): Promise<void> => {
    const body = appendCall(`ask-${line}`, "t", { line });
    const asked = await ask(host.url, "/v1/tools/invoke", { token, headers: traced, body });
    const { escalationId: id, requestHash } = (
      asked.body as { error: { details: { escalationId: string; requestHash: string } } }
    ).error.details;
    const said = { namespaceId: tenant, id, ask: requestHash, ...(answer === "deny" && { reason: "No." }) };
    expect((await operate(`/escalations/${answer}`, said)).status).toBe(200);
  };

  test("back by an hour revives nothing that was revoked, used up, used or answered with no", async () => {
    const revoked = await makeEffectTenant(host, { tenant: "revoked" });
    await operate("/grants/revoke", { namespaceId: "revoked", id: "effects" });
    const gone = await makeCredential(host, { tenant: "revoked" });
    await operate("/credentials/revoke", { id: gone.id });
    const once = await makeEffectTenant(host, { tenant: "once", maxUses: 1 });
    expect(await codeOf(once, "once-1")).toBe("succeeded");
    const guarded = await makeEffectTenant(host, { tenant: "guarded", approval: "each" });
    await answerAct(guarded, "guarded", "approved", "approve");
    await answerAct(guarded, "guarded", "no", "deny");
    expect(await codeOf(guarded, "approved-1", "approved")).toBe("succeeded");
    for (const aheadMs of [-hourMs, hourMs / 2, -2 * hourMs]) {
      await host.setClock(aheadMs);
      expect({
        grant: await codeOf(revoked, `revoked ${aheadMs}`),
        credential: await codeOf(gone.token, `gone ${aheadMs}`),
        uses: await codeOf(once, `once ${aheadMs}`),
        approved: await codeOf(guarded, `approved ${aheadMs}`, "approved"),
        no: await codeOf(guarded, `no ${aheadMs}`, "no"),
      }).toEqual({
        grant: "tool_unavailable",
        credential: "unauthenticated",
        uses: "grant_exhausted",
        approved: "approval_required",
        no: "approval_denied",
      });
    }
  });

  test("back by a day leaves an escalation closed that was not answered in time", async () => {
    const token = await makeEffectTenant(host, { tenant: "late", approval: "each" });
    await codeOf(token, "late-1");
    const list = async () => {
      const { body } = await operate("/escalations?namespaceId=late");
      return (body as { escalations: { id: string; ask: string; status: string }[] }).escalations;
    };
    const [escalation] = await list();
    await host.setClock(24 * hourMs + 60_000);
    expect(await codeOf(token, "late-2", "late-1")).toBe("approval_expired");
    await host.setClock(0);
    expect((await list()).map(({ status }) => status)).toEqual(["expired"]);
    const answer = { namespaceId: "late", id: escalation?.id, ask: escalation?.ask };
    expect((await operate("/escalations/approve", answer)).status).toBe(409);
  });

  test("decides by its clock what has expired", async () => {
    const token = await makeEffectTenant(host, { tenant: "expiring" });
    const expiresAt = new Date(Date.now() + hourMs).toISOString();
    const short = await makeCredential(host, { tenant: "expiring", expiresAt });
    await host.setClock(2 * hourMs);
    expect([await codeOf(short.token, "expired"), await codeOf(token, "still there")]).toEqual([
      "unauthenticated",
      "succeeded",
    ]);
  });

  test("retains a session that is still used, and ends for good one that it found to be over", async () => {
    const begin = async (): Promise<Record<string, string>> => {
      const begun = await ask(host.url, "/admin/v1/sessions", {
        headers: { origin: host.url },
        body: { token: host.operatorToken() },
      });
      expect(begun.status).toBe(201);
      const [cookie = ""] = (begun.headers.get("set-cookie") ?? "").split(";", 1);
      return { cookie, "x-turnpike-console": (begun.body as { pageSecret: string }).pageSecret };
    };
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await ask(host.url, "/admin/v1/session", { headers })).status;
    const before = await begin();
    await host.setClock(-hourMs);
    expect([await statusOf(before), await statusOf(await begin())]).toEqual([200, 200]);
    await host.setClock(13 * hourMs);
    expect(await statusOf(before)).toBe(401);
    await host.setClock(0);
    expect(await statusOf(before)).toBe(401);
  });

  test("resumes a turn as if nothing had happened, and finds it by its time", async () => {
    const token = await makeEffectTenant(host, { tenant: "turns" });
    const stateOf = async (id: string) =>
      (await ask(host.url, `/v1/turns/${id}`, { token })).body as { status: string; startedAt: string };
    const start = async (id: string): Promise<void> => {
      const body = turn(id, "t", { line: id, until: `${id}.gate` });
      const headers = { ...traced, prefer: "respond-async" };
      expect((await ask(host.url, "/v1/turns", { token, headers, body })).status).toBe(202);
      await eventually(() => expect(effectsIn(folder)).toContain(id));
    };
    await host.setClock(hourMs);
    await start("turn-ahead");
    await host.setClock(-hourMs);
    await start("turn-behind");
    for (const id of ["turn-ahead", "turn-behind"]) openGate(folder, `${id}.gate`);
    for (const id of ["turn-ahead", "turn-behind"])
      await eventually(async () => expect((await stateOf(id)).status).toBe("succeeded"));
    expect(effectsIn(folder).filter((line) => line.startsWith("turn-"))).toEqual(["turn-ahead", "turn-behind"]);
    const { startedAt } = await stateOf("turn-behind");
    const until = new Date(Date.parse(startedAt) + 60_000).toISOString();
    const { body } = await operate(`/turns?namespaceId=turns&from=${startedAt}&until=${until}`);
    const { turns } = body as { turns: { state: { executionId: string } }[] };
    expect(turns.map(({ state }) => state.executionId)).toEqual(["turn-behind"]);
  });
});

test("a rate limit does not lock anyone out when the clock is set back", async () => {
  const limits = { "limits.requestsPerSecond": "5", "limits.burst": "5" };
  const host = await startSteppedHost(makeFolder(), "effect-host.js", limits);
  const { token } = await makeCredential(host);
  const list = async (): Promise<number> => (await ask(host.url, "/v1/reach", { token })).status;
  await eventually(async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, list));
    expect(statuses).toContain(429);
  });
  await host.setClock(-hourMs);
  await eventually(async () => expect(await list()).toBe(200));
  await host.stop();
});

test("hosts whose clocks are hours apart run no turn twice, and one resumes those of the other", async () => {
  const folder = makeFolder();
  const database = await newLocation("postgres");
  const start = (clock: string, aheadMs: number): Promise<SteppedHost> =>
    startSteppedHost(folder, "durable-host.js", { database }, { clock, aheadMs });
  const [ahead, behind] = [await start("ahead", 0), await start("behind", -2 * hourMs)];
  const { token } = await makeDurableTenant(ahead);
  await ahead.setClock(2 * hourMs);
  const client = durableClient(token, () => ahead.url);
  const ids = Array.from({ length: 6 }, (_, place) => `turn-${place}`);
  for (const id of ids) await client.startTurn(stepsTurn(id, 5));
  await eventually(() => expect(linesIn(folder, "asked.log").length).toBeGreaterThan(5));
  await ahead.stop("SIGKILL");
  const other = durableClient(token, () => behind.url);
  for (const id of ids) await followToEnd(other, id);
  const states = await statesOf(other, ids);
  expect(states.map(({ status }) => status)).toEqual(ids.map(() => "succeeded"));
  const effects = linesIn(folder, "effects.log");
  expect(effects.length - new Set(effects).size).toBe(0);
  await behind.stop();
});
