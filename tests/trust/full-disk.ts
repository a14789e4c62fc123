import { execFileSync, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import { LoadedHosts, outcomeOf } from "../support/loaded-hosts.ts";
import type { Finding, Suite, Trial } from "./suite.ts";

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
  const answers = (count: number, fits: (outcome: string) => boolean): Promise<void> => {
    const from = sent.length;
    const seen = (): number => sent.slice(from).filter((each) => fits(outcomeOf(each))).length;
    return eventually(() => expect(seen()).toBeGreaterThanOrEqual(count), 180_000);
  };
  loaded.startLoad();
  await answers(5 + random.below(10), () => true);
  // Nothing can be written at all; or something, up to anywhere within one of the next writes.
  const isFull = random.chance(0.3);
  const written = statSync(join(loaded.folder, ".turnpike", "turnpike.db-wal")).size;
  limitFiles(loaded.host.pid, isFull ? 1 : written + random.below(40_000));
  const from = sent.length;
  await answers(6, (outcome) => outcome !== "succeeded" && outcome !== "grant_exhausted");
  if ((await ask(loaded.host.url, "/health")).status !== 200) wrong.push("a host whose disk is full is not healthy");
  if (isFull && (await ask(loaded.host.url, "/ready")).status !== 503)
    wrong.push("a host whose disk is full says that it is ready");
  if (!/full|disk I\/O/.test(loaded.host.stdout() + loaded.host.stderr())) wrong.push("the log does not name the disk");
  if (random.chance(0.3)) {
    await loaded.kill(0);
    await loaded.stopLoad();
    for (const each of sent.slice(from)) loaded.record.unkept.add(each);
    await loaded.startHost();
    return "killed";
  }
  limitFiles(loaded.host.pid, "unlimited");
  await answers(6, (outcome) => outcome === "succeeded");
  await loaded.stopLoad();
  return "emptied";
}

async function runWorld({ seed, isOver }: Trial): Promise<{ counts: Record<string, number>; problems: string[] }> {
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
  counts.refused = outcomes.filter((outcome) => outcome !== "succeeded" && outcome !== "grant_exhausted").length;
  return { counts, problems };
}

/** A disk that is full in the middle of a write. */
export const fullDisk: Suite = {
  name: "full-disk",
  says:
    "The disk is full in the middle of a write of SQLite, and then not any more, or the host is killed meanwhile. It says so, " +
    "does nothing that it cannot keep, goes on by itself, and what holds after a kill holds here too.",
  share: 2,
  async run(trial) {
    const counts: Record<string, number> = {};
    const findings: Finding[] = [];
    for (let world = 0; canLimitFiles && !trial.isOver(); world += 1) {
      const seed = trial.seed + world;
      const outcome = await runWorld({ ...trial, seed });
      for (const [name, count] of Object.entries(outcome.counts)) counts[name] = (counts[name] ?? 0) + count;
      const repeat = `npm run trust -- --only full-disk --seed ${seed}`;
      findings.push(...outcome.problems.map((what) => ({ what, repeat })));
    }
    return { counts, findings };
  },
};
