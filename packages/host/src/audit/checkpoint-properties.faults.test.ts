import { existsSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { auditStoreOf } from "../../test/single-stores.ts";
import { openDatabase } from "../storage/open-database.ts";
import type { Database } from "../storage/database.ts";
import type { Schema } from "../storage/schema.ts";
import type { AuditStore } from "./audit-store.ts";
import type { Break } from "./audit-verify.ts";
import { entryOf, origin, rowBehind } from "../ledger/index.ts";
import { createCheckpoints, type Checkpoints } from "./checkpoints.ts";
import { openSigningKey } from "./signing-key.ts";

const tenants = ["a", "b", "c"] as const;
const tenant = fc.constantFrom(...tenants);

/** What can happen to a host, in any order; a killed process may have been writing a line, of which some bytes are there. */
type Step =
  | { do: "record"; tenant: string; count: number }
  | { do: "write" }
  | { do: "kill" }
  | { do: "kill while writing"; missing: number }
  | { do: "stop" };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("record"), tenant, count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("write") }) },
  fc.record({ do: fc.constant("kill") }),
  fc.record({ do: fc.constant("kill while writing"), missing: fc.integer({ min: 1, max: 400 }) }),
  fc.record({ do: fc.constant("stop") }),
);

interface World {
  database: Database;
  file: string;
  audit: AuditStore;
  checkpoints: Checkpoints;
  alarms: string[];
  /** The newest row of each tenant that a finished checkpoint has. */
  signed: Map<string, number>;
  rows: Map<string, number>;
}

function restart(world: Pick<World, "database" | "file" | "alarms">): Pick<World, "audit" | "checkpoints"> {
  const audit = auditStoreOf(world.database);
  const alarm = (_facts: object, message: string): void => void world.alarms.push(message);
  const log = { info() {}, warn() {}, error: alarm };
  const key = openSigningKey(`${world.file}.pem`);
  const clock = (): Date => new Date();
  return {
    audit,
    checkpoints: createCheckpoints({ file: world.file, key, audit, database: world.database, log, clock }),
  };
}

async function take(world: World, one: Step): Promise<void> {
  switch (one.do) {
    case "record":
      for (let place = 0; place < one.count; place += 1) {
        await world.audit.record(auditEvent(crypto.randomUUID(), { namespaceId: one.tenant }));
      }
      world.rows.set(one.tenant, (world.rows.get(one.tenant) ?? 0) + one.count);
      return;
    case "kill":
      return void Object.assign(world, restart(world));
    case "kill while writing": {
      await world.checkpoints.write();
      const text = existsSync(world.file) ? readFileSync(world.file) : Buffer.alloc(0);
      const line = text.length - 1 - text.lastIndexOf(10, text.length - 2);
      // A line that was finished long before is not torn by this process.
      const isOld = [...world.rows].every(([name, row]) => world.signed.get(name) === row);
      if (!isOld && text.length > 0) truncateSync(world.file, text.length - Math.min(one.missing, line));
      return void Object.assign(world, restart(world));
    }
    case "write":
    case "stop":
      await world.checkpoints[one.do === "write" ? "write" : "close"]();
      for (const [name, row] of world.rows) world.signed.set(name, row);
      if (one.do === "stop") Object.assign(world, restart(world));
  }
}

/** What verifying says: the chain, and every head that was signed or is about to be. */
async function verify({ audit, checkpoints }: World, namespaceId: string): Promise<Break | undefined> {
  let { broken } = await audit.verify(namespaceId);
  await checkpoints.headsOf(namespaceId, async (heads) => {
    broken ??= await audit.findBreak(namespaceId, heads);
  });
  return broken;
}

/** Cuts an audit log before a row and, if told so, writes other rows in its place: properly hashed, with the right head. */
async function forge({ db }: Database, namespaceId: string, from: number, others: number): Promise<void> {
  await db.deleteFrom("audit").where("namespace_id", "=", namespaceId).where("sequence", ">=", from).execute();
  const left = db.selectFrom("audit").select(["sequence", "hash"]).where("namespace_id", "=", namespaceId);
  const last = (await left.orderBy("sequence", "desc").limit(1).executeTakeFirst()) ?? { sequence: 0, hash: origin };
  const rows: Schema["audit"][] = [];
  for (let place = 0; place < others; place += 1)
    rows.push(rowBehind(rows.at(-1) ?? last, 0, entryOf(auditEvent(`forged-${place}`, { namespaceId }))));
  if (rows.length > 0) await db.insertInto("audit").values(rows).execute();
  const { sequence, hash } = rows.at(-1) ?? last;
  await db.updateTable("audit_heads").set({ sequence, hash }).where("namespace_id", "=", namespaceId).execute();
}

test("whatever a host records, signs and is killed at, an untouched audit log is whole; a forged one never is", async () => {
  const folder = temporaryFolder();
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 14 }),
      tenant,
      fc.nat({ max: 30 }),
      fc.nat({ max: 8 }),
      fc.boolean(),
      async (steps, victim, at, others, isRestarted) => {
        const database = await openDatabase(":memory:");
        try {
          const place = { database, file: join(folder, `${(runs += 1)}.jsonl`), alarms: [] };
          const world: World = { ...place, ...restart(place), signed: new Map(), rows: new Map() };
          for (const one of steps) {
            await take(world, one);
            for (const name of tenants) expect(await verify(world, name)).toBeUndefined();
          }
          expect(world.alarms).toEqual([]);

          const signed = world.signed.get(victim) ?? 0;
          if (signed === 0) return;
          await forge(database, victim, 1 + (at % signed), others);
          if (isRestarted) Object.assign(world, restart(world));
          expect(await verify(world, victim)).toBeDefined();
          for (const name of tenants.filter((one) => one !== victim)) expect(await verify(world, name)).toBeUndefined();
          // Nor does it heal by what is recorded and signed behind it.
          await take(world, { do: "record", tenant: victim, count: 3 });
          await take(world, { do: "stop" });
          expect(await verify(world, victim)).toBeDefined();
        } finally {
          await database.close();
        }
      },
    ),
    { numRuns: 30 },
  );
});
