import { type Attack, type Group, type Seen, tables } from "./attack.ts";
import { canary, type World } from "./world.ts";

/** Tries attacks of a group in an order, on one host, and says everything about them that is not as it has to be. */
export async function tryAttacks({ name, open }: Group, attacks: readonly Attack[]): Promise<string[]> {
  const world = await open();
  const problems: string[] = [];
  for (const row of attacks) {
    for (const problem of await tryAttack(world, row)) problems.push(`${name}: ${row.name}: ${problem}`);
  }
  await world.close();
  return problems;
}

/** Tries an attack and its control, and says everything about them that is not as it has to be. */
async function tryAttack(world: World, row: Attack): Promise<string[]> {
  try {
    return await problemsOf(world, row);
  } catch (error) {
    return [`it could not be tried: ${String(error)}`];
  }
}

async function problemsOf(world: World, row: Attack): Promise<string[]> {
  const made = await row.prepare?.(world);
  const before = await stateOf(world);
  const attacked = await row.attack(world, made);
  const after = await stateOf(world);
  const events = [...after.auditLog].flatMap(([id, content]) => (before.auditLog.has(id) ? [] : [content]));
  const log = JSON.stringify(world.log.said.slice(before.lines));
  const problems = [
    ...expected("the attacker", attacked, row.held),
    ...effects(before, after, row),
    ...leaks(world, { answer: attacked.text, log, auditLog: events.join("\n") }),
    ...unexplained(attacked, events),
    ...(await controlled(world, row, made)),
  ];
  const status = await world.health();
  return status === 200 ? problems : [...problems, `the host answers ${status} afterwards`];
}

/** What is not as it has to be when the same is done rightly: also when it cannot be done, because the attack did more than it may. */
async function controlled(world: World, row: Attack, made: unknown): Promise<string[]> {
  try {
    return expected("the control", await row.control(world, made), row.succeeds);
  } catch (error) {
    return [`the control could not be tried: ${String(error)}`];
  }
}

function expected(who: string, { says, text }: Seen, wanted: string): string[] {
  return says === wanted ? [] : [`${who} saw "${says}" and not "${wanted}": ${text.slice(0, 400)}`];
}

interface State {
  /** What each table holds. */
  rows: ReadonlyMap<string, string>;
  payments: number;
  /** Events of the audit log by their ids. */
  auditLog: ReadonlyMap<string, string>;
  /** How many lines the log has. */
  lines: number;
}

/** Everything that an attack could have changed. */
async function stateOf({ host, db, payments, log }: World): Promise<State> {
  await host.stores.audit.flush();
  const rows = new Map<string, string>();
  for (const table of tables) {
    const found = await db.selectFrom(table).selectAll().execute();
    // When a credential was last used is written once a minute, whatever is attacked meanwhile.
    const texts = found.map((row) => JSON.stringify({ ...row, last_used_at: undefined }));
    rows.set(table, texts.toSorted().join("\n"));
  }
  const events = await db.selectFrom("audit").select(["id", "content"]).execute();
  return {
    rows,
    payments: payments.length,
    auditLog: new Map(events.map(({ id, content }) => [id, content])),
    lines: log.said.length,
  };
}

/** What an attack changed, although it must not. */
function effects(before: State, after: State, { leaves = [], payments = 0 }: Attack): string[] {
  const changed = tables.filter((table) => before.rows.get(table) !== after.rows.get(table) && !leaves.includes(table));
  const made = after.payments - before.payments;
  return [
    ...changed.map((table) => `it changed ${table}`),
    ...(made === payments ? [] : [`it made ${made} payments and not ${payments}`]),
  ];
}

/** Secrets, and what another caller holds for themselves, where they must not be. */
function leaks({ secrets }: World, places: Readonly<Record<string, string>>): string[] {
  return Object.entries(places).flatMap(([place, text]) =>
    [canary, ...secrets].filter((secret) => text.includes(secret)).map((secret) => `${secret} is in the ${place}`),
  );
}

/** A denial has its reason in the audit log. An error of the host's own is none that an attacker may cause, unless it is load. */
function unexplained({ says }: Seen, events: readonly string[]): string[] {
  const [, reason] = /\bdenied (\w+)/.exec(says) ?? [];
  const problems = /\b5\d\d\b/.test(says.replaceAll("503 overloaded", "")) ? ["the host failed"] : [];
  if (reason === undefined || events.some((event) => isDenial(event, reason))) return problems;
  return [...problems, `the audit log does not say ${reason}`];
}

function isDenial(event: string, reason: string): boolean {
  const { outcome, reason: said } = JSON.parse(event) as { outcome: string; reason?: string };
  return outcome === "denied" && said === reason;
}
