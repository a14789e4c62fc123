import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { openCutProxy, type CutProxy } from "../../packages/host/test/cut-proxy.ts";
import { startOwnPostgres, startStandby } from "../../packages/host/test/postgres-server.ts";
import { ask, eventually, type Answer } from "../../packages/host/test/host-calls.ts";
import {
  answerAct,
  answerAll,
  durableClient,
  linesIn,
  makeDurableTenant,
  startDurableHost,
  stepsTurn,
} from "../support/durable-host.ts";
import { appendCall, openGate } from "../support/effect-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";
import { makeGrant } from "../support/host-world.ts";
import { command, commandJson, words } from "../support/terminal.ts";

/** Two hosts on a server with a standby. */
interface World {
  hosts: [HostProcess, HostProcess];
  /** The way of the stream. */
  link: CutProxy;
  client: pg.Client;
  token: string;
  /** Kills the primary, and leads the hosts to the standby, which is promoted once they have met it. */
  failOver(): Promise<void>;
  invoke(host: HostProcess, id: string, tool?: string): Promise<Answer>;
}

async function openWorld(): Promise<World> {
  const primary = await startOwnPostgres();
  onTestFinished(() => primary.stop());
  const link = await openCutProxy(primary.location);
  const standby = await startStandby(primary, link.location);
  onTestFinished(() => standby.stop());
  const address = await openCutProxy(primary.location);
  const folder = makeFolder();
  const start = async (): Promise<HostProcess> => {
    const host = await startDurableHost(folder, { database: address.location, "log.level": "info" });
    onTestFinished(() => void host.stop("SIGKILL"));
    return host;
  };
  const hosts: [HostProcess, HostProcess] = [await start(), await start()];
  const { token } = await makeDurableTenant(hosts[0]);
  await makeGrant(hosts[0], {
    id: "guarded",
    tenant: "acme",
    resource: "effects",
    actions: ["guard"],
    approval: "each",
  });
  const client = new pg.Client(primary.location);
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return {
    hosts,
    link,
    client,
    token,
    async failOver() {
      await primary.order("kill");
      const met = address.attempts();
      address.leadTo(standby.location);
      // Both have come to the standby, and were told that it takes no writes.
      await eventually(async () => {
        expect(address.attempts()).toBeGreaterThan(met + 3);
        for (const { url } of hosts) expect((await ask(url, "/ready")).status).toBe(503);
      });
      await standby.promote();
    },
    invoke: ({ url }, id, tool = "effects.append") =>
      ask(url, "/v1/tools/invoke", {
        token,
        headers: { "x-trace-id": "t" },
        body: { ...appendCall(id, "t"), tool },
      }),
  };
}

/** Resolves when the standby has everything that was written until now. */
async function caughtUp({ client }: World): Promise<void> {
  const { rows } = await client.query<{ lsn: string }>("select pg_current_wal_lsn() as lsn");
  await eventually(async () => {
    const found = await client.query("select 1 from pg_stat_replication where replay_lsn >= $1::pg_lsn", [
      rows[0]?.lsn,
    ]);
    expect(found.rows).toHaveLength(1);
  });
}

