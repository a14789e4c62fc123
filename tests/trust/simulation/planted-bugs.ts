import type { WatchedHistory } from "../../../packages/host/src/storage/history/history.ts";
import type { Step } from "../../../packages/host/src/storage/steps.ts";
import { noFaults, type Faults } from "./database.ts";
import { tenantsOf } from "./model.ts";
import { planOf, type Plan } from "./plan.ts";
import type { Storage } from "./storage.ts";

/** A bug that a host could have: what storage is asked in place of what the host asks now. */
export interface PlantedBug {
  name: string;
  /** What alone happens to hosts in the worlds that find it, where clients only call a tool; unless given all kinds of things. */
  faults?: Faults;
  plant?(step: Step): Step;
  /** What a host knows of what was acknowledged, in place of what it knows now. */
  plantInHistory?: Partial<WatchedHistory>;
  /** Whether a host says that it has nothing under way, in place of whether it has. */
  plantInDrained?(isDrained: boolean): boolean;
  /** What is found of it. */
  finds: RegExp;
}

/** The plan of a seed, for a bug. */
export function planFor({ faults }: PlantedBug, seed: number): Plan {
  const plan = planOf(seed);
  if (faults === undefined) return plan;
  const call = { tool: "effects.add", item: "free", tag: "t" } as const;
  const episodes = plan.episodes.map((episode) => {
    const [tenant] = tenantsOf(episode.number);
    const clients = [0, 1].map((id) => ({ tenant, actions: [{ kind: "tool" as const, id, call }] }));
    return { ...episode, faults, clients, operators: [] };
  });
  return { ...plan, isShared: true, episodes };
}

/** Plants a bug in all hosts until the returned function is called, which says how often it was met. */
export function plantIn(storage: Storage, { plant, plantInHistory, plantInDrained }: PlantedBug): () => number {
  let met = 0;
  const before = [storage.plant, storage.plantInHistory, storage.plantInDrained] as const;
  storage.plant = (step) => {
    const planted = plant?.(step) ?? step;
    if (planted !== step) met += 1;
    return planted;
  };
  storage.plantInHistory = (history) => {
    if (plantInHistory === undefined) return history;
    met += 1;
    return Object.create(history, Object.getOwnPropertyDescriptors(plantInHistory)) as WatchedHistory;
  };
  storage.plantInDrained = (isDrained) => {
    if (plantInDrained === undefined) return isDrained;
    met += 1;
    return plantInDrained(isDrained);
  };
  return () => {
    [storage.plant, storage.plantInHistory, storage.plantInDrained] = before;
    return met;
  };
}

