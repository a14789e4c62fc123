import { z } from "zod";
import { positive } from "../base/index.ts";
import type { ReplayStore } from "../ledger/index.ts";

export const RetentionSettingsSchema = z.strictObject({
  turnsDays: positive
    .optional()
    .describe("days for which results of turns are kept; replay.keepResultsDays unless set"),
});

interface Settings {
  replay: { keepResultsDays: number; keepReadsHours: number };
  retention: z.infer<typeof RetentionSettingsSchema>;
}

/** One kind of row, and how long it is kept. */
export interface RetentionKind {
  name: string;
  keepMs: number;
  /** Removes rows from before an instant, at most so many, in one short transaction; returns how many. */
  removeSome(before: string, most: number): Promise<number>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Everything that is kept for a time. */
export function retentionKinds({ replay, retention }: Settings, stores: { replay: ReplayStore }): RetentionKind[] {
  const { forgetResults } = stores.replay;
  return [
    {
      name: "results of reads",
      keepMs: replay.keepReadsHours * hourMs,
      removeSome: (before, most) => forgetResults("reads", before, most),
    },
    {
      name: "results of turns",
      keepMs: (retention.turnsDays ?? replay.keepResultsDays) * dayMs,
      removeSome: (before, most) => forgetResults("turns", before, most),
    },
    {
      name: "results",
      keepMs: replay.keepResultsDays * dayMs,
      removeSome: (before, most) => forgetResults("writes", before, most),
    },
  ];
}
