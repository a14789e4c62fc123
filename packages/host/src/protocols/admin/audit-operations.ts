import { canonicalJson } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import { InstantSchema, type AdminInput, type AdminOutput } from "../../admin-contract/index.ts";
import { columnText } from "../../shared/index.ts";
import type { StrandHead } from "../../ledger/index.ts";
import {
  type Anchor,
  AuditExportError,
  type AuditPlace,
  type Break,
  CheckpointError,
  holdAgainstCheckpoints,
  type AuditPart,
  type SignedGap,
} from "../../audit/index.ts";
import { acrossTenants } from "./across-tenants.ts";
import { conflict, invalid, notFound, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

type AuditRoute = "listAudit" | "verifyAudit" | "verifyAuditHeads" | "exportAudit" | "readCheckpoints" | "readAuditKey";

/** Reading and verifying the audit log. */
export function auditOperations(services: AdminServices): AdminOperations<AuditRoute> {
  const { checkpoints, clock } = services;
  const { audit } = services.stores;
  /** Checks an audit log from its anchors on, and again when retention removed rows meanwhile, because those are not missing. */
  const fromAnchors = async <Checked extends { broken: Break | undefined }>(
    namespaceId: string,
    check: (anchors: readonly StrandHead[]) => Promise<Checked>,
  ): Promise<Checked & { anchors: Anchor[] }> => {
    const { anchors, broken: forged } = await audit.readAnchors(namespaceId, checkpoints.key);
    const checked = await check(anchors);
    if (checked.broken !== undefined) {
      const { anchors: later } = await audit.readAnchors(namespaceId, checkpoints.key);
      if (canonicalJson(later) !== canonicalJson(anchors)) return fromAnchors(namespaceId, check);
    }
    return { ...checked, anchors, broken: forged ?? checked.broken };
  };

  return {
    listAudit: acrossTenants(services, "events", async (input: AdminInput<"listAudit"> & { namespaceId: string }) => {
      const { namespaceId, cursor, limit, ...filter } = input;
      const before = cursor === undefined ? undefined : placeOf(cursor);
      const downTo = await audit.findScanEnd(namespaceId, { ...filter, before });
      const { items, next } = await paginate(
        limit,
        (most) => audit.list(namespaceId, { ...filter, before, downTo, limit: most }),
        cursorOf,
        downTo && cursorOf(downTo),
      );
      return { events: items.map(({ strand, sequence, event }) => ({ strand, sequence, event })), ...next };
    }),
    async verifyAudit({ namespaceId, rows, cursor }) {
      const behind = cursor === undefined ? undefined : headOf(cursor);
      const { anchors, verified, held, broken } = await fromAnchors(namespaceId, async (known) => {
        const walked = await audit.verify(namespaceId, { behind, rows, anchors: known });
        const compared =
          walked.last === undefined
            ? await holdAgainstCheckpoints({ audit, checkpoints }, namespaceId, known)
            : { count: 0 };
        return { verified: walked, held: compared, broken: earlier(walked.broken, compared.broken) };
      });
      const { last, ...found } = verified;
      if (last !== undefined)
        return { isWhole: false, ...found, checkpoints: 0, cursor: `${last.strand}_${last.sequence}_${last.hash}` };
      if (broken === undefined && held.count === 0 && !(await audit.isKnown(namespaceId))) throw unknownTenant();
      // A file that cannot be read is reported as the break.
      const said = await checkpoints.restores().catch(() => ({ all: [], gaps: [] }));
      const restores = said.all.map(({ at, checkpoint }) => ({ at, checkpoint }));
      const gaps = gapsOf(said.gaps, namespaceId);
      const exported = anchors.map(({ strand, sequence, hash, until }) => ({ strand, sequence, hash, until }));
      return {
        isWhole: broken === undefined,
        ...found,
        ...(exported.length > 0 && { exported }),
        checkpoints: held.count,
        ...(restores.length > 0 && { restores }),
        ...(gaps.length > 0 && { gaps }),
        ...(broken && { broken }),
      };
    },
    async verifyAuditHeads({ namespaceId, heads }) {
      const { broken } = await fromAnchors(namespaceId, async (known) => ({
        broken: await audit.findBreak(namespaceId, heads, known),
      }));
      return { isWhole: broken === undefined, ...(broken && { broken }) };
    },
    async exportAudit({ namespaceId, before, place }) {
      if (place === undefined && !(await audit.isKnown(namespaceId))) throw unknownTenant();
      try {
        const page =
          place === undefined
            ? await audit.beginExport(namespaceId, checkpoints.key, {
                now: clock(),
                before: before && InstantSchema.parse(before),
              })
            : await audit.continueExport(namespaceId, checkpoints.key, place);
        return { lines: page.lines, ...(page.next && { next: page.next }) };
      } catch (error) {
        if (!(error instanceof AuditExportError)) throw error;
        throw conflict(`The audit log cannot be exported: ${error.message}`);
      }
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

/** The rows that a tenant lost, according to its signed heads. */
function gapsOf(gaps: readonly SignedGap[], namespaceId: string): NonNullable<AdminOutput<"verifyAudit">["gaps"]> {
  const tenant = columnText(namespaceId);
  return gaps.flatMap(({ at, checkpoint, acceptedAt, chains }) =>
    chains
      .filter((chain) => chain.namespaceId === tenant)
      .map(({ strand, now, until }) => {
        const rows = { strand, from: Math.min(now + 1, until), until };
        return { at, checkpoint, ...rows, ...(acceptedAt !== undefined && { acceptedAt }) };
      }),
  );
}

function unknownTenant(): ServiceHttpError {
  return notFound("tenant of this name: it has no audit log, no grant and no credential");
}

/** The break at the lower row. A break without a row is about the checkpoints alone, and comes last. */
function earlier(one: Break | undefined, other: Break | undefined): Break | undefined {
  const row = (found: Break | undefined): number => found?.sequence ?? Number.POSITIVE_INFINITY;
  return row(other) < row(one) ? other : (one ?? other);
}

function headOf(cursor: string): AuditPart["behind"] {
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
