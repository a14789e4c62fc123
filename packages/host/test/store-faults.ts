import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openAllStores, seed, type Operation, type Operations, type Run, type Seed } from "./store-operations/index.ts";
import { stateOf } from "./store-operations/state.ts";
import { databaseKinds, sharedDatabase } from "./databases.ts";
import { failingAt, recordStatements } from "./watched-database.ts";
import type { Database } from "../src/storage/database.ts";

/**
 * Operations that commit more than once: when a later statement fails, the whole steps before it stay. They say what can be
 * left, and running them again has to come to an end.
 */
const inSteps: Readonly<Record<string, string>> = {
  "turns.take": "a run of the turn that has no writer: the host that takes the turn next makes another",
  "turns.cancel": "the turn is cancelled, only its state could not be read",
  "turns.begin, after a refusal": "the refused turn is gone, and its id is free",
  "replay.begin, again": "the claim that was left is interrupted, as the next caller is told",
};

/** Whether the operation was refused; one that hangs fails the test by its time limit. */
export function isRefused(operation: Promise<unknown>): Promise<boolean> {
  return operation.then(
    () => false,
    () => true,
  );
}

interface Prepared {
  run: Run;
  seeded: Seed;
  before: string;
}

/**
 * An operation on a database that fails at one of its statements, ready to run. An operation that changes nothing and needs
 * nothing before it finds the rows again that were there for the last one.
 */
async function prepare(
  database: Database,
  { operation, at, when, shared }: { operation: Operation; at: number; when: "before" | "after"; shared?: Prepared },
): Promise<Prepared> {
  const seeded = shared?.seeded ?? (await seed(database));
  const failing = failingAt(database, at, when);
  const run = await operation(openAllStores(failing), seeded, failing);
  return { run, seeded, before: shared?.before ?? (await stateOf(database, seeded)) };
}

/** The statements of an operation, how many ran to prepare it, whether it changes anything, and the rows that others may share. */
async function statementsOf(database: Database, operation: Operation) {
  const recorded = recordStatements(database);
  const seeded = await seed(database);
  const run = await operation(openAllStores(recorded.database), seeded, recorded.database);
  const prepared = recorded.statements.splice(0).length;
  const before = await stateOf(database, seeded);
  await run();
  const isChange = (await stateOf(database, seeded)) !== before;
  const shared = prepared === 0 && !isChange ? { shared: { run, seeded, before } } : {};
  return { prepared, statements: recorded.statements, isChange, shared };
}

/** What went wrong when a statement was not run. */
async function problemsWithout(database: Database, name: string, operation: Operation): Promise<string[]> {
  const { prepared, statements, isChange, shared } = await statementsOf(database, operation);
  const problems: string[] = [];
  for (const [place, statement] of statements.entries()) {
    const at = prepared + place + 1;
    const { run, seeded, before } = await prepare(database, { operation, at, when: "before", ...shared });
    if (!(await isRefused(run()))) problems.push(`acknowledged without ${statement}`);
    const isChanged = (await stateOf(database, seeded)) !== before;
    if (isChanged && !(name in inSteps)) problems.push(`half written without ${statement}`);
    if (await isRefused(run())) problems.push(`stuck after ${statement} failed`);
    if (isChange && (await stateOf(database, seeded)) === before) problems.push(`not done after ${statement} failed`);
  }
  if (statements.length === 0) problems.push("asks the database nothing");
  return problems;
}

/** What went wrong when the answer to a statement was lost. */
async function problemsUnanswered(database: Database, name: string, operation: Operation): Promise<string[]> {
  const { prepared, statements, shared } = await statementsOf(database, operation);
  const isInTransaction = statements.includes("commit") && !(name in inSteps);
  const problems: string[] = [];
  for (const [place, statement] of statements.entries()) {
    // An answer is lost with its connection, and a transaction that only began is lost with it.
    if (statement === "begin") continue;
    const at = prepared + place + 1;
    const { run, seeded, before } = await prepare(database, { operation, at, when: "after", ...shared });
    if (!(await isRefused(run()))) problems.push(`acknowledged without an answer to ${statement}`);
    const isUndone = (await stateOf(database, seeded)) === before;
    if (isInTransaction && statement !== "commit" && !isUndone) problems.push(`half written by ${statement}`);
    const { broken } = await openAllStores(database).audit.verify(seeded.tenant);
    if (broken !== undefined) problems.push(`a broken audit log after ${statement}`);
    // It may have happened, and then it may not happen again. What it is about must not be in the way of the next one.
    await isRefused(run());
  }
  return problems;
}

/** Lets every statement of every operation fail, on both databases. */
export function describeFaults(operations: Operations): void {
  describe.each(databaseKinds)("when a statement fails on %s", (kind) => {
    const open = sharedDatabase(kind);

    // What failed is tried again in the background: not before the state was read.
    beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
    afterEach(() => void vi.useRealTimers());

    for (const [name, operation] of Object.entries(operations)) {
      test(`${name} rejects, whichever statement it is; nothing is half written and nothing is lost`, async () => {
        expect(await problemsWithout(await open(), name, operation)).toEqual([]);
      });

      test(`${name} rejects when an answer is lost; only a whole change can have happened`, async () => {
        expect(await problemsUnanswered(await open(), name, operation)).toEqual([]);
      });
    }
  });
}
