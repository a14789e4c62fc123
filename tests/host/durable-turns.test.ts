import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import {
  answerAll,
  durableClient,
  followToEnd,
  linesIn,
  makeDurableTenant,
  startDurableHost,
  stepsTurn,
} from "../support/durable-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { revokeCredential, revokeGrant } from "../support/host-stores.ts";

const traced = { "x-trace-id": "t" };

/** Asks twenty times at once for a turn that asks a person, in turn of each host, and counts the answers. */
async function startAtOnce(
  hosts: readonly HostProcess[],
  token: string,
  id: string,
  isOther = (_place: number) => false,
) {
  const headers = { ...traced, prefer: "respond-async" };
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, place) => {
      const body = stepsTurn(id, isOther(place) ? 4 : 3, 1);
      return ask(hosts[place % hosts.length]?.url ?? "", "/v1/turns", { token, headers, body });
    }),
  );
  const says = answers.map(({ status, body }) => {
    const { error, executionId } = body as { error?: { code: string }; executionId?: string };
    return `${status} ${error?.code ?? executionId}`;
  });
  return Object.fromEntries(says.toSorted().map((each) => [each, says.filter((other) => other === each).length]));
}

/** Waits until a turn has come so far that it has made a step. */
const underWay = (folder: string, id: string): Promise<unknown> =>
  eventually(() => expect(linesIn(folder, "asked.log")).toContain(`${id} decision-1`));

describe("an asynchronous turn", () => {
  const folder = makeFolder();
  let host: HostProcess;
  beforeAll(async () => {
    host = await startDurableHost(folder);
  });
  const client = (token: string) => durableClient(token, () => host.url);

  test("that is streamed survives its connection, and is picked up behind the last event", async () => {
    const { token } = await makeDurableTenant(host, "streamed");
    const left = new AbortController();
    const headers = {
      authorization: `Bearer ${token}`,
      ...traced,
      prefer: "respond-async",
      accept: "text/event-stream",
    };
    const body = JSON.stringify(stepsTurn("stream", 20));
    const response = await fetch(`${host.url}/v1/turns`, { method: "POST", headers, body, signal: left.signal });
    expect([response.status, response.headers.get("preference-applied")]).toEqual([200, "respond-async"]);
    await underWay(folder, "stream");
    left.abort();
    const events = await followToEnd(client(token), "stream");
    expect(events.at(-1)?.type).toBe("turn.completed");
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, place) => place));
    const later = await ask(host.url, "/v1/turns/stream/events?after=3", { token });
    expect(later.body).toEqual({ events: events.slice(4) });
  });

  test("is cancelled before its next step, and while it waits", async () => {
    const { token } = await makeDurableTenant(host, "cancelled");
    const caller = client(token);
    await caller.startTurn(stepsTurn("long", 900));
    await underWay(folder, "long");
    await caller.cancelTurn("long");
    const asked = linesIn(folder, "asked.log").length;
    await eventually(async () => expect(await caller.turn("long")).toMatchObject({ status: "cancelled" }));
    expect(linesIn(folder, "asked.log").length - asked).toBeLessThanOrEqual(1);
    await caller.startTurn(stepsTurn("asks", 3, 1));
    await eventually(async () => expect(await caller.turn("asks")).toMatchObject({ status: "waiting" }));
    expect((await caller.cancelTurn("asks")).status).not.toBe("waiting");
    await eventually(async () => expect(await caller.turn("asks")).toMatchObject({ status: "cancelled" }));
    expect(await caller.cancelTurn("asks")).toMatchObject({ status: "cancelled" });
  });

  test("is no one else's: not another tenant's, and no stranger learns that it exists", async () => {
    const [{ token }, other] = [await makeDurableTenant(host, "mine"), await makeDurableTenant(host, "theirs")];
    await client(token).startTurn(stepsTurn("secret", 1));
    const answers = ["secret", "none"].map(async (id) => {
      const { status, body } = await ask(host.url, `/v1/turns/${id}`, { token: other.token });
      return { status, code: (body as { error: { code: string } }).error.code };
    });
    expect(await Promise.all(answers)).toEqual(answers.map(() => ({ status: 404, code: "not_found" })));
  });

  test("asked for again answers where it is, then its result, and another body is refused", async () => {
    const { token } = await makeDurableTenant(host, "again");
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      ask(host.url, "/v1/turns", { token, headers: { ...traced, ...headers }, body });
    const prefer = { prefer: "respond-async" };
    // It asks a person, so that it does not end before it is asked for again.
    const twice = stepsTurn("twice", 3, 1);
    expect((await post(twice, prefer)).status).toBe(202);
    expect((await post(twice)).status).toBe(202);
    expect(await post(stepsTurn("twice", 4, 1), prefer)).toMatchObject({
      status: 409,
      body: { error: { code: "replay_conflict" } },
    });
    await eventually(async () => expect(await answerAll(host, "again", "deny")).toBe(1));
    await eventually(async () => expect((await post(twice)).status).toBe(200));
    const plain = await post(twice);
    expect([plain.headers.get("idempotency-replayed"), (plain.body as { status: string }).status]).toEqual([
      "true",
      "succeeded",
    ]);
    const state = await post(twice, prefer);
    expect(state.body).toMatchObject({ status: "succeeded", result: plain.body });
    expect(linesIn(folder, "asked.log").filter((line) => line === "twice decision-0")).toHaveLength(1);
  });

  test("asked for twenty times at once is one turn, and no one is told to come back", async () => {
    const { token } = await makeDurableTenant(host, "twenty");
    for (const id of ["first", "second", "third"])
      expect(await startAtOnce([host], token, id)).toEqual({ [`202 ${id}`]: 20 });
    await eventually(async () => expect(await client(token).turn("third")).toMatchObject({ status: "waiting" }));
    expect(linesIn(folder, "asked.log").filter((line) => line === "third decision-0")).toHaveLength(1);
  });

  test("asked for at once with another body is refused, and never told to wait", async () => {
    const { token } = await makeDurableTenant(host, "unequal");
    expect(await startAtOnce([host], token, "two", (place) => place >= 10)).toEqual({
      "202 two": 10,
      "409 replay_conflict": 10,
    });
  });
});

