// What rules about grants cost a write of one grant, beside few grants and many.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHost, type HostProcess } from "../support/host-process.ts";
import { cpuSeconds } from "../support/process-cpu.ts";
import { digits, publish } from "../support/results.ts";
import { median } from "../support/statistics.ts";

const isQuick = process.argv.includes("--quick");
const plan = isQuick ? { rounds: 3, writes: 50 } : { rounds: 7, writes: 200 };
/** How many rules there are of each form, and how many grants each principal holds. */
const [rulesOfForm, heldByEach] = [5, 20];
const rules = 3 * rulesOfForm;
const alice = { kind: "human", userId: "alice" } as const;

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

function draftOf(place: number, holders: number) {
  const capability = { resource: { namespace: "files", path: [`folder-${place}`] }, actions: ["read"] };
  return {
    id: `grant-${place}`,
    subject: { kind: "agent", agentId: `agent-${place % holders}` } as const,
    issuer: alice,
    capabilities: [{ ...capability, scope: "descendants" as const }],
    constraints: {},
  };
}

/** Issues so many grants in a tenant, up to a thousand at once. */
async function fill({ operator }: HostProcess, namespaceId: string, count: number): Promise<void> {
  for (let start = 0; start < count; start += 1000) {
    const { state } = await operator.request("applyGrants", { namespaceId, dryRun: true });
    const length = Math.min(1000, count - start);
    const issue = Array.from({ length }, (_, place) => draftOf(start + place, count / heldByEach));
    await operator.request("applyGrants", { namespaceId, state, issue });
  }
}

/** Rules that no grant here breaks, although every one is about a place that all of them are held against. */
async function addRules({ operator }: HostProcess, namespaceId: string): Promise<void> {
  for (let place = 0; place < rulesOfForm; place += 1) {
    const [one, other] = [`files/closed-${place}`, `files/shut-${place}`];
    for (const rule of [
      { never: { subject: "agent:*", resource: one } },
      { only: { subjects: ["human:*"], action: "read", resource: other } },
      { separate: { acts: [{ action: "read", resource: one }, { resource: other }] } },
    ])
      await operator.request("addInvariant", { namespaceId, id: `${Object.keys(rule).join("")}-${place}`, ...rule });
  }
}

let issued = 0;

/** Milliseconds of the host's processor time for one write. */
async function writeMs({ operator, pid }: HostProcess, namespaceId: string, count: number): Promise<number> {
  const start = cpuSeconds(pid);
  for (let done = 0; done < plan.writes; done += 1) {
    const id = `more-${(issued += 1)}`;
    const draft = draftOf(issued, count / heldByEach);
    await operator.request("createGrant", { ...draft, id, namespaceId, issuedAt: new Date().toISOString() });
  }
  return ((cpuSeconds(pid) - start) / plan.writes) * 1000;
}

const rows: string[][] = [];
const perRule = new Map<number, number>();
for (const count of [1000, 10_000]) {
  const host = await startHost({ folder: join(folder, String(count)) });
  for (const tenant of ["free", "ruled"]) await fill(host, tenant, count);
  await addRules(host, "ruled");
  for (const tenant of ["free", "ruled"]) await writeMs(host, tenant, count);
  const found: number[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    const free = await writeMs(host, "free", count);
    const ruled = await writeMs(host, "ruled", count);
    found.push((ruled - free) / rules);
    rows.push([String(count), String(round + 1), digits(free), digits(ruled), digits((ruled - free) / rules)]);
  }
  perRule.set(count, median(found));
  await host.stop();
}

const [few = Number.NaN, many = Number.NaN] = perRule.values();
publish("invariants", [
  {
    title: "Rules about grants",
    text:
      `Rounds of ${plan.writes} grants, each issued alone, on SQLite: in a tenant without rules, and in one with ${rulesOfForm} of each form. ` +
      `Each principal holds ${heldByEach} grants, and those of its subject are what a new grant is held against.`,
    head: ["grants", "round", "CPU ms", "with rules", "for each rule"],
    rows,
    goals: [
      { name: "a rule beside 10,000 grants, CPU", measured: many, goal: 5, side: "at most", unit: "ms" },
      { name: "beside 10,000 grants against 1,000, CPU", measured: many / few, goal: 2, side: "at most", unit: "x" },
    ],
  },
]);
