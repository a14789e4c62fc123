import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { beforeAll, expect, onTestFinished, test } from "vitest";
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
import { earlierVersion, epochBefore, versionBefore } from "../support/earlier-version.ts";
import { appendCall, openGate, startScript } from "../support/effect-host.ts";
import { makeFolder, runTurnpike, type HostProcess } from "../support/host-process.ts";

const nextScript = fileURLToPath(new URL("../support/next-host.js", import.meta.url));

// It takes a while, once in a checkout.
beforeAll(() => void earlierVersion(versionBefore));

/** Starts a host of the version before this one, as that was. */
function startPrevious(folder: string, database: string): Promise<HostProcess> {
  return startScript(join(earlierVersion(versionBefore), "tests/support/durable-host.js"), folder, { database });
}

test("a host lets the next version migrate: what it runs is finished, its turns go on there, and nothing is done twice", async () => {
  const folder = makeFolder();
  const database = await newLocation("postgres");
  const client = new pg.Client(database);
  await client.connect();
  onTestFinished(() => client.end());
  const hasMigrated = async () =>
    (await client.query<{ found: boolean }>("select to_regclass('next_version') is not null as found")).rows[0]?.found;
  const previous = await startPrevious(folder, database);
  const { token } = await makeDurableTenant(previous);
  const asking = { token, headers: { "x-trace-id": "t" } };
  const invoke = ({ url }: HostProcess, id: string, args: object = {}) =>
    ask(url, "/v1/tools/invoke", { ...asking, body: appendCall(id, "t", { line: id, ...args }) });
  const held = (executionId: string) => {
    const request = stepsTurn(executionId, 3);
    return { ...request, message: { ...request.message, payload: { steps: 3, until: "gate" } } };
  };
  const plain = (executionId: string) => ask(previous.url, "/v1/turns", { ...asking, body: held(executionId) });

  const [called, ran] = [invoke(previous, "call", { until: "gate" }), plain("plain")];
  await durableClient(token, () => previous.url).startTurn(held("async"));
  await eventually(() => expect(linesIn(folder, "effects.log").toSorted()).toEqual(["async 0", "call", "plain 0"]));

  const starting = startScript(nextScript, folder, { database });
  await eventually(async () => {
    const { status, body } = await ask(previous.url, "/ready");
    expect([status, body]).toEqual([
      503,
      {
        status: "unavailable",
        reason: "A newer version of Turnpike serves the database. This host finishes what it does, and begins nothing.",
      },
    ]);
  });
  for (const refused of [await invoke(previous, "new"), await plain("new")]) {
    expect(refused).toMatchObject({ status: 503, body: { error: { code: "overloaded" } } });
    expect(refused.headers.get("retry-after")).toBe("1");
  }
  expect(await hasMigrated()).toBe(false);
  openGate(folder, "gate");
  const first = await called;
  expect(first.body).toMatchObject({ status: "succeeded" });
  const all = Array.from({ length: 6 }, () => "succeeded");
  expect((await ran).body).toMatchObject({ status: "succeeded", output: all });

  const next = await starting;
  expect(await hasMigrated()).toBe(true);
  const turns = durableClient(token, () => next.url);
  await eventually(async () => expect((await turns.turn("async")).status).toBe("succeeded"));
  expect((await turns.turn("async")).result).toMatchObject({ output: all });
  const again = await invoke(next, "call", { until: "gate" });
  expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([first.text, "true"]);
  const steps = ["async", "plain"].flatMap((turn) => [0, 1, 2].map((step) => `${turn} ${step}`));
  expect(linesIn(folder, "effects.log").toSorted()).toEqual([...steps, "call"].toSorted());

  const shown = await runTurnpike({ folder, args: ["database", "epoch", "--database", database, "--json"] });
  expect([shown.code, JSON.parse(shown.stdout)]).toEqual([0, { epoch: 9001, lowest: 9001 }]);
  const late = await runTurnpike({ folder, args: ["serve", "--port", "0", "--database", database] });
  expect([late.code, late.stderr]).toEqual([
    1,
    expect.stringContaining("versions from epoch 9001 on may serve it") as string,
  ]);
  // A state, and not a latch.
  await client.query("update schema_epoch set lowest = 1");
  await eventually(async () => expect((await ask(previous.url, "/ready")).status).toBe(200));
  expect((await invoke(previous, "later")).body).toMatchObject({ status: "succeeded" });
  await Promise.all([previous.stop(), next.stop()]);
});

