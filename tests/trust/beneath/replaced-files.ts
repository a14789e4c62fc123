import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ask, eventually } from "../../../packages/host/test/host-calls.ts";
import { createRandom } from "../../../packages/turnpike/test/random.ts";
import { LoadedHosts, outcomeOf } from "../../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "../suite.ts";

/** After so many times everything that was acknowledged is held against the database. */
const timesOfWorld = 3;

/** What becomes of which file, and what is put into its place. */
const losses = [
  { name: "removed", file: "turnpike.db", isReplaced: false },
  { name: "replaced", file: "turnpike.db", isReplaced: true },
  { name: "without its log", file: "turnpike.db-wal", isReplaced: false },
] as const;

/** Takes a file away from a host at work, which acknowledges nothing from soon on; then it is there again for the next host. */
async function lose(loaded: LoadedHosts, { name, file, isReplaced }: (typeof losses)[number]): Promise<string[]> {
  const { host, record } = loaded;
  const path = join(loaded.folder, ".turnpike", file);
  const problems: string[] = [];
  loaded.startLoad();
  await loaded.answers(10);
  const before = record.sent.length;
  renameSync(path, `${path}-away`);
  if (isReplaced) copyFileSync(`${path}-away`, path);
  try {
    await eventually(async () => expect((await ask(host.url, "/ready")).status).toBe(503));
    const from = record.sent.length;
    await loaded.answers(12);
    const later = record.sent.slice(from).filter((each) => outcomeOf(each) === "succeeded");
    // A worker may have had its answer, and not have recorded it, when the host said that it is not ready.
    if (later.length > workers) problems.push(`${later.length} calls succeeded on a file that was ${name}`);
  } catch {
    problems.push(`a host whose file was ${name} says that it is ready`);
  }
  await loaded.kill(0);
  await loaded.stopLoad();
  // A host that has its database for itself tells results that it can store no more, as on a full disk.
  for (const each of record.sent.slice(before)) record.unstored.add(each);
  rmSync(path, { force: true });
  renameSync(`${path}-away`, path);
  await loaded.startHost();
  return problems;
}

/** Of a load, each with one call at a time. */
const workers = 6;

async function runWorld({ seed, isOver, bug }: Trial): Promise<WorldOutcome> {
  const random = createRandom(seed);
  const loaded = await LoadedHosts.start(1, {}, 30, bug);
  const counts: Record<string, number> = {};
  const problems: string[] = [];
  const first = random.below(losses.length);
  let times = 0;
  do {
    const loss = losses[(first + times) % losses.length] ?? losses[0];
    times += 1;
    counts[loss.name] = (counts[loss.name] ?? 0) + 1;
    problems.push(...(await lose(loaded, loss)));
  } while (times < timesOfWorld && problems.length === 0 && !isOver());
  if (problems.length === 0) problems.push(...(await loaded.check()));
  await loaded.stop();
  return { counts: { ...counts, calls: loaded.record.sent.length }, problems };
}

/** A file of SQLite that is taken away under a host. */
export const replacedFiles: Suite = {
  name: "replaced-files",
  says:
    "The file of SQLite, or its log, is removed or replaced while a host works. The host is unready soon and acknowledges nothing more, " +
    "and with the file in its place again what holds after a kill holds here too.",
  share: 1,
  run: (trial) => runWorlds("replaced-files", trial, runWorld),
};