describe("while the host is away", () => {
  test("what is revoked is gone: a grant at the next call, a credential at once", async () => {
    const folder = makeFolder();
    const location = join(folder, ".turnpike", "turnpike.db");
    let host = await startDurableHost(folder);
    const caller = (token: string) => durableClient(token, () => host.url);
    const granted = await makeDurableTenant(host, "grants");
    const trusted = await makeDurableTenant(host, "credentials");
    await caller(granted.token).startTurn(stepsTurn("granted", 900));
    await caller(trusted.token).startTurn(stepsTurn("trusted", 900));
    await underWay(folder, "granted");
    await underWay(folder, "trusted");
    await host.stop("SIGKILL");
    await revokeGrant(location, "grants", "effects");
    await revokeCredential(location, trusted.id);
    const effects = linesIn(folder, "effects.log").length;
    host = await startDurableHost(folder);
    await eventually(async () =>
      expect(linesIn(folder, "asked.log").filter((line) => line.startsWith("granted")).length).toBeGreaterThan(4),
    );
    expect(linesIn(folder, "effects.log")).toHaveLength(effects);
    await eventually(async () => {
      const listed = await ask(host.url, "/admin/v1/audit?namespaceId=credentials&type=turn.ended&limit=1", {
        token: host.operatorToken(),
      });
      expect(listed.body).toMatchObject({ events: [{ event: { outcome: "denied", reason: "credential_revoked" } }] });
    });
    await host.stop("SIGKILL");
  });

  test("a turn with a caller ends as interrupted, which is answered when it is asked for again", async () => {
    const folder = makeFolder();
    let host = await startDurableHost(folder);
    const { token } = await makeDurableTenant(host);
    const body = stepsTurn("plain", 900);
    const asked = ask(host.url, "/v1/turns", { token, headers: traced, body }).catch(() => "lost");
    await underWay(folder, "plain");
    await host.stop("SIGKILL");
    expect(await asked).toBe("lost");
    host = await startDurableHost(folder);
    await eventually(async () => {
      const { status, body: result } = await ask(host.url, "/v1/turns", { token, headers: traced, body });
      expect({ status, result }).toMatchObject({
        status: 200,
        result: { status: "failed", error: { code: "turn_interrupted", retryable: false } },
      });
    });
    await host.stop();
  });

  test("a turn pauses when the host stops in good order, and nothing of it is interrupted", async () => {
    const folder = makeFolder();
    let host = await startDurableHost(folder);
    const { token } = await makeDurableTenant(host);
    const caller = durableClient(token, () => host.url);
    await caller.startTurn(stepsTurn("drained", 12));
    const following = followToEnd(caller, "drained");
    await underWay(folder, "drained");
    expect(await host.stop("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(host.stderr()).toBe("");
    host = await startDurableHost(folder);
    await following;
    const { result } = await caller.turn("drained");
    expect(result).toMatchObject({ status: "succeeded", output: Array(24).fill("succeeded") });
    const asked = linesIn(folder, "asked.log");
    expect(new Set(asked).size).toBe(asked.length);
    await host.stop();
  });
});

describe("two hosts on one PostgreSQL", () => {
  test("an answer given to one wakes a turn that was asked of the other, which is gone by then", async () => {
    const folder = makeFolder();
    const database = await newLocation("postgres");
    const [one, other] = await Promise.all([
      startDurableHost(folder, { database }),
      startDurableHost(folder, { database }),
    ]);
    let url = one.url;
    const tenants = ["first", "second", "third"];
    const callers = new Map<string, ReturnType<typeof durableClient>>();
    for (const tenant of tenants) {
      const { token } = await makeDurableTenant(one, tenant);
      const caller = durableClient(token, () => url);
      callers.set(tenant, caller);
      await caller.startTurn(stepsTurn("asks", 3, 1));
      await eventually(async () => expect(await caller.turn("asks")).toMatchObject({ status: "waiting" }));
    }
    await one.stop("SIGKILL");
    url = other.url;
    const pauses: number[] = [];
    for (const [tenant, caller] of callers) {
      const following = followToEnd(caller, "asks");
      expect(await answerAll(other, tenant, "deny")).toBe(1);
      const answeredAt = Date.now();
      await following;
      pauses.push(Date.now() - answeredAt);
      expect((await caller.turn("asks")).result).toMatchObject({ status: "succeeded" });
    }
    // A machine that has other things to do makes some of them longer.
    expect(Math.min(...pauses)).toBeLessThan(10_000);
    await other.stop();
  });

  test("one turn that is asked of both twenty times at once is one turn, and another body is refused", async () => {
    const folder = makeFolder();
    const database = await newLocation("postgres");
    const hosts = await Promise.all([startDurableHost(folder, { database }), startDurableHost(folder, { database })]);
    const { token } = await makeDurableTenant(hosts[0]);
    for (const id of ["first", "second", "third"]) {
      expect(await startAtOnce(hosts, token, id)).toEqual({ [`202 ${id}`]: 20 });
      const caller = durableClient(token, () => hosts[1].url);
      await eventually(async () => expect(await caller.turn(id)).toMatchObject({ status: "waiting" }));
      expect(linesIn(folder, "asked.log").filter((line) => line === `${id} decision-0`)).toHaveLength(1);
    }
    // Either body may be the first, and each is sent by half of them, to both hosts.
    const unequal = await startAtOnce(hosts, token, "two", (place) => place % 4 >= 2);
    expect(unequal).toEqual({ "202 two": 10, "409 replay_conflict": 10 });
    await Promise.all(hosts.map((host) => host.stop()));
  });

  test("the limit of turns holds for those that resume, too", async () => {
    const folder = makeFolder();
    const database = await newLocation("postgres");
    const settings = {
      database,
      "limits.concurrentTurns": "2",
      "limits.tenantTurns": "2",
      "limits.credentialTurns": "2",
    };
    const [one, other] = await Promise.all([startDurableHost(folder, settings), startDurableHost(folder, settings)]);
    const { token } = await makeDurableTenant(one);
    let url = one.url;
    const caller = durableClient(token, () => url);
    const long = ["a", "b"];
    for (const id of long) await caller.startTurn(stepsTurn(id, 900));
    await expect(caller.startTurn(stepsTurn("c", 1))).rejects.toMatchObject({ status: 503, code: "overloaded" });
    await one.stop("SIGKILL");
    url = other.url;
    const steps = (id: string) => linesIn(folder, "asked.log").filter((line) => line.startsWith(`${id} `)).length;
    const before = long.map(steps);
    await eventually(() => long.forEach((id, place) => expect(steps(id)).toBeGreaterThan((before[place] ?? 0) + 2)));
    await expect(caller.startTurn(stepsTurn("c", 1))).rejects.toMatchObject({ status: 503, code: "overloaded" });
    for (const id of long) await caller.cancelTurn(id);
    await eventually(async () => expect(await caller.startTurn(stepsTurn("c", 1))).toMatchObject({ executionId: "c" }));
    await followToEnd(caller, "c");
    expect((await caller.turn("c")).status).toBe("succeeded");
    await other.stop();
  });
});
