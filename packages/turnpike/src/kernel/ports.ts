import type {
  AccessContext,
  Act,
  Amount,
  AuditEvent,
  AuthorizationRequest,
  DiscoveryContext,
  Escalation,
  Grant,
  JsonObject,
  JsonValue,
  MessageEnvelope,
  MessageResult,
  NamespaceUpdate,
  PrincipalRef,
  ResourceOperation,
  ResourceResult,
  ToolCall,
  ToolDescriptor,
  ToolResult,
} from "../contracts/index.ts";

import type { ActStore } from "./act-store.ts";
import type { BudgetStore } from "./budget-store.ts";
import type { DecisionChoice, WriteScope } from "./write-scope.ts";

export type { DecisionChoice, GrantUse, WriteScope } from "./write-scope.ts";

/** Which grants are loaded, and for which call. */
export interface GrantScope {
  namespaceId: string;
  actor: PrincipalRef;
  authority?: PrincipalRef;
  owner: PrincipalRef;
  purpose: string;
  now: string;
  traceId: string;
}

/** Grants with a version. Scopes with the same names get the same grants while the version is the same. */
export interface VersionedGrants {
  /** Changes whenever a grant of the scope is issued, changed or revoked. */
  version: string;
  grants: readonly Grant[];
}

/**
 * Where grants come from. A frozen array must never change: the kernel reads the same array no more than twice, and does not await
 * the same promise of it again. Grants with a version are read once for each version.
 */
export interface GrantSource<Answer extends readonly Grant[] | VersionedGrants = readonly Grant[] | VersionedGrants> {
  /** Grants `scope.actor` holds in `scope.namespaceId`, issued by `scope.authority` when it is present. Throw on an outage. */
  load(scope: GrantScope, signal: AbortSignal): Promise<Answer>;
  /** One grant by id, for delegation chains; undefined when there is none. Throw on an outage. */
  find?(namespaceId: string, grantId: string, signal: AbortSignal): Promise<Grant | undefined>;
}

/** Counts the uses of bounded grants. */
export interface UsageStore {
  /** How many uses are counted. Throw on an outage. */
  used(namespaceId: string, grantId: string): Promise<number>;
  /** Atomic: counts one use and returns true only while fewer than `maxUses` are counted. Throw on an outage. */
  consume(namespaceId: string, grantId: string, maxUses: number): Promise<boolean>;
}

/** The host's own policy. It can refuse what a grant allows, but cannot allow what no grant allows. */
export interface HostPolicy {
  /** Return undefined to leave the decision as it is, or the reason to refuse it; `metadata` is shown to the caller. */
  narrow(request: AuthorizationRequest, context: AccessContext): { metadata?: JsonObject } | undefined;
}

/** Stores which tool namespaces are switched on. */
export interface ToolNamespaceSettingsStore {
  /**
   * Applies the patch atomically on fresh state and returns the selection now in force. Throw on an outage, and a
   * `KernelError` of code `invalid_request`, changing nothing, when more than 256 namespaces would be on.
   */
  applyUpdate(context: AccessContext, update: NamespaceUpdate, signal: AbortSignal): Promise<readonly string[]>;
}

/** The progress of a call, as its tool reports it. */
export interface ToolProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** One tool. Its methods are called on the object itself. */
export interface ToolHandler {
  /** A frozen descriptor must never change, because it is read once. */
  descriptor: ToolDescriptor;
  /** The arguments as the tool will use them. Throw to refuse them; only a `ToolError`'s message reaches the caller. */
  parse(args: JsonObject): JsonObject;
  /**
   * What this call needs, within `descriptor.requiredCapability`. It may return 1 to 64 requirements, which all have to be covered.
   * Without this method a call needs exactly the required capability. Throw a `ToolError` to deny the call.
   */
  requirement?(context: AccessContext, args: JsonObject): AuthorizationRequest | readonly AuthorizationRequest[];
  /** What this call costs. Without this method, and when it throws, no grant with budgets carries a call. */
  spends?(context: AccessContext, args: JsonObject): readonly Amount[] | undefined;
  /** What a call that succeeded really cost, in units that `spends` named. Without this method it cost what `spends` said. */
  spent?(output: JsonValue): readonly Amount[] | undefined;
  /**
   * Carries the call out; only called after a decision that allows it. `reportProgress` is absent when the caller wants no
   * progress.
   */
  invoke(
    context: AccessContext,
    call: ToolCall,
    signal: AbortSignal,
    reportProgress?: (progress: ToolProgress) => void,
  ): Promise<ToolResult>;
}

