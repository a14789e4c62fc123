import type { AdminOutput } from "turnpike-host/admin-contract";

type Part = AdminOutput<"verifyAudit">;

/** The progress and the result of the check of a chain. A check that has not ended can be continued from its cursor. */
export type Verification =
  | { kind: "running" | "stopped"; rows: number; cursor?: string | undefined }
  | { kind: "unfinished"; rows: number; cursor?: string | undefined; problem: string }
  | { kind: "whole"; rows: number; checkpoints: number; exported: NonNullable<Part["exported"]> }
  | { kind: "broken"; rows: number; broken: NonNullable<Part["broken"]> };

/** What is needed to continue a check that has not ended. */
export interface VerifiedSoFar {
  rows: number;
  cursor?: string | undefined;
}

/** Checks a chain part by part; `tell` hears of each. It ends at the end, at the first break, or when it is stopped. */
export async function verifyParts(
  read: (cursor: string | undefined) => Promise<Part>,
  { rows, cursor }: VerifiedSoFar,
  signal: AbortSignal,
  tell: (so: Verification) => void,
): Promise<void> {
  tell({ kind: "running", rows, cursor });
  let part: Part;
  try {
    part = await read(cursor);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    if (signal.aborted) return tell({ kind: "stopped", rows, cursor });
    return tell({ kind: "unfinished", rows, cursor, problem });
  }
  const all = rows + part.rows;
  // A break is shown even after the operator stopped the check.
  if (part.broken !== undefined) return tell({ kind: "broken", rows: all, broken: part.broken });
  if (part.cursor !== undefined) {
    const far = { rows: all, cursor: part.cursor };
    return signal.aborted ? tell({ kind: "stopped", ...far }) : verifyParts(read, far, signal, tell);
  }
  if (part.isWhole)
    return tell({ kind: "whole", rows: all, checkpoints: part.checkpoints, exported: part.exported ?? [] });
  tell({ kind: "broken", rows: all, broken: { why: "The host does not say where." } });
}
