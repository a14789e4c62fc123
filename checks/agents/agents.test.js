import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePacked, packed } from "./packed.js";
import { linesOf, startAgent, startWorld } from "./world.js";

const cpu = process.arch === "arm64" ? "arm64" : "x64";
const node22 = join(import.meta.dirname, `../node_modules/node22-linux-${cpu}/bin/node`);
const node20 = process.execPath;

const frameworks = [
  {
    name: "AI SDK 5",
    node: node20,
    program: "ai-sdk",
    version: "ai5",
    asks: expect.stringContaining("A person was asked"),
  },
  { name: "AI SDK 6", node: node20, program: "ai-sdk", version: "ai", asks: 1 },
  { name: "AI SDK 7", node: node22, program: "ai-sdk", version: "ai7", asks: 1 },
  { name: "OpenAI Agents", node: node22, program: "openai-agents", asks: 1 },
  { name: "LangChain, tools", node: node20, program: "langchain", version: "tools", asks: 1 },
  { name: "LangChain, middleware", node: node20, program: "langchain", version: "middleware", asks: 1 },
  { name: "Mastra", node: node22, program: "mastra", asks: 1 },
];

const needs = { send_mail: "send mail/$to" };

let world;
let data;
beforeAll(async () => {
  makePacked();
  data = mkdtempSync(join(tmpdir(), "turnpike-agents-"));
  world = await startWorld();
});
afterAll(async () => {
  await world?.stop();
  rmSync(data, { recursive: true, force: true });
});

/** A call of the one tool, in a run and with a diary of its own. */
function scenario(to, { options = {}, ...changes } = {}) {
  const run = randomUUID();
  const { url, token } = world;
  const calls = [{ id: `call-${run}`, args: { to, text: "hello" } }];
  return { url, token, diary: join(data, run), calls, options: { needs, run, ...options }, ...changes };
}

async function approveAll() {
  for (const question of await world.questions()) await world.approve(question);
}

test("what is governed has the types that each framework takes", () => {
  const tsc = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
  const { stdout, status } = spawnSync(node20, [tsc, "-p", join(packed, "programs")], { encoding: "utf8" });
  expect([stdout, status]).toEqual(["", 0]);
});

