import type { Operator } from "../../access/index.ts";
import type { RouteAccess } from "../../management/index.ts";
import { forbidden } from "./admin-services.ts";

/** Refuses an operator whose role or whose tenant rules a route out, whatever they send. */
export function requireRole({ roles, about }: RouteAccess, { role, tenant }: Operator): void {
  if (!roles.includes(role)) throw forbidden(`This is not for operators with the role ${role}.`);
  if (about === "host" && tenant !== undefined) throw forbidden("This is for operators of all tenants.");
}

/**
 * The input of a route, which is about a tenant of the operator. A list of all tenants becomes one of theirs. Anything about
 * another tenant is refused before it is looked up, so that nobody learns what there is.
 */
export function inputWithin({ about }: RouteAccess, { tenant }: Operator, input: unknown): unknown {
  // The operation looks a credential up, and treats one of another tenant as one that is not there.
  if (tenant === undefined || about === "nothing" || about === "credential") return input;
  const { namespaceId } = input as { namespaceId?: string };
  if (about === "tenants" && namespaceId === undefined) return { ...(input as object), namespaceId: tenant };
  if (namespaceId !== tenant) throw forbidden("You are an operator of another tenant.");
  return input;
}
