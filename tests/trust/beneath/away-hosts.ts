import { expect } from "vitest";
import { openCutProxy, type CutProxy } from "../../../packages/host/test/cut-proxy.ts";
import { newLocation } from "../../../packages/host/test/databases.ts";
import { eventually } from "../../../packages/host/test/host-calls.ts";
import { createRandom } from "../../../packages/turnpike/test/random.ts";
import { effectsIn, openGate } from "../../support/effect-host.ts";
import type { HostProcess } from "../../support/host-process.ts";
import { LoadedHosts, outcomeOf } from "../../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "../suite.ts";

/** How a host is away for a while, and knows nothing of it. */
interface Absence {
  begin(host: HostProcess, proxy: CutProxy): void;
  end(host: HostProcess, proxy: CutProxy): void;
}

/** After so many absences everything that was acknowledged is held against the database. */
const absencesOfWorld = 3;

/** What does not hold when the second host is away in the middle of its calls. */
async function beAway(loaded: LoadedHosts, absence: () => void, comeBack: () => void, id: string): Promise<string[]> {
  const [here, away] = [loaded.host, loaded.hostAt(1)];
  const held = loaded.callHeld(away, id);
  await eventually(() => expect(effectsIn(loaded.folder)).toContain(`${loaded.plenty.name} ${id}`));
  absence();
  const problems: string[] = [];
  const other = await eventually(async () => {
    const outcome = outcomeOf({ answer: await loaded.callHeld(here, id) });
    expect(outcome).not.toBe("replay_pending");
    return outcome;
  }).catch(() => "pending all the time");
  if (other !== "replay_interrupted") problems.push(`${id} was ${other} on another host while its host was away`);
  openGate(loaded.folder, `gate-${id}`);
  comeBack();
  const late = await held;
  if (outcomeOf({ answer: late }) !== "replay_interrupted")
    problems.push(`${id} was answered ${late.status} by its host when others had said that it is interrupted`);
  return problems;
}

async function runWorld({ begin, end }: Absence, { seed, isOver, bug }: Trial): Promise<WorldOutcome> {
  const random = createRandom(seed);
  const database = await newLocation("postgres");
  const proxy = await openCutProxy(database);
  const loaded = await LoadedHosts.start(1, { database }, 30, bug);
  await loaded.startHost({ database: proxy.location });
  const problems: string[] = [];
  let absences = 0;
  do {
    absences += 1;
    loaded.startLoad();
    await loaded.answers(10 + random.below(30));
    const host = loaded.hostAt(1);
    problems.push(
      ...(await beAway(
        loaded,
        () => begin(host, proxy),
        () => end(host, proxy),
        `held-${absences}`,
      )),
    );
    await loaded.answers(10);
    await loaded.stopLoad();
  } while (absences < absencesOfWorld && problems.length === 0 && !isOver());
  problems.push(...(await loaded.check()));
  await loaded.stop();
  return { counts: { absences, calls: loaded.record.sent.length }, problems };
}

const holds =
  "Another host says soon that what it was doing is interrupted, and it says the same when it is back; what holds after a kill holds " +
  "here too.";

/** Hosts whose process is stopped for a while. */
export const pauses: Suite = {
  name: "pauses",
  says: `One of two hosts on a PostgreSQL is stopped in the middle of its work, and goes on later. ${holds}`,
  share: 1,
  run: (trial) =>
    runWorlds("pauses", trial, (world) =>
      runWorld({ begin: (host) => host.signal("SIGSTOP"), end: (host) => host.signal("SIGCONT") }, world),
    ),
};

/** Hosts that do not reach their database for a while, when others do. */
export const partitions: Suite = {
  name: "partitions",
  says: `Nothing comes through between one of two hosts and their PostgreSQL, and later all of it. ${holds}`,
  share: 1,
  run: (trial) =>
    runWorlds("partitions", trial, (world) =>
      runWorld({ begin: (_host, proxy) => proxy.freeze(), end: (_host, proxy) => proxy.thaw() }, world),
    ),
};