const codeOf = ({ status, body }: Answer): unknown[] => [status, (body as { error?: { code: string } }).error?.code];
test("a standby that lagged and was promoted is noticed before anything is done on it a second time", async () => {
  const world = await openWorld();
  const { hosts, link, token, invoke } = world;
  const [here, there] = hosts;
  const turns = durableClient(token, () => here.url);
  const held = stepsTurn("held", 2);
  await turns.startTurn({ ...held, message: { ...held.message, payload: { steps: 2, until: "gate" } } });
  await turns.startTurn(stepsTurn("asking", 2, 0));
  expect(codeOf(await invoke(here, "guarded", "effects.guarded"))).toEqual([200, "approval_required"]);
  await answerAct(here, "guarded", "approve");
  expect((await invoke(here, "before")).status).toBe(200);
  await eventually(async () => expect((await turns.turn("asking")).status).toBe("waiting"));
  await eventually(() => expect(linesIn(here.folder, "effects.log")).toContain("held 0"));
  await caughtUp(world);

  // From here on the standby learns nothing, and everything is acknowledged all the same.
  link.cut();
  const lost = ["lost-1", "lost-2", "lost-3"];
  for (const id of lost) expect((await invoke(here, id)).body).toMatchObject({ status: "succeeded" });
  expect((await invoke(here, "guarded", "effects.guarded")).body).toMatchObject({ status: "succeeded" });
  await answerAll(here, "acme", "deny");
  await eventually(async () => expect((await turns.turn("asking")).status).toBe("succeeded"));
  const done = linesIn(here.folder, "effects.log").toSorted();
  await world.failOver();

  for (const host of hosts) {
    for (const id of [...lost, "new"])
      await eventually(async () => expect(codeOf(await invoke(host, id))).toEqual([503, "database_went_back"]));
    const begun = await ask(host.url, "/v1/turns", {
      token,
      headers: { "x-trace-id": "t" },
      body: stepsTurn("new", 1),
    });
    expect(codeOf(begun)).toEqual([503, "database_went_back"]);
    const reason = expect.stringMatching(/^The database went back: /) as string;
    await eventually(async () =>
      expect((await ask(host.url, "/ready")).body).toMatchObject({ status: "unavailable", reason }),
    );
  }
  openGate(here.folder, "gate");
  for (const id of ["held", "asking"])
    await eventually(async () =>
      expect(await turns.turn(id)).toMatchObject({
        status: "failed",
        result: { error: { code: "turn_interrupted" } },
      }),
    );
  expect(linesIn(here.folder, "effects.log").toSorted()).toEqual(done);

  const accepted = await command(there, words`database accept-loss`);
  expect([accepted.code, accepted.stderr]).toEqual([0, ""]);
  expect(accepted.stdout).toMatch(/^Accepted: at least \d+ rows of 1 audit log are lost, as noticed \S+Z\.\n/);
  for (const host of hosts) await eventually(async () => expect((await ask(host.url, "/ready")).status).toBe(200));
  // The permit was used in the lost time, and is none any more.
  expect(codeOf(await invoke(there, "guarded", "effects.guarded"))).toEqual([200, "approval_required"]);
  expect((await invoke(there, "after")).body).toMatchObject({ status: "succeeded" });
  expect(linesIn(here.folder, "effects.log").toSorted()).toEqual([...done, "after"].toSorted());
  const verified = (await commandJson(there, words`audit verify --tenant acme`)) as {
    isWhole: boolean;
    gaps: unknown[];
  };
  // One for each strand of the audit log that lost rows: the second only if the other host had one.
  const gap = expect.objectContaining({ acceptedAt: expect.any(String) as string }) as unknown;
  expect(verified.isWhole).toBe(true);
  expect([[gap], [gap, gap]]).toContainEqual(verified.gaps);
  for (const host of hosts) expect(host.stderr()).toContain('"timeline":"2"');
});

test("a standby that has everything and was promoted is no loss: hosts go on, and repeat what was done", async () => {
  const world = await openWorld();
  const { hosts, client, token, invoke } = world;
  const [here, there] = hosts;
  await client.query("alter system set synchronous_standby_names = '*'");
  await client.query("select pg_reload_conf()");
  await eventually(async () =>
    expect((await client.query("select 1 from pg_stat_replication where sync_state = 'sync'")).rows).toHaveLength(1),
  );
  const turns = durableClient(token, () => there.url);
  const held = stepsTurn("held", 2);
  await turns.startTurn({ ...held, message: { ...held.message, payload: { steps: 2, until: "gate" } } });
  await eventually(() => expect(linesIn(here.folder, "effects.log")).toContain("held 0"));
  const ids = Array.from({ length: 8 }, (_, place) => `call-${place}`);
  const first = await Promise.all(ids.map((id, place) => invoke(hosts[place % 2] ?? here, id)));
  for (const { body } of first) expect(body).toMatchObject({ status: "succeeded" });
  await world.failOver();

  for (const host of hosts) {
    await eventually(async () => expect((await ask(host.url, "/ready")).status).toBe(200));
    for (const [place, id] of ids.entries()) {
      const again = await invoke(host, id);
      expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([first[place]?.text, "true"]);
    }
    const after = await invoke(host, `after on ${hosts.indexOf(host)}`);
    expect(after.body).toMatchObject({ status: "succeeded" });
  }
  openGate(here.folder, "gate");
  await eventually(async () =>
    expect(await turns.turn("held")).toMatchObject({ status: "succeeded", result: { output: expect.any(Array) } }),
  );
  const effects = [...ids, "after on 0", "after on 1", "held 0", "held 1"];
  expect(linesIn(here.folder, "effects.log").toSorted()).toEqual(effects.toSorted());
  for (const host of hosts) expect(host.stderr()).toContain('"timeline":"2"');
  const verified = await commandJson(there, words`audit verify --tenant acme`);
  expect(verified).toMatchObject({ isWhole: true });
  expect(verified).not.toHaveProperty("gaps");
});
