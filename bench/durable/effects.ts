// How often an effect happens whose process is killed in the middle of it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Postgres } from "../support/postgres.ts";
import { digits, type Section } from "../support/results.ts";
import { dbosSide, hostSide, type Instant, type Side } from "./sides.ts";

/** Kills each side before and after its effects, with so many under way, and starts it again. */
export async function measureEffects(folder: string, postgres: Postgres, count: number): Promise<Section> {
  const sides = [
    dbosSide("step of DBOS", join(folder, "dbos"), await postgres.newDatabase()),
    hostSide("write tool, PostgreSQL", join(folder, "postgres"), await postgres.newDatabase()),
    hostSide("write tool, SQLite", join(folder, "sqlite")),
    hostSide("idempotent tool, SQLite", join(folder, "idempotent"), undefined, "effects.append-again"),
  ];
  const rows: string[][] = [];
  for (const side of sides)
    for (const instant of ["after", "before"] as const)
      rows.push(await killAt(side, instant, join(folder, "lines"), count));
  return {
    title: "An effect whose process is killed, beside DBOS",
    text:
      `kill -9 while ${count} workflows or turns are each inside a step or a tool call that appends a line to a file, just after ` +
      "the line or just before it; then the process is started again. Neither side can know whether the line was written. DBOS " +
      "does an interrupted step again: at least once. A write tool is not called again: at most once, and the driver is told; " +
      "a line that was not written stays unwritten until an operator decides about it, which is where DBOS is better. A tool that " +
      "says that it is idempotent is called again as a step of DBOS is. The last column begins with the start of the new " +
      "process. On PostgreSQL a host first makes sure for 3 s that the one before is gone; DBOS takes for granted that an " +
      "executor of the same name is, and does not look for those of another name.",
    head: ["what", "killed", "lines for each", "told afterwards", "s until all ended"],
    rows,
  };
}

async function killAt(side: Side, instant: Instant, file: string, count: number): Promise<string[]> {
  const prefix = `${side.name.replaceAll(/[^a-z]+/gi, "-")}-${instant}-`;
  const ids = Array.from({ length: count }, (_, place) => `${prefix}${place}`);
  const first = await side.start({ file, hangs: instant });
  await first.append(ids);
  await Promise.all(ids.map((id) => first.worker.heard("hangs", id)));
  await first.worker.kill();
  const start = performance.now();
  const second = await side.start({ file });
  const told = await second.results(ids);
  const seconds = (performance.now() - start) / 1000;
  await second.worker.stop();
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const times = ids.map((id) => lines.filter((line) => line === id).length);
  return [side.name, `${instant} the line`, different(times), different(told), digits(seconds)];
}

/** All values that there are, usually one. */
function different(values: readonly (number | string)[]): string {
  return [...new Set(values)].toSorted().join(", ");
}
