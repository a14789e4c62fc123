import type { Kernel } from "turnpike/kernel";
import { ServiceHttpError } from "turnpike/http";
import type { AuditStore, Checkpoints } from "../../audit/index.ts";
import type { CredentialStore, Operator } from "../../access/index.ts";
import type { EscalationStore } from "../../escalations/index.ts";
import type { GrantStore } from "../../grants/index.ts";
import type { HostUsageStore } from "../../ledger/index.ts";
import type { NamespaceSettingsStore } from "../../tool-namespaces/index.ts";
import type { AdminInput, AdminOutput, AdminRouteName } from "../../management/index.ts";

/** What operators look at and change. */
export interface AdminStores {
  audit: AuditStore;
  credentials: CredentialStore;
  escalations: EscalationStore;
  grants: GrantStore;
  settings: NamespaceSettingsStore;
  usage: HostUsageStore;
}

/** What operators' operations work with. */
export interface AdminServices {
  stores: AdminStores;
  checkpoints: Checkpoints;
  kernel: Kernel;
  /** The tool namespaces that this host can switch on. */
  toolNamespaces: readonly string[];
  clock: () => Date;
}

/** One operation. Refusals are thrown as a `ServiceHttpError`. */
type AdminOperation<Name extends AdminRouteName> = (
  input: AdminInput<Name>,
  operator: Operator,
) => Promise<AdminOutput<Name>>;

/** Some of the operations, by name. */
export type AdminOperations<Name extends AdminRouteName = AdminRouteName> = { [One in Name]: AdminOperation<One> };

/** There is nothing of this name. */
export function notFound(what: string): ServiceHttpError {
  return new ServiceHttpError(404, "not_found", `There is no ${what}.`);
}

/** Somebody else was first. */
export function conflict(message: string): ServiceHttpError {
  return new ServiceHttpError(409, "conflict", message);
}

/** What was sent cannot be done. */
export function invalid(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}

/** One page of something that is listed by a key: one more is read than shown, to know whether there is another page. */
export async function pageOf<T>(
  limit: number,
  read: (limit: number) => Promise<T[]>,
  keyOf: (item: T) => string,
): Promise<{ items: T[]; next: { cursor?: string } }> {
  const read1 = await read(limit + 1);
  const items = read1.slice(0, limit);
  const last = items.at(-1);
  return { items, next: read1.length > limit && last !== undefined ? { cursor: keyOf(last) } : {} };
}
