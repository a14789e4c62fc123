import type { Insertable } from "kysely";
import { describeIssues, GrantSchema, parseInstant, principalKey, type Grant } from "turnpike/contracts";
import { columnText, deepFreeze } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";

/** A grant as it is stored. */
export type GrantRow = Insertable<Schema["grants"]>;

/** Throws when the grant does not fit the contract. */
export function rowOf(grant: Grant): GrantRow {
  const checked = GrantSchema.safeParse(grant);
  if (!checked.success)
    throw new TypeError(`The grant does not fit the contract: ${describeIssues(checked.error.issues)}`);
  return { ...keysOf(checked.data), content: JSON.stringify(checked.data) };
}

export function keysOf(grant: Grant): Omit<GrantRow, "content"> {
  const { namespaceId, id, subject, issuer, parentId } = grant;
  return {
    namespace_id: columnText(namespaceId),
    id: columnText(id),
    subject: columnText(principalKey(subject)),
    issuer: columnText(principalKey(issuer)),
    parent_id: parentId === undefined ? null : columnText(parentId),
    ends_at: endText(grant),
  };
}

/** A grant as it is stored, and whether a revocation was acknowledged. A revocation in the future is not marked. */
export function parseStored(content: string): { grant: Grant; isRevoked: boolean } {
  const { revoked: isRevoked = false, ...grant } = JSON.parse(content) as Grant & { revoked?: boolean };
  return { grant: deepFreeze(grant), isRevoked };
}

/** A grant as operators see it. */
export function parseGrant(content: string): Grant {
  return parseStored(content).grant;
}

/** A grant as the kernel sees it. */
export function parseForKernel(content: string): Grant {
  const { grant, isRevoked } = parseStored(content);
  return isRevoked ? asRevoked(grant) : grant;
}

/** A revoked grant as the kernel sees it: it ends at the instant at which it begins, so that no clock finds it live. */
export function asRevoked(grant: Grant): Grant {
  return Object.freeze({ ...grant, revokedAt: grant.issuedAt });
}

/** The content of a grant that is revoked at an instant; undefined when it was revoked by then. */
export function revokedContent(content: string, at: string): string | undefined {
  const { grant, isRevoked } = parseStored(content);
  const isPast = isRevokedAt(grant, at);
  if (isRevoked && isPast) return undefined;
  return JSON.stringify({ ...grant, ...(!isPast && { revokedAt: at }), revoked: true });
}

/** Whether a revocation was acknowledged. */
export function isMarkedRevoked(content: string): boolean {
  return (JSON.parse(content) as { revoked?: boolean }).revoked === true;
}

/** Whether the grant was revoked by then. A revocation in the future can still be moved forward. */
function isRevokedAt({ revokedAt }: Grant, at: string): boolean {
  return revokedAt !== undefined && (parseInstant(revokedAt) ?? 0) <= (parseInstant(at) ?? 0);
}

/** When a grant ends: it expires, or is revoked. */
export function endOf({ constraints, revokedAt }: Grant): number {
  const ends = [constraints.expiresAt, revokedAt].flatMap((time) => (time === undefined ? [] : parseInstant(time)));
  return Math.min(...ends.map((end) => end ?? Infinity), Infinity);
}

/** The same as its column has it. */
export function endText(grant: Grant): string {
  const end = endOf(grant);
  return end < Date.UTC(10_000, 0) ? new Date(end).toISOString() : "never";
}
