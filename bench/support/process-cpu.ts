import { readFileSync } from "node:fs";

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

/** The time in a line of /proc/<pid>/stat. The name of the program comes before it and may hold spaces and brackets. */
export function parseStat(line: string): number {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [fields[11], fields[12]].map(Number);
  return ((user ?? Number.NaN) + (system ?? Number.NaN)) / ticksASecond;
}
