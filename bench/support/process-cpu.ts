import { readdirSync, readFileSync } from "node:fs";

/** Linux counts a process's time in hundredths of a second, whatever the kernel's own tick is. */
const ticksASecond = 100;

/** Seconds of processor time that a process has used so far, all of its threads together. NaN where there is no /proc. */
export function cpuSeconds(pid: number): number {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return Number.NaN;
  }
}

/** The same of a process and of all that it started itself, those that have ended included. */
export function cpuSecondsOfFamily(pid: number): number {
  const lines = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? readStat(Number(name)) : []));
  const own = readStat(pid).map(parseEndedChildren);
  const children = lines.filter((line) => parentIn(line) === pid).map(parseStat);
  return [cpuSeconds(pid), ...own, ...children].reduce((sum, seconds) => sum + seconds, 0);
}

/** The line of a process; none when it has just ended. */
function readStat(pid: number): string[] {
  try {
    return [readFileSync(`/proc/${pid}/stat`, "utf8")];
  } catch {
    return [];
  }
}

function parentIn(line: string): number {
  return Number(fieldsOf(line)[1]);
}

/** The time of children that have ended, in a line of /proc/<pid>/stat. */
export function parseEndedChildren(line: string): number {
  return secondsIn(line, [13, 14]);
}

/** The time in a line of /proc/<pid>/stat. The name of the program comes before it and may hold spaces and brackets. */
export function parseStat(line: string): number {
  return secondsIn(line, [11, 12]);
}

function secondsIn(line: string, places: readonly [number, number]): number {
  const fields = fieldsOf(line);
  const [user, system] = places.map((place) => Number(fields[place]));
  return ((user ?? Number.NaN) + (system ?? Number.NaN)) / ticksASecond;
}

function fieldsOf(line: string): string[] {
  return line.slice(line.lastIndexOf(")") + 2).split(" ");
}
