import { ServiceHttpError } from "turnpike/http";
import type { PersonAnswers } from "../../admin-contract/index.ts";
import type { AuditPlace } from "../../audit/index.ts";
import type { AdmittedPerson } from "../../people/index.ts";
import type { PersonServices } from "./person-services.ts";

const eventsAtOnce = 50;

/** What a person did, and what was done with their authority, the newest first. */
export async function readOwnLog(
  { stores: { audit } }: PersonServices,
  { namespaceId, principal: concerns }: AdmittedPerson,
  { cursor }: { cursor?: string },
): Promise<PersonAnswers["auditLog"]> {
  const before = cursor === undefined ? undefined : placeOf(cursor);
  const downTo = await audit.findScanEnd(namespaceId, { concerns, before });
  const found = await audit.list(namespaceId, { concerns, before, downTo, limit: eventsAtOnce + 1 });
  const rows = found.slice(0, eventsAtOnce);
  const last = found.length > eventsAtOnce ? rows.at(-1) : downTo;
  return { events: rows.map(({ event }) => event), ...(last && { cursor: textOf(last) }) };
}

function textOf({ at, strand, sequence }: AuditPlace): string {
  return `${at}_${strand}_${sequence}`;
}

function placeOf(cursor: string): AuditPlace {
  const [, at, strand, sequence] = /^([\d:.TZ-]{20,30})_(\d{1,9})_(\d{1,15})$/.exec(cursor) ?? [];
  if (at === undefined) throw new ServiceHttpError(400, "invalid_request", "cursor: expected that of the page before.");
  return { at, strand: Number(strand), sequence: Number(sequence) };
}
