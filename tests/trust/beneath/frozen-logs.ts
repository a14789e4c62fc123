import { expect } from "vitest";
import { ask, eventually } from "../../../packages/host/test/host-calls.ts";
import { createRandom } from "../../../packages/turnpike/test/random.ts";
import { droppedLines, fillLog } from "../../support/full-log.ts";
import type { HostProcess } from "../../support/host-process.ts";
import { LoadedHosts, outcomeOf } from "../../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "../suite.ts";

/** After so many times everything that was acknowledged is held against the database. */
const timesOfWorld = 3;

async function freeze(loaded: LoadedHosts, count: number): Promise<string[]> {
  const { host, record } = loaded;
  loaded.startLoad();
  host.freezeLog();
  const from = record.sent.length;
  await fillLog(host);
  await loaded.answers(count);
  const isHealthy = (await ask(host.url, "/health")).status === 200;
  host.thawLog();
  await loaded.stopLoad();
  const outcomes = new Set(record.sent.slice(from).map(outcomeOf));
  const wrong = [...outcomes].filter((outcome) => outcome !== "succeeded" && outcome !== "grant_exhausted");
  return [
    ...wrong.map((outcome) => `calls were ${outcome} while the log was not read`),
    ...(isHealthy ? [] : ["a host whose log is not read is not healthy"]),
  ];
}

/** Ends a host whose log is not read. Returns the code with which it ends. */
async function endUnread(host: HostProcess): Promise<number | null> {
  host.freezeLog();
  await fillLog(host);
  const ended = host.stop();
  await eventually(() => expect(() => process.kill(host.pid, 0)).toThrow("ESRCH"));
  host.thawLog();
  return (await ended).code;
}

async function runWorld({ seed, isOver, bug }: Trial): Promise<WorldOutcome> {
  const random = createRandom(seed);
  const loaded = await LoadedHosts.start(1, { "log.level": "info" }, 30, bug);
  const problems: string[] = [];
  let times = 0;
  try {
    do {
      times += 1;
      problems.push(...(await freeze(loaded, 10 + random.below(20))));
    } while (times < timesOfWorld && !isOver());
    const dropped = await droppedLines(loaded.host);
    problems.push(...(await loaded.check()));
    const code = await endUnread(loaded.host);
    if (code !== 0) problems.push(`a host whose log is not read ended with ${code}`);
    return { counts: { "frozen logs": times, "lines dropped": dropped, calls: loaded.record.sent.length }, problems };
  } catch (error) {
    await loaded.stopLoad();
    return { counts: { "frozen logs": times }, problems: [...problems, `when the log was not read: ${String(error)}`] };
  }
}

/** A log whose reader stops reading. */
export const frozenLogs: Suite = {
  name: "frozen-logs",
  says:
    "What reads the log of a host stops reading, and reads again. Every call succeeds meanwhile, lines are dropped and counted, SIGTERM " +
    "is heard, and what holds after a kill holds here too.",
  share: 1,
  run: (trial) => runWorlds("frozen-logs", trial, runWorld),
};
