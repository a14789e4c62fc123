import type { Step, StepResult } from "../steps.ts";
import type { Thread } from "./thread.ts";

interface Waiting {
  step: Step;
  resolve(result: StepResult | undefined): void;
  reject(error: unknown): void;
}

/** Reads with one statement each. All reads of one tick of the event loop go to the thread in one message. */
export function gatherReads(reader: Thread): (step: Step) => Promise<StepResult> {
  let waiting: Waiting[] = [];
  const send = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    try {
      const results = await reader.connect().run(batch.map(({ step }) => step));
      batch.forEach(({ resolve }, place) => resolve(results[place]));
    } catch (error) {
      // One failing read must not fail the others.
      if (batch.length === 1) batch[0]?.reject(error);
      else for (const one of batch) void readAlone(one);
    }
  };
  const readAlone = async ({ step, resolve, reject }: Waiting): Promise<void> => {
    try {
      const [result] = await reader.connect().run([step]);
      resolve(result);
    } catch (error) {
      reject(error);
    }
  };
  return (step) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(() => void send());
      waiting.push({ step, resolve: (result) => resolve(result ?? { rows: [], changes: [] }), reject });
    });
}
