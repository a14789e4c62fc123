import { parseInstant } from "turnpike/contracts";
import type { GrantSource, Kernel } from "turnpike/kernel";
import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import type { AuditStore, Checkpoints } from "../../audit/index.ts";
import type {
  AdmittedOperator,
  Bearer,
  BearerChoice,
  CredentialStore,
  PrincipalStore,
  SessionStore,
} from "../../access/index.ts";
import type { ReportScheduler } from "../../shared/index.ts";
import type { IncomingRequest } from "../../front/index.ts";
import type { EscalationStore } from "../../escalations/index.ts";
import type { GrantStore, InvariantStore } from "../../grants/index.ts";
import type { HostUsageStore, LossStore } from "../../ledger/index.ts";
import type { McpReviews } from "../../mcp-servers/index.ts";
import type { ConnectionStore } from "../../connections/index.ts";
import type { PersonStore } from "../../people/index.ts";
import type { Deliveries } from "../../webhooks/index.ts";
import type { DeletedTenants } from "../../retention/index.ts";
import type { Database, DatabaseCopy } from "../../storage/index.ts";
import type { NamespaceSettingsStore } from "../../tool-namespaces/index.ts";
import type { TurnJournalStore } from "../../turns/index.ts";
import type { LiveTenants } from "../../events/index.ts";
import type {
  AdminCallName,
  AdminFileName,
  AdminInput,
  AdminOutput,
  AdminStreamName,
} from "../../admin-contract/index.ts";

/** The stores that operators read and change. */
export interface AdminStores {
  audit: AuditStore;
  credentials: CredentialStore;
  deliveries: Deliveries;
  escalations: EscalationStore;
  grants: GrantStore;
  invariants: InvariantStore;
  principals: PrincipalStore;
  people: Pick<PersonStore, "find" | "list" | "restore">;
  connections: Pick<ConnectionStore, "list" | "find" | "end" | "endAll">;
  settings: NamespaceSettingsStore;
  usage: HostUsageStore;
  losses: LossStore;
  tenants: DeletedTenants;
  sessions: Pick<SessionStore, "listOpen" | "endAll">;
  turns: Pick<TurnJournalStore, "listAll" | "findBy" | "cancel" | "countOf" | "listHosts" | "listOpenOf">;
}

/** What the operators' operations use. */
export interface AdminServices {
  stores: AdminStores;
  checkpoints: Checkpoints;
  database: Pick<Database, "kind" | "hostId" | "copy">;
  kernel: Kernel;
  /** Decides as the kernel does, on other grants, and lists tools. It writes no audit log and counts no use. */
  readOnlyKernel(grants: GrantSource): Pick<Kernel, "authorize" | "explain" | "listTools">;
  /** The tool namespaces that this host can switch on for an actor of a tenant, without those of servers for other tenants. */
  toolNamespaces(tenant: string): readonly string[];
  /** The tools that a tenant may be offered: those of the host, and those of MCP servers that were accepted. */
  toolNames(tenant: string): Promise<readonly string[]>;
  /** The resource namespaces of a tenant that this host acts on, and what it does there. */
  resourceActions(tenant: string): readonly { namespace: string; actions: readonly string[] }[];
  /** The tools of MCP servers, and accepting them. */
  mcp: McpReviews;
  /** The readers who follow a tenant. */
  live: LiveTenants;
  /** Runs reads that take long. */
  reports: ReportScheduler;
  /** Whether this host is a demo with made-up data. */
  isDemo: boolean;
  clock: () => Date;
  trials: TrialServices;
  /** Starts removing what is left of deleted tenants, in the background. */
  removeDeletedTenants(): void;
  /** Signs what operators have accepted of the losses of the database. */
  settleLosses(): Promise<void>;
  /** Resumes turns at once whose escalation was answered, or that were cancelled. */
  wakeTurns(): void;
}

/** What operators use to try calls as the bearer of a credential. */
interface TrialServices {
  /** The service with every layer that a request with a credential passes. */
  api: Pick<ServiceApi, "invokeTool" | "executeTurn">;
  /** The bearer of a credential of a tenant that is valid now. Throws for any other, and for an operator's. */
  bearerOf(choice: BearerChoice, traceId: string): Promise<Bearer>;
  /** Called with an error of a turn that has begun. */
  onLateError(error: unknown): void;
}

/** One operation. Refusals are thrown as a `ServiceHttpError`. */
type AdminOperation<Name extends AdminCallName> = (
  input: AdminInput<Name>,
  operator: AdmittedOperator,
  incoming: IncomingRequest,
) => Promise<AdminOutput<Name>>;

/** Some of the operations, by name. */
export type AdminOperations<Name extends AdminCallName = AdminCallName> = { [One in Name]: AdminOperation<One> };

/** What a stream knows of its request besides the input. */
export interface StreamRequest {
  /** The id of the last event that the reader has. A browser sends it by itself. */
  lastEventId: string | undefined;
  /** Whether the credential, and the session, behind the request are valid now. */
  isStillAdmitted(): Promise<boolean>;
  /** Aborted when the reader has gone. */
  signal: AbortSignal;
}

/** The operations whose answer is a stream of server-sent events, by name. */
export type AdminStreams = {
  [Name in AdminStreamName]: (
    input: AdminInput<Name>,
    operator: AdmittedOperator,
    request: StreamRequest,
  ) => Promise<ReadableStream<Uint8Array>>;
};

/** The operations whose answer is a file, by name. */
export type AdminFiles = {
  [Name in AdminFileName]: (input: AdminInput<Name>, operator: AdmittedOperator) => Promise<DatabaseCopy>;
};

/** 404: there is nothing of this name. */
export function notFound(what: string): ServiceHttpError {
  return new ServiceHttpError(404, "not_found", `There is no ${what}.`);
}

/** 403: this operator may not do it. */
export function forbidden(message: string): ServiceHttpError {
  return new ServiceHttpError(403, "permission_denied", message);
}

/** 409: another request was first. */
export function conflict(message: string): ServiceHttpError {
  return new ServiceHttpError(409, "conflict", message);
}

/** 400: the request cannot be carried out. */
export function invalid(message: string): ServiceHttpError {
  return new ServiceHttpError(400, "invalid_request", message);
}

/** Whether one instant is before another. */
export function isBefore(one: string, other: string): boolean {
  return (parseInstant(one) ?? 0) < (parseInstant(other) ?? 0);
}

/**
 * One page of a list that is ordered by a key. One more item is read, to know whether there is another page. When the read
 * ends at a key, the next page begins there, however few items were found.
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
