import type { StrandHead } from "../ledger/index.ts";
import type { AuditStore } from "./audit-store.ts";
import type { Break } from "./audit-verify.ts";
import { CheckpointError } from "./checkpoint.ts";
import type { Checkpoints } from "./checkpoints.ts";

/** Compares an audit log with every head that was signed for it: how many there are, and what became of one that is missing. */
export async function holdAgainstCheckpoints(
  { audit, checkpoints }: { audit: Pick<AuditStore, "findBreak">; checkpoints: Pick<Checkpoints, "headsOf"> },
  namespaceId: string,
  anchors: readonly StrandHead[],
): Promise<{ count: number; broken?: Break }> {
  let count = 0;
  let broken: Break | undefined;
  try {
    await checkpoints.headsOf(namespaceId, async (heads) => {
      count += heads.filter(({ checkpoint }) => checkpoint !== undefined).length;
      broken ??= await audit.findBreak(namespaceId, heads, anchors);
    });
    return { count, ...(broken && { broken }) };
  } catch (error) {
    if (error instanceof CheckpointError) return { count: 0, broken: { why: error.message } };
    throw error;
  }
}
