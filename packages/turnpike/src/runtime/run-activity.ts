import type { Escalation } from "../contracts/index.ts";
import type { EscalationRef } from "../kernel/index.ts";

/** An escalation of a turn. */
export interface Asked {
  callId: string;
  escalation: Escalation;
  /** Names the stored escalation, which gets the answer. Absent when it is not stored, and so cannot be answered. */
  reference?: EscalationRef | undefined;
  /** Present when the call waits for an approval, and is made after it. Absent for a call of `service.escalate`. */
  approval?: { tool: string } | undefined;
}

/** The operations of a plugin that have not ended. */
export interface RunActivity {
  /** Adds an operation. Call the returned function when the operation has ended or waits for a person. */
  begin(kind: "call" | "other"): () => void;
  /** Adds an escalation that the run waits for. */
  ask(asked: Asked): void;
  /** Resolves when all calls that are being made now have ended or wait for a person; undefined when there are none. */
  callsSettled(): Promise<unknown> | undefined;
  /** Whether only open escalations are left, so that the run is over. */
  readonly onlyWaits: boolean;
}

/**
 * Calls back when only open escalations are left of a run. A plugin that still has work asks its host for more before the next
 * macrotask. Work outside of its host is not seen, and the next run repeats it.
 */
export function followRun(onOnlyWaits: (asked: readonly Asked[]) => void): RunActivity {
  const asked: Asked[] = [];
  const busy = new Set<Promise<void>>();
  const calls = new Set<Promise<void>>();
  let onlyWaits = false;

  const check = (): void => {
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
        if (asked.length > 0) setTimeout(check);
      };
    },
    ask: (one) => void asked.push(one),
    callsSettled: () => (calls.size === 0 ? undefined : Promise.all(calls)),
    get onlyWaits() {
      return onlyWaits;
    },
  };
}
