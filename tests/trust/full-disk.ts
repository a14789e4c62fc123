import { execFileSync, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../../packages/host/test/host-calls.ts";
import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import { isRefusal, LoadedHosts, outcomeOf } from "../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "./suite.ts";

/** After so many times everything that was acknowledged is held against the database. */
const timesOfWorld = 8;

/** Whether the files of a process can be limited here. */
export const canLimitFiles: boolean = spawnSync("prlimit", ["--version"]).status === 0;

/** From here on no file of a process grows beyond so many bytes: the system refuses the write, as it does on a full disk. */
function limitFiles(pid: number, bytes: number | "unlimited"): void {
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);
}

/** Lets the disk be full in the middle of the work, and then not any more. */
async function fillDisk(loaded: LoadedHosts, random: Random): Promise<"emptied" | "killed"> {
  const { sent, wrong } = loaded.record;
  loaded.startLoad();
  await loaded.answers(5 + random.below(10));
  // Nothing can be written at all; or something, up to anywhere within one of the next writes.
  const isFull = random.chance(0.3);
  const written = statSync(join(loaded.folder, ".turnpike", "turnpike.db-wal")).size;
  limitFiles(loaded.host.pid, isFull ? 1 : written + random.below(40_000));
  const from = sent.length;
  await loaded.answers(6, isRefusal);
  if ((await ask(loaded.host.url, "/health")).status !== 200) wrong.push("a host whose disk is full is not healthy");
  if (isFull && (await ask(loaded.host.url, "/ready")).status !== 503)
    wrong.push("a host whose disk is full says that it is ready");
  if (!/full|disk I\/O/.test(loaded.host.stdout() + loaded.host.stderr())) wrong.push("the log does not name the disk");
  if (random.chance(0.3)) {
    await loaded.kill(0);
    await loaded.stopLoad();
    for (const each of sent.slice(from)) loaded.record.unstored.add(each);
    await loaded.startHost();
    return "killed";
  }
  limitFiles(loaded.host.pid, "unlimited");
  await loaded.answers(6, (outcome) => outcome === "succeeded");
  await loaded.stopLoad();
  return "emptied";
}

async function runWorld({ seed, isOver }: Trial): Promise<WorldOutcome> {
  const random = createRandom(seed);
  const loaded = await LoadedHosts.start(1, {}, 30);
  const counts = { "full disks": 0, "killed meanwhile": 0, calls: 0, refused: 0 };
  const problems: string[] = [];
  do {
    counts["full disks"] += 1;
    try {
      if ((await fillDisk(loaded, random)) === "killed") counts["killed meanwhile"] += 1;
    } catch (error) {
      problems.push(String(error));
      limitFiles(loaded.host.pid, "unlimited");
      await loaded.stopLoad();
    }
  } while (counts["full disks"] < timesOfWorld && !isOver());
  problems.push(...(await loaded.check()));
  await loaded.stop();
  const outcomes = loaded.record.sent.map(outcomeOf);
  counts.calls = outcomes.length;
  counts.refused = outcomes.filter(isRefusal).length;
  return { counts, problems };
}

/** A disk that is full in the middle of a write. */
export const fullDisk: Suite = {
  name: "full-disk",
  says:
    "The disk is full in the middle of a write of SQLite, and then not any more, or the host is killed meanwhile. It says so, " +
    "does nothing that it cannot store, recovers by itself, and what holds after a kill holds here too.",
  share: 2,
  run: (trial) =>
    canLimitFiles
      ? runWorlds("full-disk", trial, runWorld)
      : Promise.resolve({ counts: { "full disks": 0 }, findings: [] }),
};
