import { expect, onTestFinished, test } from "vitest";
import { openCutProxy } from "../../packages/host/test/cut-proxy.ts";
import { newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { durableClient, linesIn, makeDurableTenant, startDurableHost, stepsTurn } from "../support/durable-host.ts";
import { appendCall, openGate } from "../support/effect-host.ts";
import { makeFolder, type HostProcess } from "../support/host-process.ts";

const interrupted = { status: 409, body: { error: { code: "replay_interrupted" } } };
const ended = { status: "failed", error: { code: "turn_interrupted" } };
const folder = makeFolder();

/** A host that its test ends, although it may be stopped. */
async function start(database: string): Promise<HostProcess> {
  const host = await startDurableHost(folder, { database });
  onTestFinished(() => void host.stop("SIGKILL"));
  return host;
}

test("what paused and cut off hosts were doing is taken over, and what they say when they are back is fenced", async () => {
  const database = await newLocation("postgres");
  const proxy = await openCutProxy(database);
  const [paused, other] = [await start(database), await start(database)];
  const cutOff = await start(proxy.location);
  const { token } = await makeDurableTenant(other);
  const asking = { token, headers: { "x-trace-id": "t" } };
  const invoke = ({ url }: HostProcess, id: string, args: object) =>
    ask(url, "/v1/tools/invoke", { ...asking, body: appendCall(id, "t", { line: id, ...args }) });
  const held = (executionId: string) => {
    const request = stepsTurn(executionId, 2);
    return { ...request, message: { ...request.message, payload: { steps: 2, until: "gate" } } };
  };
  const worlds = [
    { name: "paused", host: paused },
    { name: "cut-off", host: cutOff },
  ].map(({ name, host }) => ({
    host,
    name,
    async: held(`async-${name}`),
    call: (at: HostProcess) => invoke(at, `call-${name}`, { until: "gate" }),
    plain: ({ url }: HostProcess) => ask(url, "/v1/turns", { ...asking, body: held(`plain-${name}`) }),
  }));
  const effects = () => linesIn(folder, "effects.log").toSorted();
  const firstEffects = worlds.flatMap(({ name }) => [`async-${name} 0`, `call-${name}`, `plain-${name} 0`]);

  const answers = worlds.map(({ host, call, plain }) => [call(host), plain(host)] as const);
  for (const { host, async } of worlds) await durableClient(token, () => host.url).startTurn(async);
  await eventually(() => expect(effects()).toEqual(firstEffects.toSorted()));
  paused.signal("SIGSTOP");
  proxy.freeze();

  const client = durableClient(token, () => other.url);
  for (const { async, call, plain } of worlds) {
    await eventually(async () => expect(await call(other)).toMatchObject(interrupted));
    await eventually(async () => expect((await client.turn(async.executionId)).status).toBe("succeeded"));
    await eventually(async () => expect(await plain(other)).toMatchObject({ status: 200, body: ended }));
  }

  openGate(folder, "gate");
  paused.signal("SIGCONT");
  proxy.thaw();
  for (const answer of answers.flat()) expect(await answer).toMatchObject(interrupted);
  for (const { host, name, async, call, plain } of worlds) {
    for (const at of [host, other]) {
      await eventually(async () => expect(await call(at)).toMatchObject(interrupted));
      await eventually(async () => expect(await plain(at)).toMatchObject({ status: 200, body: ended }));
    }
    await eventually(async () =>
      expect((await invoke(host, `later-${name}`, {})).body).toMatchObject({ status: "succeeded" }),
    );
    const { result } = await client.turn(async.executionId);
    expect(result).toMatchObject({ output: ["tool_interrupted", "succeeded", "succeeded", "succeeded"] });
  }
  const laterEffects = worlds.flatMap(({ name }) => [`async-${name} 1`, `later-${name}`]);
  expect(effects()).toEqual([...firstEffects, ...laterEffects].toSorted());
});
