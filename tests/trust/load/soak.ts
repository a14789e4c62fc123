import { createRandom, type Random } from "../../../packages/turnpike/test/random.ts";
import { ask, eventually } from "../../../packages/host/test/host-calls.ts";
import { quantile } from "../../../bench/support/statistics.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../../support/host-process.ts";
import type { Finding, Outcome, Suite, Trial } from "../suite.ts";
import { openMixedCalls } from "./mixed-calls.ts";
import { handlesOf, memoryOf } from "./process-use.ts";
import { drawSoak, type Sample } from "./soak-picture.ts";

const callsPerWindow = 500;
const clients = 16;
/** With fewer samples than this nothing can be said about what grows. */
const enough = 40;

/** Mixed load on one host, for as long as there is time. */
export const soak: Suite = {
  name: "soak",
  says: "Under mixed load memory stays flat, answers stay as quick as in the first minute, and every socket and file is given back.",
  share: 8,
  run: runSoak,
};

async function runSoak({ seed, isOver }: Trial): Promise<Outcome> {
  const args = ["serve", "--port", "0", "--set", "limits.requestsPerSecond=1000000", "--set", "limits.burst=1000000"];
  const host = await startHostProcess({ folder: makeFolder(), args: [...args, "--set", "log.level=error"] });
  const calls = await openMixedCalls(host);
  const random = createRandom(seed);
  const atRest = handlesOf(host.pid);
  const samples: Sample[] = [];
  const failures: string[] = [];
  const start = performance.now();
  let sent = 0;
  const drive = async (times: number[], end: number): Promise<void> => {
    while (sent < end) {
      sent += 1;
      const begun = performance.now();
      await pick(calls, random)(`soak-${sent}`).catch((error: unknown) => failures.push(String(error)));
      times.push(performance.now() - begun);
    }
  };
  while (!isOver()) {
    const times: number[] = [];
    const end = sent + callsPerWindow;
    await Promise.all(Array.from({ length: clients }, () => drive(times, end)));
    samples.push({
      seconds: (performance.now() - start) / 1000,
      memory: memoryOf(host.pid),
      heap: await heapOf(host),
      handles: handlesOf(host.pid),
      p99: quantile(times, 0.99),
    });
  }
  // Sockets that are held open for further requests are closed by the client.
  const isGivenBack = await eventually(() => {
    if (handlesOf(host.pid) > atRest + clients * 2) throw new Error("Sockets are still open.");
    return true;
  }).catch(() => false);
  const problems = [
    // One of each kind: they differ in ids and times.
    ...new Map(failures.map((failure) => [failure.replaceAll(/\d+/g, ""), failure])).values(),
    ...growth(samples),
    ...(isGivenBack ? [] : [`${handlesOf(host.pid)} files and sockets are open after the load, ${atRest} before it`]),
  ];
  const { code } = await host.stop();
  if (code !== 0) problems.push(`the host ended with ${code}: ${host.stderr().slice(-1000)}`);
  const findings = problems.map((what): Finding => ({ what, repeat: `npm run trust -- --only soak --seed ${seed}` }));
  const counts = {
    calls: sent,
    "MiB at first": Math.round(samples[0]?.memory ?? 0),
    "MiB at last": Math.round(samples.at(-1)?.memory ?? 0),
    "MiB of JavaScript at most": Math.round(Math.max(...samples.map(({ heap }) => heap))),
    "handles at rest": atRest,
    "handles at most": Math.max(...samples.map(({ handles }) => handles)),
  };
  return { counts, findings, picture: drawSoak(samples) };
}

function pick<T>(items: readonly T[], random: Random): T {
  return items[random.below(items.length)] as T;
}

/** What JavaScript has in use in the host, in MiB. */
async function heapOf({ url, operatorToken }: HostProcess): Promise<number> {
  const { text } = await ask(url, "/metrics", { token: operatorToken() });
  const [, bytes] = /^nodejs_heap_size_used_bytes (\d+)$/m.exec(text) ?? [];
  return Number(bytes) / 2 ** 20;
}

/** What grew. The first quarter is left out: memory that was never needed before is not a leak. */
function growth(samples: readonly Sample[]): string[] {
  if (samples.length < enough) return [];
  const quarter = (place: number, of: (sample: Sample) => number, share: number): number => {
    const size = Math.floor(samples.length / 4);
    return quantile(samples.slice(place * size, (place + 1) * size).map(of), share);
  };
  const heap = ({ heap: mib }: Sample): number => mib;
  const memory = ({ memory: mib }: Sample): number => mib;
  const p99 = ({ p99: ms }: Sample): number => ms;
  const firstMinute = samples.filter(({ seconds }) => seconds <= 60).map(p99);
  const grown = [
    // The least is what is left when garbage was collected; a system gets memory back late, if ever.
    {
      what: "the least in use by JavaScript",
      unit: "MiB",
      before: quarter(1, heap, 0),
      after: quarter(3, heap, 0),
      most: 1.2,
    },
    { what: "memory", unit: "MiB", before: quarter(1, memory, 0.5), after: quarter(3, memory, 0.5), most: 1.5 },
    { what: "the slowest 1%", unit: "ms", before: quantile(firstMinute, 0.5), after: quarter(3, p99, 0.5), most: 2 },
  ];
  return grown
    .filter(({ unit, before, after, most }) => !(after <= before * most + (unit === "MiB" ? 16 : 0)))
    .map(({ what, unit, before, after }) => `${what} grew from ${Math.round(before)} to ${Math.round(after)} ${unit}`);
}
