// What a second host costs the PostgreSQL that both share: the same calls, as many at once, over one host and over two.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHost, type HostProcess } from "../support/host-process.ts";
import { startPostgres } from "../support/postgres.ts";
import { cpuSeconds, cpuSecondsOfFamily } from "../support/process-cpu.ts";
import { digits, publish, type Goal } from "../support/results.ts";
import { median, medianRatio } from "../support/statistics.ts";
import { openWorld } from "../support/world.ts";
import { loadCases } from "./cases.ts";
import { startLoad, type LoadProcess } from "./load-process.ts";

const isQuick = process.argv.includes("--quick");
const plan = isQuick ? { rounds: 3, ms: 500 } : { rounds: 7, ms: 3000 };
const connections = 32;

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const postgres = await startPostgres();
const server = await postgres.pid();
const [, read] = loadCases(new Date().toISOString());
if (read === undefined) throw new Error("There is no case to begin with.");

/** Hosts on a database of their own, each with a process that loads it. */
interface Group {
  readonly name: string;
  readonly hosts: readonly { readonly host: HostProcess; readonly load: LoadProcess }[];
  readonly token: string;
}

interface GroupSample {
  readonly rate: number;
  /** Processor time in microseconds a call: of PostgreSQL, and of all hosts together. */
  readonly serverMicros: number;
  readonly hostMicros: number;
}

async function openGroup(count: number): Promise<Group> {
  const database = await postgres.newDatabase();
  const hosts: { host: HostProcess; load: LoadProcess }[] = [];
  // In one folder, because they have the same keys.
  while (hosts.length < count)
    hosts.push({ host: await startHost({ folder: join(folder, `of-${count}`), database }), load: startLoad() });
  const [first] = hosts;
  if (first === undefined) throw new Error("A group has a host.");
  return { name: `${count} host${count === 1 ? "" : "s"}`, hosts, token: await openWorld(first.host) };
}

async function measureGroup({ hosts, token }: Group, ms: number): Promise<GroupSample> {
  const used = (): [number, number] => [
    cpuSecondsOfFamily(server),
    hosts.reduce((sum, { host }) => sum + cpuSeconds(host.pid), 0),
  ];
  const before = used();
  const order = {
    load: read as NonNullable<typeof read>,
    token,
    connections: connections / hosts.length,
    until: { ms },
  };
  const reports = await Promise.all(hosts.map(({ host, load }) => load.run({ ...order, port: host.port })));
  const after = used();
  const requests = reports.reduce((sum, report) => sum + report.requests, 0);
  const [serverMicros, hostMicros] = after.map((seconds, place) => ((seconds - (before[place] ?? 0)) / requests) * 1e6);
  const rate = reports.reduce((sum, report) => sum + report.requests / report.seconds, 0);
  return { rate, serverMicros: serverMicros ?? Number.NaN, hostMicros: hostMicros ?? Number.NaN };
}

const groups = [await openGroup(1), await openGroup(2)];
// Until what is hot is compiled.
for (const group of groups) await measureGroup(group, 4 * plan.ms);
const samples = new Map<Group, GroupSample[]>(groups.map((group) => [group, []]));
for (let round = 0; round < plan.rounds; round += 1)
  for (const group of round % 2 === 0 ? groups : groups.toReversed())
    samples.get(group)?.push(await measureGroup(group, plan.ms));
for (const { hosts } of groups)
  for (const { host, load } of hosts) {
    await load.stop();
    await host.stop();
  }
await postgres.stop();

const of = (group: Group | undefined, key: keyof GroupSample): number[] =>
  (group === undefined ? [] : (samples.get(group) ?? [])).map((sample) => sample[key]);
const [alone, both] = groups;
const goals: Goal[] = [
  {
    name: "PostgreSQL's CPU a call, two hosts against one",
    measured: medianRatio(of(both, "serverMicros"), of(alone, "serverMicros")),
    goal: 1.2,
    side: "at most",
    unit: "x one host",
  },
];
publish("two-hosts", [
  {
    title: "Two hosts on one PostgreSQL",
    text:
      `files.read by POST /v1/tools/invoke, ${connections} at once over all hosts, medians of ${plan.rounds} rounds of ${plan.ms} ms; ` +
      "ratios are taken within a round.",
    head: ["hosts", "requests/s", "PostgreSQL's CPU µs", "CPU of all hosts µs"],
    rows: groups.map((group) => [
      group.name,
      ...(["rate", "serverMicros", "hostMicros"] as const).map((key) => digits(median(of(group, key)))),
    ]),
    goals,
  },
]);