describe.each(frameworks)("$name", ({ node, program, version, asks }) => {
  const start = () => startAgent(node, program, version);
  let agent;
  beforeAll(async () => {
    agent = await start();
  });
  afterAll(() => agent?.kill());

  test("an act that is allowed happens, and the model hears what came of it", async () => {
    const allowed = scenario("bob");
    expect(await agent.play(allowed)).toEqual({ told: ["sent to bob"], text: "done" });
    expect(linesOf(allowed.diary)).toEqual(["sent to bob"]);
  });

  test("an act that is denied does not happen, the model hears why, and the run goes on", async () => {
    const denied = scenario("eve");
    const { told, text } = await agent.play(denied);
    expect(told).toEqual([
      expect.stringMatching(/^((ToolRefused)?Error: )?Denied \(no_matching_grant\): .+ Do not call it again/),
    ]);
    expect(text).toBe("done");
    expect(linesOf(denied.diary)).toEqual([]);
  });

  test("of two calls in one step each is decided alone", async () => {
    const both = scenario("bob");
    both.calls.push({ id: `${both.calls[0].id}-2`, args: { to: "eve", text: "hello" } });
    const { told } = await agent.play(both);
    expect(told).toEqual(["sent to bob", expect.stringContaining("no_matching_grant")]);
    expect(linesOf(both.diary)).toEqual(["sent to bob"]);
  });

  test("an act that a person has to approve waits for them, and happens once they have", async () => {
    const waiting = scenario("carol", { options: { wait: 60 } });
    agent.send(waiting);
    await expect.poll(() => world.questions()).toHaveLength(1);
    expect(linesOf(waiting.diary)).toEqual([]);
    await approveAll();
    expect(await agent.next()).toEqual({ told: ["sent to carol"], text: "done" });
    expect(linesOf(waiting.diary)).toEqual(["sent to carol"]);
  });

  /** The run goes on where it stopped; where the framework does not stop, the model calls again. */
  const resumed = (stopped, { resume }) =>
    resume === undefined ? { ...stopped, calls: scenario("carol").calls } : { ...stopped, ...resume };

  test("an act that a person has to approve stops the run as the framework does it, and goes on once they have", async () => {
    const asking = scenario("carol");
    const first = await agent.play(asking);
    expect(first.asked ?? first.told[0]).toEqual(asks);
    expect(await world.questions()).toHaveLength(1);
    await approveAll();
    expect(await agent.play(resumed(asking, first))).toEqual({ told: ["sent to carol"], text: "done" });
    expect(linesOf(asking.diary)).toEqual(["sent to carol"]);
  });

  test("an approval in the framework alone allows nothing", async () => {
    const asking = scenario("carol");
    const { told, text } = await agent.play(resumed(asking, await agent.play(asking)));
    expect([told, text]).toEqual([[expect.stringContaining("A person was asked")], "done"]);
    expect(linesOf(asking.diary)).toEqual([]);
    await approveAll();
    expect(await agent.play(scenario("carol", { options: { wait: 60 } }))).toMatchObject({ told: ["sent to carol"] });
  });

  test("a call with arguments that the tool does not take is refused before an act begins", async () => {
    const wrong = scenario("bob");
    wrong.calls[0].args = { to: 7 };
    const { told, text } = await agent.play(wrong);
    expect([told.length, text]).toEqual([1, "done"]);
    expect(told[0]).not.toMatch(/sent|Denied/);
    expect([linesOf(wrong.diary), await world.outcomes(wrong.options.run)]).toEqual([[], []]);
  });

  test("an effect that throws is recorded as failed", async () => {
    const failing = scenario("bob", { effect: "fail" });
    await agent.play(failing);
    expect(linesOf(failing.diary)).toEqual(["sent to bob"]);
    expect((await world.outcomes(failing.options.run)).at(-1)).toMatch(/ failed$/);
  });

  test("an act that is cancelled is recorded so", async () => {
    const cancelled = scenario("bob", { effect: "cancel" });
    await agent.play(cancelled);
    expect(linesOf(cancelled.diary)).toEqual(["sent to bob"]);
    await expect.poll(async () => (await world.outcomes(cancelled.options.run)).at(-1)).toMatch(/ failed$/);
  });

  test("with a token that no one knows nothing happens, and the model hears so", async () => {
    const unknown = scenario("bob", { token: "tp_unknown" });
    expect(await agent.play(unknown)).toMatchObject({ told: [expect.stringContaining("Denied (unauthenticated)")] });
    expect(linesOf(unknown.diary)).toEqual([]);
  });

  test("without a host nothing happens, and the model hears so; in shadow alone it happens", async () => {
    const away = scenario("bob", { url: "http://127.0.0.1:1" });
    const { told, text } = await agent.play(away);
    expect(told).toEqual([expect.stringContaining("Denied (request_failed): the gate did not decide.")]);
    expect([text, linesOf(away.diary)]).toEqual(["done", []]);
    const shadowed = scenario("bob", { url: "http://127.0.0.1:1", options: { shadow: true } });
    expect(await agent.play(shadowed)).toEqual({ told: ["sent to bob"], text: "done" });
  });

  test("an act that is only shadowed happens whatever is decided, and what would have been is recorded", async () => {
    const shadowed = scenario("eve", { options: { shadow: true } });
    expect(await agent.play(shadowed)).toEqual({ told: ["sent to eve"], text: "done" });
    expect(await world.outcomes(shadowed.options.run)).toEqual([expect.stringMatching(/ shadow$/)]);
  });

  test("an agent that is killed within an effect, and started again, does it once", async () => {
    const killed = scenario("bob", { effect: "hang" });
    const other = await start();
    other.send(killed);
    await expect.poll(() => linesOf(killed.diary)).toHaveLength(1);
    await other.kill();
    const { told } = await agent.play({ ...killed, effect: undefined });
    expect(told).toEqual([expect.stringContaining("replay_pending")]);
    expect(linesOf(killed.diary)).toEqual(["sent to bob"]);
  });

  test("of two agents with one call at once, one does it", async () => {
    const shared = scenario("bob");
    const other = await start();
    const [one, two] = await Promise.all([agent.play(shared), other.play(shared)]);
    await other.kill();
    expect(linesOf(shared.diary)).toEqual(["sent to bob"]);
    const told = [...one.told, ...two.told];
    expect(told).toContain("sent to bob");
    expect(told.filter((text) => !/sent to bob|replay_pending/.test(text))).toEqual([]);
  });
});
