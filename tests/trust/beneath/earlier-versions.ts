import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { expect } from "vitest";
import { newLocation } from "../../../packages/host/test/databases.ts";
import { ask, eventually } from "../../../packages/host/test/host-calls.ts";
import { createRandom } from "../../../packages/turnpike/test/random.ts";
import { earlierVersion, epochBefore, versionBefore } from "../../support/earlier-version.ts";
import { effectsIn, openGate, startScript } from "../../support/effect-host.ts";
import { LoadedHosts, outcomeOf } from "../../support/loaded-hosts.ts";
import { runWorlds, type Suite, type Trial, type WorldOutcome } from "../suite.ts";

const nextScript = fileURLToPath(new URL("../../support/next-effect-host.js", import.meta.url));

/** What the database says of the versions that may serve it, and whether the next version has changed it. */
class Epochs {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async open(database: string): Promise<Epochs> {
    const client = new pg.Client(database);
    await client.connect();
    return new Epochs(client);
  }

  /** Whether the version before may serve. */
  async allowBefore(): Promise<boolean> {
    const { rows } = await this.#client.query<{ lowest: number }>("select lowest from schema_epoch");
    return rows[0] !== undefined && rows[0].lowest <= epochBefore;
  }

  async isNext(): Promise<boolean> {
    const table = "select to_regclass('next_version') is not null as found";
    return (await this.#client.query<{ found: boolean }>(table)).rows[0]?.found === true;
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

/** What a host answers from the time on when it has heard that it is too old. */
async function untilTooOld(loaded: LoadedHosts, place: number): Promise<void> {
  await eventually(async () => {
    const { status, text } = await ask(loaded.hostAt(place).url, "/ready");
    expect([status, text]).toEqual([503, expect.stringContaining("A newer version of Turnpike serves the database.")]);
  });
}

/** What does not hold when this version comes to the database beside the one before. */
async function serveBeside(loaded: LoadedHosts, epochs: Epochs): Promise<string[]> {
  await loaded.startHost();
  const areBoth = await epochs.allowBefore();
  if (!areBoth) await untilTooOld(loaded, 0);
  await loaded.stopLoad();
  const from = loaded.record.sent.length;
  loaded.startLoad();
  await loaded.answers(30, (outcome) => outcome === "succeeded");
  const refused = loaded.record.sent.slice(from).filter((each) => outcomeOf(each) === "overloaded");
  return areBoth && refused.length > 0 ? [`${refused.length} calls were refused beside the version before`] : [];
}

/** What does not hold when the next version comes, and all others have to leave. */
async function giveWay(loaded: LoadedHosts, epochs: Epochs): Promise<string[]> {
  const here = loaded.hostAt(1);
  const held = loaded.callHeld(here, "held");
  await eventually(() => expect(effectsIn(loaded.folder)).toContain(`${loaded.plenty.name} held`));
  const starting = loaded.startHost(undefined, (folder, settings) =>
    startScript(nextScript, folder, settings, loaded.bug),
  );
  const problems: string[] = [];
  try {
    await Promise.race([Promise.all([untilTooOld(loaded, 0), untilTooOld(loaded, 1)]), starting]);
    if (await epochs.isNext())
      problems.push("the next version changed the database under a call of the version before");
    if (outcomeOf({ answer: await loaded.invoke(here, loaded.plenty, "new") }) !== "overloaded")
      problems.push("a host that is too old began a call");
  } finally {
    openGate(loaded.folder, "gate-held");
  }
  const { status, text } = await held;
  if (outcomeOf({ answer: await held }) !== "succeeded")
    problems.push(`a call that was under way ended ${status} ${text}`);
  await starting;
  return problems;
}

async function runWorld({ seed, bug }: Trial): Promise<WorldOutcome> {
  const random = createRandom(seed);
  const before = join(earlierVersion(versionBefore), "tests/support/effect-host.js");
  const database = await newLocation("postgres");
  const loaded = await LoadedHosts.start(1, { database }, 30, bug, (folder, settings) =>
    startScript(before, folder, settings),
  );
  const epochs = await Epochs.open(database);
  loaded.startLoad();
  await loaded.answers(10 + random.below(30));
  const problems = await serveBeside(loaded, epochs);
  problems.push(...(await giveWay(loaded, epochs)));
  await loaded.stopLoad();
  await epochs.close();
  // Those that began nothing more; what they did is the next version's.
  for (let older = 0; older < 2; older += 1) await loaded.kill(0);
  problems.push(...(await loaded.check()));
  await loaded.stop();
  return { counts: { upgrades: 2, calls: loaded.record.sent.length }, problems };
}

/** Hosts of the version before, of this one and of the next on one database. */
export const earlierVersions: Suite = {
  name: "earlier-versions",
  says:
    "A host of this version starts beside one of the version before, as that was, and then one of a next version that neither may serve " +
    "beside. What is under way is finished before the database is changed, nothing begins on a host that is too old, and what holds " +
    "after a kill holds here too.",
  share: 1,
  run: (trial) => runWorlds("earlier-versions", trial, runWorld),
};
