import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textTable } from "./tables.ts";

/** A number to reach, and what was measured. */
export interface Goal {
  readonly name: string;
  readonly measured: number;
  readonly goal: number;
  /** On which side of the goal it has to be. */
  readonly side: "at least" | "at most";
  /** What the numbers are, such as `x bare` or `ms`. */
  readonly unit: string;
}

/** What one benchmark measured, ready to be shown. */
export interface Section {
  readonly title: string;
  /** A sentence or two on how to read the table. */
  readonly text?: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly goals?: readonly Goal[];
}

/** Where `npm run bench` collects the sections of every benchmark. */
export const sectionsFolder = ".build/bench-sections";

/** Prints sections, and keeps them for the page of results. */
export function publish(benchmark: string, sections: readonly Section[]): void {
  for (const { title, text, head, rows, goals = [] } of sections) {
    console.log(`\n${title}${text === undefined ? "" : `\n${text}`}\n`);
    console.log(textTable(head, rows));
    if (goals.length > 0) console.log(`\n${textTable(goalHead, goals.map(goalRow))}`);
  }
  mkdirSync(sectionsFolder, { recursive: true });
  writeFileSync(join(sectionsFolder, `${benchmark}.json`), JSON.stringify(sections));
}

export const goalHead: readonly string[] = ["goal", "measured", "to reach", "reached"];

/** A goal as a row of a table. */
export function goalRow(goal: Goal): string[] {
  const { name, goal: wanted, side, unit } = goal;
  return [name, measuredText(goal), `${side} ${wanted} ${unit}`, isReached(goal) ? "yes" : "no"];
}

/** What was measured, with its unit. */
export function measuredText({ measured, unit }: Goal): string {
  return `${digits(measured)} ${unit}`;
}

export function isReached({ measured, goal, side }: Goal): boolean {
  return side === "at least" ? measured >= goal : measured <= goal;
}

/** How much of a goal is reached: 1 is all of it, more is better, whichever side the goal is on. */
export function shareReached({ measured, goal, side }: Goal): number {
  if (side === "at least") return measured / goal;
  return measured <= 0 ? Number.POSITIVE_INFINITY : goal / measured;
}

/** A number in as many digits as mean something. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}