/** Tools that depend on the caller, each named `<namespace>.<name>` in one of the declared namespaces. */
export interface ToolProvider {
  id: string;
  namespaces: readonly string[];
  /** How many milliseconds `tools` may take; 5,000 when not set. */
  timeoutMs?: number;
  /** The tools for this context. Throw on an outage; only the provider's namespaces are then unavailable. */
  tools(context: DiscoveryContext, signal: AbortSignal): Promise<readonly ToolHandler[]>;
}

/** Serves the resources of one namespace. */
export interface ResourceProvider {
  namespace: string;
  /** Carries the operation out; only ever called after a decision that allows it. */
  invoke(operation: ResourceOperation, signal: AbortSignal): Promise<ResourceResult>;
}

/** Delivers messages. */
export interface MessageTransport {
  /** Delivers an envelope that was authorized, and says whether it was `accepted` or `delivered`. */
  deliver(context: AccessContext, envelope: MessageEnvelope, signal: AbortSignal): Promise<MessageResult>;
}

/** Stores the escalations that turns ended with until a person answers them. */
export interface EscalationQueue {
  /**
   * Resolves when the escalation is stored, and with `"full"` when the actor has as many open ones as it may have. Throw
   * when it could not be stored: the turn then fails, because its escalation would reach no one. A turn can wait for the answer
   * only if the queue resolves with a reference.
   */
  add(context: AccessContext, escalation: Escalation): Promise<void | "full" | EscalationRef>;
}

/** The id of a stored escalation, and until when it can be answered. */
export interface EscalationRef {
  id: string;
  expiresAt: string;
}

/** An act that needs a person's approval. */
export interface ActToApprove {
  /** The request hash: of tenant, actor, authority, owner, purpose and the act itself. Equal acts have equal hashes. */
  hash: string;
  act: Act;
  /** What the act needs. */
  request: AuthorizationRequest;
  /** The grant that carries it once it is approved. */
  grantId: string;
}

/** The approval of one act under one grant, for one use. It is not a grant, and nothing can be derived from it. */
export interface Permit {
  id: string;
  grantId: string;
  /** Who approved it. */
  approvedBy: readonly string[];
  expiresAt: string;
}

/** The state of the approval of an act. */
export type PermitState =
  /** The escalation is open. */
  | { kind: "asked"; escalation: EscalationRef }
  /** The act was approved, and has not happened since. */
  | { kind: "permitted"; permit: Permit }
  /** The act was denied, or the escalation was not answered in time, and that still counts. */
  | { kind: "refused"; reason: "approval_denied" | "approval_expired" };

/** Stores approvals and denials of single acts. Every method throws on an outage. */
export interface PermitStore {
  /** The latest state of the act of this hash that counts at `now`; undefined when there is nothing. */
  find(namespaceId: string, hash: string, now: string): Promise<PermitState | undefined>;
  /** The permits that are unused and not expired at `context.now`, for any act of this context that needs exactly this request. */
  waiting(context: AccessContext, request: AuthorizationRequest): Promise<readonly Permit[]>;
  /** Atomic: takes the one use of a permit. True for the first caller, and false for every later one. */
  use(namespaceId: string, permitId: string): Promise<boolean>;
  /**
   * Opens an escalation for the act, or returns the one that is open for the same hash, or the last one when its answer counts: it
   * may have been given while this act was decided. A permit counts for its grant alone. `"full"` when the actor has as many open
   * escalations as it may have.
   */
  ask(context: AccessContext, act: ActToApprove): Promise<EscalationRef | "full">;
}

/** Stores the audit log. */
export interface AuditSink {
  /**
   * Resolves when the event is stored. Throw when it is not; the kernel then does nothing that needs it. A sink that supports scopes
   * passes the event to `call.writes`, if there is one.
   */
  record(event: AuditEvent, call?: CallOptions): Promise<void>;
}