test("a host that was paused through a whole migration begins nothing, although it has not heard of it yet", async () => {
  const folder = makeFolder();
  const database = await newLocation("postgres");
  const previous = await startPrevious(folder, database);
  onTestFinished(() => void previous.stop("SIGKILL"));
  const { token } = await makeDurableTenant(previous);
  const asking = { token, headers: { "x-trace-id": "t" } };
  const invoke = ({ url }: HostProcess, id: string) =>
    ask(url, "/v1/tools/invoke", { ...asking, body: appendCall(id, "t") });
  expect((await invoke(previous, "before")).body).toMatchObject({ status: "succeeded" });

  previous.signal("SIGSTOP");
  const next = await startScript(nextScript, folder, { database });
  onTestFinished(() => void next.stop("SIGKILL"));
  // They wait in the socket: the host reads them before the answer to its first beat.
  const late = [invoke(previous, "late"), ask(previous.url, "/v1/turns", { ...asking, body: stepsTurn("late", 1) })];
  previous.signal("SIGCONT");
  for (const answer of await Promise.all(late))
    expect(answer).toMatchObject({ status: 503, body: { error: { code: "overloaded" } } });
  expect(linesIn(folder, "effects.log")).toEqual(["before"]);
  expect((await invoke(next, "late")).body).toMatchObject({ status: "succeeded" });
  await Promise.all([previous.stop(), next.stop()]);
});

test("turns go from a host of the version before to one of this version, and back while the database allows that", async () => {
  const folder = makeFolder();
  const database = await newLocation("postgres");
  const previous = await startPrevious(folder, database);
  onTestFinished(() => void previous.stop("SIGKILL"));
  const { token } = await makeDurableTenant(previous);
  const invoke = ({ url }: HostProcess, id: string) =>
    ask(url, "/v1/tools/invoke", { token, headers: { "x-trace-id": "t" }, body: appendCall(id, "t") });
  const first = await invoke(previous, "call");
  expect(first.body).toMatchObject({ status: "succeeded" });
  const steps = 100;
  const there = durableClient(token, () => previous.url);
  await there.startTurn(stepsTurn("asking", 3, 1));
  await eventually(async () => expect((await there.turn("asking")).status).toBe("waiting"));
  await there.startTurn(stepsTurn("forth", steps));

  const host = await startDurableHost(folder, { database });
  onTestFinished(() => void host.stop("SIGKILL"));
  const again = await invoke(host, "call");
  expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([first.text, "true"]);
  expect(await answerAll(host, "acme", "deny")).toBe(1);
  expect(await previous.stop()).toEqual({ code: 0, signal: null });
  const here = durableClient(token, () => host.url);
  const expectDone = async (client: typeof here, id: string, count: number): Promise<void> => {
    expect((await followToEnd(client, id)).at(-1)?.type).toBe("turn.completed");
    const done = linesIn(folder, "effects.log").filter((line) => line.startsWith(`${id} `));
    expect(done).toEqual(Array.from({ length: count }, (_, step) => `${id} ${step}`));
  };
  await expectDone(here, "asking", 3);
  await expectDone(here, "forth", steps);

  const shown = await runTurnpike({ folder, args: ["database", "epoch", "--database", database, "--json"] });
  const { lowest } = JSON.parse(shown.stdout) as { lowest: number };
  await here.startTurn(stepsTurn("back", steps));
  const older = await startPrevious(folder, database).catch(String);
  const refusal = "This host may not use the database";
  const came = typeof older !== "string" ? "serves" : older.includes(refusal) ? refusal : older;
  expect(came).toBe(lowest > epochBefore ? refusal : "serves");
  const last = typeof older === "string" ? host : older;
  onTestFinished(() => void last.stop("SIGKILL"));
  if (last !== host) await host.stop();
  await expectDone(
    durableClient(token, () => last.url),
    "back",
    steps,
  );
});