/** Bugs that worlds have to find, each by what the host writes or reads. */
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "two hosts run one turn",
    plant: (step) =>
      replaced(step, [
        ['and "run" = ?', "and ? > 0"],
        [" and run = ? and host_id is not null", " and ? > 0"],
        [" and run = ?13 and host_id is not null", " and ?13 > 0"],
      ]),
    finds: /host \d+ wrote the journal of \S+, which host \w+ has|did \S+ twice/,
  },
  {
    name: "an id can be taken twice",
    plant: (step) =>
      isInto("replay", step)
        ? replaced(step, [
            ["do nothing", "do update set claim = excluded.claim, host_id = excluded.host_id, finished_at = null"],
          ])
        : step,
    finds: /happened twice under the id|was acknowledged: .* and is now/,
  },
  {
    name: "uses are not counted",
    plant: (step) => (isInto("uses", step) ? replaced(step, [["set used = excluded.used", "set used = 0"]]) : step),
    // Approvals are counted in the same table.
    finds: /was used \d+ times of \d+|uses are counted|happened \d+ times after \d+ approvals/,
  },
  {
    name: "an approval is worth any number of acts",
    plant: (step) => (isInto("uses", step) ? withRows(step, ([, id]) => !String(id).startsWith("permit")) : step),
    finds: /happened \d+ times after \d+ approvals/,
  },
  {
    name: "what was revoked is remembered as it was",
    plant: (step) => replaced(step, [["select value, (select", "select 0 as value, (select"]]),
    finds: /after its revocation was acknowledged|revoked/,
  },
  {
    name: "a revoked credential counts",
    plant: (step) =>
      replaced(step, [['select * from "credentials"', 'select *, null as revoked_at from "credentials"']]),
    finds: /a revoked credential of \S+ was answered/,
  },
  {
    name: "what a host knew before counts, although another host has revoked it since",
    plant: (step) => replaced(step, [["set value = value where value = ?", "set value = value where ? is not null"]]),
    finds: /after its revocation was acknowledged|a revoked credential of \S+ was answered|is revoked, and answered/,
  },
  {
    name: "turns are found without their tenant",
    plant: (step) =>
      replaced(step, [
        ["from turns where namespace_id = ?1", "from turns where ?1 = ?1"],
        ['from "turns" where "namespace_id" = ?', 'from "turns" where ? is not null'],
      ]),
    finds: /told \S+ of \S+/,
  },
  {
    name: "a journal loses the steps of its turn",
    plant: (step) =>
      isInto("turn_entries", step)
        ? { ...step, rows: step.rows.map((row) => row.with(4, withoutSteps(row[4]))) }
        : step,
    finds: /did \S+ twice/,
  },
  {
    name: "no host resumes the turns of a dead one",
    plant: (step) => replaced(step, [['"host_id" != ?', '"host_id" != ? and 0']]),
    finds: /neither ends nor waits/,
  },
  {
    name: "decisions are not stored",
    plant: (step) =>
      isInto("audit", step) ? withRows(step, ([, , , , type]) => type !== "authorization.checked") : step,
    finds: /before its decision was stored|is not in the audit log|is broken/,
  },
  {
    name: "a commit is acknowledged and undone",
    plant: (step) => replaced(step, [["commit", "rollback"]]),
    // Whichever of them is asked for first; a host that finds that a commit of its own is missing says that the storage went back.
    finds:
      /is broken at|before its decision was stored|is not in the audit log|is not found|has no answer when all is well|is revoked, and answered|was acknowledged: .* and is now|on a storage that went back|is database_went_back/,
  },
  {
    name: "results are not stored",
    plant: (step) => (step.sql.startsWith("update replay") ? { ...step, rows: [], mustChange: false } : step),
    finds: /has no answer when all is well|was acknowledged: .* and is now/,
  },
  {
    name: "a host that was paused ends what others have ended",
    faults: { ...noFaults, pauses: 300 },
    plant: (step) =>
      replaced(step, [
        [`set "finished_at" = ?, "claim" = ?`, `set "finished_at" = ?, "claim" = "claim" || substr(?, 1, 0)`],
      ]),
    finds: /was acknowledged when another host had said|was acknowledged: .* and is now/,
  },
  {
    name: "a host that was cut off does not see whether its claim was another's to end",
    faults: { ...noFaults, partitions: 300 },
    plant: (step) =>
      step.sql.startsWith("update replay") ? replaced(step, [["and claim = ?9", "and claim in (?9, '')"]]) : step,
    finds: /was acknowledged when another host had said|was acknowledged: .* and is now/,
  },
  {
    name: "what is lost does not count",
    faults: noFaults,
    plantInHistory: { isBehind: false },
    finds: /on a storage that went back|happened twice under the id|where it should be database_went_back/,
  },
  {
    name: "a host of the version before says that it has left when it has not",
    faults: noFaults,
    plantInDrained: () => true,
    finds: /wrote to a storage that a newer version has changed/,
  },
  {
    name: "a host of the version before does not hear that it has to leave",
    faults: noFaults,
    plant: (step) => replaced(step, [["select lowest from schema_epoch", "select 0 as lowest from schema_epoch"]]),
    finds: /does not leave a storage/,
  },
  {
    name: "two strands of an audit log are written over each other",
    plant: (step) => (step.sql.startsWith("update audit_heads") ? { ...step, mustChange: false } : step),
    // A row that has the number of another one is refused by the table, which is answered with 500.
    finds: /neither ends nor waits|is broken at|has no answer when all is well|answered 500|does not come to its end/,
  },
];

function replaced(step: Step, replacements: readonly (readonly [string, string])[]): Step {
  const sql = replacements.reduce((text, [from, to]) => text.replaceAll(from, to), step.sql);
  return sql === step.sql ? step : { ...step, sql };
}

function isInto(table: string, { sql }: Step): boolean {
  return sql.startsWith(`insert into ${table} `);
}

/** What a write stored, but for steps. */
function withoutSteps(content: unknown): string {
  const entries = JSON.parse(content as string) as { kind: string }[];
  return JSON.stringify(entries.filter(({ kind }) => kind !== "step"));
}

function withRows(step: Step, isStored: (row: readonly unknown[]) => boolean): Step {
  return { ...step, rows: step.rows.filter(isStored) };
}
