import type { Escalation } from "../contracts/index.ts";
import type { Question } from "../kernel/index.ts";

/** What a turn waits for, or would if anybody could tell it the answer. */
export interface Asked {
  callId: string;
  escalation: Escalation;
  question?: Question | undefined;
  /** The call itself waits for a yes, and is made then. Absent for one that asks by itself. */
  approval?: { tool: string } | undefined;
}

/** What a plugin has under way. */
export interface RunActivity {
  /** Follows an operation until the function that is returned was called: it has ended, or waits for a person. */
  begin(kind: "call" | "other"): () => void;
  /** Adds a question that the run waits for. */
  ask(asked: Asked): void;
  /** Resolves when all calls that are on their way now have ended, or wait; undefined when there are none. */
  callsSettled(): Promise<unknown> | undefined;
  /** Nothing was left but questions: the run is over. */
  readonly onlyWaits: boolean;
}

/**
 * Follows a run, to tell when nothing is left of it but questions. A plugin that goes on with what it was given asks for
 * more before the next macrotask; whatever it does outside of its host is not seen, and is done again in the next run.
 */
export function followRun(onOnlyWaits: (asked: readonly Asked[]) => void): RunActivity {
  const asked: Asked[] = [];
  const busy = new Set<Promise<void>>();
  const calls = new Set<Promise<void>>();
  let onlyWaits = false;

  const look = (): void => {
    if (onlyWaits || busy.size > 0) return;
    onlyWaits = true;
    onOnlyWaits(asked);
  };
  return {
    begin(kind) {
      let resolve = (): void => {};
      const over = new Promise<void>((settle) => {
        resolve = settle;
      });
      busy.add(over);
      if (kind === "call") calls.add(over);
      return () => {
        if (!busy.delete(over)) return;
        calls.delete(over);
        resolve();
        if (asked.length > 0) setTimeout(look);
      };
    },
    ask: (one) => void asked.push(one),
    callsSettled: () => (calls.size === 0 ? undefined : Promise.all(calls)),
    get onlyWaits() {
      return onlyWaits;
    },
  };
}
