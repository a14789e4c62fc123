import { ServiceHttpError } from "turnpike/http";
import { type AuditPlace, type Break, CheckpointError, type TrailPart } from "../../audit/index.ts";
import { invalid, notFound, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

type AuditRoute = "listAudit" | "verifyAudit" | "verifyAuditHeads" | "readCheckpoints" | "readAuditKey";

/** Reading and verifying the audit trail. */
export function auditOperations({ stores: { audit }, checkpoints }: AdminServices): AdminOperations<AuditRoute> {
  /** Holds the trail against every head that was signed for it. */
  const holdAgainstCheckpoints = async (namespaceId: string): Promise<{ count: number; broken?: Break }> => {
    let count = 0;
    let broken: Break | undefined;
    try {
      await checkpoints.headsOf(namespaceId, async (heads) => {
        count += heads.filter(({ checkpoint }) => checkpoint !== undefined).length;
        broken ??= await audit.findBreak(namespaceId, heads);
      });
      return { count, ...(broken && { broken }) };
    } catch (error) {
      if (error instanceof CheckpointError) return { count: 0, broken: { why: error.message } };
      throw error;
    }
  };

  return {
    async listAudit({ namespaceId, cursor, limit, ...filter }) {
      const before = cursor === undefined ? undefined : placeOf(cursor);
      const downTo = await audit.findScanEnd(namespaceId, { ...filter, before });
      const { items, next } = await paginate(
        limit,
        (most) => audit.list(namespaceId, { ...filter, before, downTo, limit: most }),
        cursorOf,
        downTo && cursorOf(downTo),
      );
      return { events: items.map(({ strand, sequence, event }) => ({ strand, sequence, event })), ...next };
    },
    async verifyAudit({ namespaceId, rows, cursor }) {
      const behind = cursor === undefined ? undefined : headOf(cursor);
      const { last, ...trail } = await audit.verify(namespaceId, { behind, rows });
      if (last !== undefined)
        return { isWhole: false, ...trail, checkpoints: 0, cursor: `${last.strand}_${last.sequence}_${last.hash}` };
      const held = await holdAgainstCheckpoints(namespaceId);
      const broken = earlier(trail.broken, held.broken);
      if (broken === undefined && held.count === 0 && !(await audit.isKnown(namespaceId)))
        throw notFound("tenant of this name: it has no trail, no grant and no credential");
      return { isWhole: broken === undefined, ...trail, checkpoints: held.count, ...(broken && { broken }) };
    },
    async verifyAuditHeads({ namespaceId, heads }) {
      const broken = await audit.findBreak(namespaceId, heads);
      return { isWhole: broken === undefined, ...(broken && { broken }) };
    },
    async readCheckpoints({ from }) {
      try {
        await checkpoints.write();
        return await checkpoints.copy(from);
      } catch (error) {
        if (!(error instanceof CheckpointError)) throw error;
        throw new ServiceHttpError(503, "audit_unavailable", error.message, { cause: error });
      }
    },
    readAuditKey: () => Promise.resolve({ id: checkpoints.key.id, publicKey: checkpoints.key.pem }),
  };
}

/** The break at the lower row; one without a row is about the checkpoints alone, and comes last. */
function earlier(one: Break | undefined, other: Break | undefined): Break | undefined {
  const row = (found: Break | undefined): number => found?.sequence ?? Number.POSITIVE_INFINITY;
  return row(other) < row(one) ? other : (one ?? other);
}

function headOf(cursor: string): TrailPart["behind"] {
  const [, strand, sequence, hash] = /^(\d{1,9})_(\d{1,15})_([0-9a-f]{64})$/.exec(cursor) ?? [];
  if (hash !== undefined) return { strand: Number(strand), sequence: Number(sequence), hash };
  throw invalid("/cursor: expected the cursor of the part before.");
}

function cursorOf({ at, strand, sequence }: AuditPlace): string {
  return `${at}_${strand}_${sequence}`;
}

function placeOf(cursor: string): AuditPlace {
  const [, at, strand, sequence] = /^(\d{4}-[\dT:.-]{1,40}Z)_(\d{1,9})_(\d{1,15})$/.exec(cursor) ?? [];
  if (at !== undefined) return { at, strand: Number(strand), sequence: Number(sequence) };
  throw invalid("/cursor: expected the cursor of the page before.");
}
