import type { Operator } from "../../access/index.ts";
import type { RouteAccess } from "../../admin-contract/index.ts";
import { forbidden } from "./admin-services.ts";

/** Refuses an operator whose role or tenant does not allow a route, whatever they send. */
export function requireRole({ roles, about }: RouteAccess, { role, tenant }: Operator): void {
  if (!roles.includes(role)) throw forbidden(`This is not for operators with the role ${role}.`);
  if (about === "host" && tenant !== undefined) throw forbidden("This is for operators of all tenants.");
}

/**
 * Limits the input of a route to the operator's tenant. A list of all tenants becomes a list of theirs. Anything about another
 * tenant is refused before it is looked up, so that the operator does not learn what exists there.
 */
export function inputWithin({ about }: RouteAccess, { tenant }: Operator, input: unknown): unknown {
  // The operation itself treats a credential of another tenant as missing.
  if (tenant === undefined || about === "nothing" || about === "credential") return input;
  const { namespaceId } = input as { namespaceId?: string };
  if (about === "tenants" && namespaceId === undefined) return { ...(input as object), namespaceId: tenant };
  if (namespaceId === undefined) throw forbidden("This is for operators of all tenants. Name your tenant.");
  if (namespaceId !== tenant) throw forbidden("You are an operator of another tenant.");
  return input;
}
