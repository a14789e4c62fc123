import type { Kernel } from "turnpike/kernel";
import { ServiceHttpError } from "turnpike/http";
import type { AuditStore, Checkpoints } from "../../audit/index.ts";
import type { CredentialStore, Operator } from "../../access/index.ts";
import type { EscalationStore } from "../../escalations/index.ts";
import type { GrantStore } from "../../grants/index.ts";
import type { HostUsageStore } from "../../ledger/index.ts";
import type { McpReviews } from "../../mcp-servers/index.ts";
import type { DeletedTenants } from "../../retention/index.ts";
import type { NamespaceSettingsStore } from "../../tool-namespaces/index.ts";
import type { TurnJournalStore } from "../../turns/index.ts";
import type { AdminInput, AdminOutput, AdminRouteName } from "../../management/index.ts";

/** The stores that operators read and change. */
export interface AdminStores {
  audit: AuditStore;
  credentials: CredentialStore;
  escalations: EscalationStore;
  grants: GrantStore;
  settings: NamespaceSettingsStore;
  usage: HostUsageStore;
  tenants: DeletedTenants;
  turns: Pick<TurnJournalStore, "listAll" | "findBy" | "cancel">;
}

/** What the operators' operations use. */
export interface AdminServices {
  stores: AdminStores;
  checkpoints: Checkpoints;
  kernel: Kernel;
  /** The tool namespaces that this host can switch on. */
  toolNamespaces: readonly string[];
  /** The tools of MCP servers, and accepting them. */
  mcp: McpReviews;
  clock: () => Date;
  /** Goes on with removing what is left of deleted tenants, in the background. */
  removeDeletedTenants(): void;
  /** Goes on at once with turns whose question was answered, or that were cancelled. */
  wakeTurns(): void;
}

/** One operation. Refusals are thrown as a `ServiceHttpError`. */
type AdminOperation<Name extends AdminRouteName> = (
  input: AdminInput<Name>,
  operator: Operator,
) => Promise<AdminOutput<Name>>;

/** Some of the operations, by name. */
export type AdminOperations<Name extends AdminRouteName = AdminRouteName> = { [One in Name]: AdminOperation<One> };

/** 404: there is nothing of this name. */
export function notFound(what: string): ServiceHttpError {
  return new ServiceHttpError(404, "not_found", `There is no ${what}.`);
}

/** 403: it is not for this operator to do. */
export function forbidden(message: string): ServiceHttpError {
  return new ServiceHttpError(403, "permission_denied", message);
}

/** 409: somebody else was first. */
export function conflict(message: string): ServiceHttpError {
  return new ServiceHttpError(409, "conflict", message);
}

/** 400: the request cannot be carried out. */
export function invalid(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}

/**
 * One page of a list that is ordered by a key. One item more is read, to know whether there is another page. When the read
 * looks no further than to a key, the next page begins there, however few were found.
 */
export async function paginate<T>(
  limit: number,
  read: (limit: number) => Promise<T[]>,
  keyOf: (item: T) => string,
  scanEnd?: string,
): Promise<{ items: T[]; next: { cursor?: string } }> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const cursor = found.length > limit && last !== undefined ? keyOf(last) : scanEnd;
  return { items, next: cursor === undefined ? {} : { cursor } };
}