/** Takes uses and stores decisions in one step, for a host that has both in one place. */
export interface DecisionLedger {
  /**
   * Stores the event of the first choice of which uses, permit and reservations are all left, takes them in the same step, and
   * resolves with the position of that choice. It takes nothing of the other choices. The last choice needs nothing. Throw when nothing was stored;
   * nothing happens then. With an `OutdatedReadsError` the whole operation rejects, to be tried again. A ledger that supports
   * scopes passes the choices to `call.writes`, if there is one.
   */
  decide(choices: readonly DecisionChoice[], call: CallOptions): Promise<number>;
}

/** Whether the access that a turn was admitted with is still active. A guard can only narrow what was admitted. */
export interface AccessGuard {
  /** What is left of the access now. Throw on an outage; the call is then refused. */
  check(context: AccessContext, signal: AbortSignal): Promise<AccessAnswer>;
}

/** A guard's answer. `stands` is the deprecated name of `isActive`; an access is active when neither of them is false. */
export type AccessAnswer =
  | { isActive: true; stands?: true; enabledToolNamespaces: readonly string[] }
  | { isActive: false; stands?: false }
  | {
      isActive?: undefined;
      /** @deprecated Answer with `isActive`. */
      stands: true;
      enabledToolNamespaces: readonly string[];
    }
  | {
      isActive?: undefined;
      /** @deprecated Answer with `isActive`. */
      stands: false;
    };

/** The port, or the part of one, that failed. */
export interface PortFailure {
  port:
    | "grants"
    | "usage"
    | "budgets"
    | "policy"
    | "tools"
    | "resources"
    | "namespaceSettings"
    | "messages"
    | "escalations"
    | "permits"
    | "acts"
    | "access";
  /** Tells apart several of one kind: a tool's name, a provider's id, a resource namespace or a grant's id. */
  id?: string;
}

/** What a host hands to `createKernel`. */
export interface KernelOptions {
  grants: GrantSource;
  usage?: UsageStore;
  /** Without it a grant with budgets allows nothing. */
  budgets?: BudgetStore;
  policy?: HostPolicy;
  tools?: readonly ToolHandler[];
  toolProviders?: readonly ToolProvider[];
  resources?: readonly ResourceProvider[];
  namespaceSettings?: ToolNamespaceSettingsStore;
  messages?: MessageTransport;
  /** Without it an escalation is only in the turn's result. */
  escalations?: EscalationQueue;
  /** Without it every act that needs approval is denied. */
  permits?: PermitStore;
  /** Without it there are no acts whose effects happen elsewhere. */
  acts?: ActStore;
  /** Asked before each call of a turn. Without it, what was admitted stays active until the turn ends. */
  access?: AccessGuard;
  /** A sink, or `"none"` to have no audit log. */
  audit: AuditSink | "none";
  /** Replaces `usage.consume` and `audit.record` for decisions about effects, for a host that can do both in one step. */
  ledger?: DecisionLedger;
  /** How many milliseconds a tool, a resource provider or a message transport may take for one call; 120,000 when not set. */
  toolTimeoutMs?: number;
  /** How many bytes the JSON of one of their answers may have; 1,048,576 when not set. */
  maxToolOutputBytes?: number;
  /** Gets the real error of a port that failed; callers only ever see a code. */
  onPortError?(error: unknown, failure: PortFailure): void;
  /** Gets the error of a sink that refused an event: a decision, which then has no effect, or an outcome. */
  onAuditError?(error: unknown, event: AuditEvent): void;
}

/** The last argument of every operation. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  /**
   * Called right before a tool, a provider or a transport is called, whose effect may have happened from then on. `read` means a
   * tool that declares that it only reads.
   */
  onEffect?: ((effect: "read" | "write") => void) | undefined;
  /** Called with what a tool reports while it runs. The kernel does not wait for it, and stores nothing of it. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** A value for the host's own layers around the operations. It is passed on unchanged. */
  host?: unknown;
  /** The scope in which the call writes, if a layer wants to write something together with it. `ledger` and `audit` get it. */
  writes?: WriteScope | undefined;
}
