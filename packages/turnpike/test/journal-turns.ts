/** Turns with a journal in memory: runtimes that can resume, and worlds in which they do. */
import { expect } from "vitest";
import type { JsonValue, ToolResult, TurnResult } from "../src/contracts/index.ts";
import {
  standardRuntime,
  type DriverDecision,
  type RuntimePlugin,
  type TurnDriver,
  type TurnJournal,
} from "../src/runtime/index.ts";
import { memoryTurnJournal, type MemoryTurnJournal } from "../src/testing/index.ts";
import { agent } from "./deployment.ts";
import { pluginOf, saidOf, turnWorldOf, typesOf, type TurnWorld, type TurnWorldOptions } from "./turns.ts";

export const key = { namespaceId: "demo", actor: agent, executionId: "turn-1" };

/** A plugin that can resume. */
export function resumable(run: RuntimePlugin["run"]): RuntimePlugin {
  return { ...pluginOf(run), resumes: (version) => version === "7" };
}

/** A driver that decides by what its sessions remember, and how often it was asked. */
export function drivenBy(...decisions: readonly ((results: readonly ToolResult[]) => DriverDecision)[]): {
  runtime: RuntimePlugin;
  asked: number[];
} {
  const asked: number[] = [];
  const driver: TurnDriver = {
    manifest: { id: "driver", version: "1" },
    resumes: (version) => version === "1",
    open() {
      let place = 0;
      return Promise.resolve({
        memory: () => place,
        recall(_input, memory) {
          place = memory as number;
        },
        next(input) {
          asked.push(place);
          const decide = decisions[place] ?? (() => ({ type: "complete", output: "done" }));
          place += 1;
          return Promise.resolve(decide(input.type === "start" ? [] : input.results));
        },
      });
    },
  };
  return { runtime: standardRuntime(driver), asked };
}

export const outputs = (results: readonly ToolResult[]): JsonValue => results.map(saidOf);

export interface JournalWorld extends TurnWorld {
  journal: MemoryTurnJournal;
  /** Resumes the turn, in a new run. */
  resume(options?: { context?: Parameters<TurnWorld["run"]>[0]; isIncomplete?: boolean }): Promise<TurnResult>;
}

export function journalWorld(
  runtime: RuntimePlugin,
  {
    journal = memoryTurnJournal(),
    through = journal,
    ...options
  }: Partial<TurnWorldOptions> & {
    journal?: MemoryTurnJournal;
    through?: TurnJournal;
  } = {},
): JournalWorld {
  const world = turnWorldOf(runtime, {
    ...options,
    executor: { journal: through, createId: () => crypto.randomUUID(), ...options.executor },
  });
  return {
    ...world,
    journal,
    async resume({ context, isIncomplete = false } = {}) {
      const writer = journal.take(key);
      return world.run(
        { ...context },
        { isAsync: true, writer: isIncomplete ? Object.assign(writer, { isIncomplete }) : writer },
      );
    },
  };
}

/** INVARIANT of every journal: numbers without a gap, ids once, one start, and one end behind everything. */
export async function expectSound(journal: MemoryTurnJournal): Promise<void> {
  const events = await journal.events(key, -1);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, place) => place));
  expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(events.length);
  const types = typesOf({ events: [...events] });
  expect(types.filter((type) => type === "turn.started").length).toBeLessThanOrEqual(1);
  expect(types.filter((type) => /^turn\.(completed|failed|denied|cancelled|escalated)$/.test(type))).toEqual(
    types.slice(-1),
  );
  const { result } = (await journal.find(key)) ?? {};
  expect(result?.events).toEqual(events);
}
