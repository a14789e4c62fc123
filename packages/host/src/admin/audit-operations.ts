import { invalid, pageOf, type AdminOperations, type Desk } from "./desk.ts";

/** Reading and verifying the audit trail. */
export function auditOperations({ stores: { audit } }: Desk): AdminOperations<"listAudit" | "verifyAudit"> {
  return {
    async listAudit({ namespaceId, cursor, limit, ...filter }) {
      const before = cursor === undefined ? undefined : sequenceOf(cursor);
      const { items, next } = await pageOf(
        limit,
        (most) => audit.list(namespaceId, { ...filter, before, limit: most }),
        ({ sequence }) => String(sequence),
      );
      return { events: items, ...next };
    },
    async verifyAudit({ namespaceId }) {
      const firstBroken = await audit.verify(namespaceId);
      return { isWhole: firstBroken === undefined, ...(firstBroken !== undefined && { firstBroken }) };
    },
  };
}

function sequenceOf(cursor: string): number {
  if (/^[1-9]\d{0,14}$/.test(cursor)) return Number(cursor);
  throw invalid("/cursor: expected the cursor of the page before.");
}
