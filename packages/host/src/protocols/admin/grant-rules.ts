import { ServiceHttpError } from "turnpike/http";
import type { Grant, JsonObject } from "turnpike/contracts";
import { deriveGrant, type Violations } from "turnpike/kernel";
import type { AdminInput } from "../../admin-contract/index.ts";
import { violationText } from "../../display/index.ts";
import { permitPrefix } from "../../ledger/index.ts";
import { checkGrants, ruleText, type CheckedGrant } from "./check-grants.ts";
import { type GrantChange, GrantIdTakenError, InvariantViolatedError, MakerRevokedError } from "../../grants/index.ts";
import {
  conflict,
  forbidden,
  invalid,
  isBefore,
  notFound,
  type AdminServices,
  type AdminStores,
} from "./admin-services.ts";

/** Refuses an id under which uses would be counted as a permit's. */
export function requireOwnId({ id }: Grant, place = ""): void {
  if (id.startsWith(permitPrefix))
    throw invalid(
      `${place}/id: expected an id that does not begin with "permit" and a line break, which permits have.`,
    );
}

/** Refuses a grant with budgets, because this host does not count what is spent yet, so that the grant would allow nothing. */
export function requireNoBudgets({ constraints }: Grant, place = ""): void {
  if (constraints.budgets !== undefined)
    throw invalid(`${place}/constraints/budgets: this host counts no budgets yet, so the grant would allow nothing.`);
}

/**
 * Refuses a grant whose uses would be counted as a permit's, and one that could never be used: with budgets, or with an invalid
 * chain.
 */
export async function requireUsable({ stores, clock }: AdminServices, grant: Grant): Promise<void> {
  requireOwnId(grant);
  requireNoBudgets(grant);
  const now = clock().toISOString();
  for (const at of isBefore(grant.issuedAt, now) ? [grant.issuedAt, now] : [grant.issuedAt]) {
    const [checked] = await checkGrants(stores, [grant], at);
    requireChain(checked);
  }
}

/** A grant that is derived from a stored one. Throws when there is none, or when the grant would be wider. */
export async function deriveChild(
  { stores, clock }: AdminServices,
  { namespaceId, parentId, id, subject, capabilities, constraints }: AdminInput<"deriveGrant">,
): Promise<Grant> {
  const parent = await stores.grants.find(namespaceId, parentId);
  if (parent === undefined) throw notFound("grant of this id to derive from");
  const issuedAt = clock().toISOString();
  const request = { id, subject, capabilities: capabilities ?? parent.capabilities, issuedAt };
  const derived = deriveGrant(parent, constraints === undefined ? request : { ...request, constraints });
  if (!derived.ok) throw invalid(`This cannot be derived: ${ruleText(derived.reason)}`);
  return derived.grant;
}

/** Refuses a grant that was checked and whose chain is invalid. */
export function requireChain(checked: CheckedGrant | undefined, place = ""): void {
  const chain = checked?.chain;
  if (chain?.kind === "invalid")
    throw invalid(`${place}/parentId: this grant would never count: ${ruleText(chain.rule)}`);
  if (chain?.kind !== "valid") throw conflict(`${place}/parentId: one of the grants above this one cannot be read.`);
}

/** 409: a grant of this id was issued before. */
export function idTaken(place = ""): ServiceHttpError {
  return conflict(`${place}/id: expected an id that no grant of this tenant has.`);
}

/** The refusal for a grant that could not be issued. Any other error is returned as it is. */
export function issueRefusal(error: unknown, place = ""): unknown {
  if (error instanceof GrantIdTakenError) return idTaken(place);
  if (error instanceof InvariantViolatedError) return invariantViolated(error.found);
  if (error instanceof MakerRevokedError) return forbidden("Your credential was revoked before this was done.");
  return error;
}

/** How many violations a refusal says in words. */
const maxSaid = 3;

/** 409: grants would break rules. */
export function invariantViolated(found: Violations): ServiceHttpError {
  const said = found.violations.slice(0, maxSaid).map((violation) => violationText(violation));
  const others = found.violations.length > maxSaid ? " There is more than this." : "";
  const message = `Nothing was changed, because a rule about grants would be broken. ${said.join(". ")}.${others}`;
  // A violation is JSON: texts, and lists and objects of them.
  return new ServiceHttpError(409, "invariant_violated", message, { details: { ...found } as unknown as JsonObject });
}

/** Refuses a change that would break rules, before it is made. */
export async function requireUnbroken(
  { stores, clock }: Pick<AdminServices, "stores" | "clock">,
  namespaceId: string,
  change: GrantChange,
): Promise<void> {
  const found = await stores.invariants.preview(namespaceId, change, clock().toISOString());
  if (found.violations.length > 0) throw invariantViolated(found);
}

/** 409: there is nothing left to revoke. */
export function revokedBefore({ revokedAt }: Grant): ServiceHttpError {
  return conflict(`This grant was revoked before${revokedAt === undefined ? "" : `, ${revokedAt}`}.`);
}

/** How many of the grants that become invalid a revocation names. */
const maxNamed = 500;

/** The grants that become invalid when a grant is revoked: the nearest, and whether there are more. */
export async function nameDescendants(
  grants: AdminStores["grants"],
  { namespaceId, id }: Grant,
): Promise<{ descendants: Grant[]; hasMore?: true }> {
  const derived = await grants.descendants(namespaceId, id, maxNamed + 1);
  return { descendants: derived.slice(0, maxNamed), ...(derived.length > maxNamed && { hasMore: true }) };
}
