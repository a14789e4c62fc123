import type {
  AccessContext,
  Act,
  AuditEvent,
  AuthorizationRequest,
  DiscoveryContext,
  Escalation,
  Grant,
  JsonObject,
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

/** Whose grants are asked for, and on which occasion. */
export interface GrantScope {
  namespaceId: string;
  actor: PrincipalRef;
  authority?: PrincipalRef;
  owner: PrincipalRef;
  purpose: string;
  now: string;
  traceId: string;
}

/** Grants with a version: whatever else a scope of the same names is answered under that version, its grants are these. */
export interface VersionedGrants {
  /** Changes whenever a grant of the scope is issued, changed or revoked. */
  version: string;
  grants: readonly Grant[];
}

/**
 * Where grants come from. A frozen array is a promise that it never changes: one that comes again is read no more than twice, and
 * a source that answers with the same promise of it is not waited for again. Grants with a version are read once a version.
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

/** The host's own last word. It can refuse what a grant allows and never allow what no grant does. */
export interface HostPolicy {
  /** Return undefined to keep the decision, or the reason to refuse it; `metadata` is shown to the caller. */
  narrow(request: AuthorizationRequest, context: AccessContext): { metadata?: JsonObject } | undefined;
}

/** Keeps which tool namespaces are switched on. */
export interface ToolNamespaceSettingsStore {
  /**
   * Applies the patch atomically on fresh state and returns the selection now in force. Throw on an outage, and a
   * `KernelError` of code `invalid_request`, changing nothing, when more than 256 namespaces would be on.
   */
  applyUpdate(context: AccessContext, update: NamespaceUpdate, signal: AbortSignal): Promise<readonly string[]>;
}

/** How far a call has come, as its tool says. */
export interface ToolProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** One tool. Its methods are called on the object itself. */
export interface ToolHandler {
  /** A frozen one is a promise that it never changes: it is read once. */
  descriptor: ToolDescriptor;
  /** The arguments as the tool will use them. Throw to refuse them; only a `ToolError`'s message reaches the caller. */
  parse(args: JsonObject): JsonObject;
  /**
   * What this call needs, within `descriptor.requiredCapability`; absent: exactly that. Of 1 to 64 requirements each has to
   * be covered. Throw a `ToolError` to deny the call.
   */
  requirement?(context: AccessContext, args: JsonObject): AuthorizationRequest | readonly AuthorizationRequest[];
  /**
   * Carries the call out; only ever called after a decision that allows it. What it reports is for whoever waits;
   * `reportProgress` is absent when nobody wants to know.
   */
  invoke(
    context: AccessContext,
    call: ToolCall,
    signal: AbortSignal,
    reportProgress?: (progress: ToolProgress) => void,
  ): Promise<ToolResult>;
}

/** Tools that depend on who asks, each named `<namespace>.<name>` in one of the declared namespaces. */
export interface ToolProvider {
  id: string;
  namespaces: readonly string[];
  /** How long it may take to say its tools; 5,000 when not set. */
  timeoutMs?: number;
  /** The tools for this context. Throw on an outage; the provider's namespaces are then unavailable, nothing else. */
  tools(context: DiscoveryContext, signal: AbortSignal): Promise<readonly ToolHandler[]>;
}

/** Everything behind one resource namespace. */
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

/** Keeps the escalations that turns ended with until somebody answers them. */
export interface EscalationQueue {
  /**
   * Resolves when the escalation is kept, and with `"full"` when the actor has as many open ones as it may have. Throw
   * when it could not be kept: the turn then fails instead of asking nobody. A queue that says under which id it is kept
   * can be waited for.
   */
  add(context: AccessContext, escalation: Escalation): Promise<void | "full" | Question>;
}

/** A question to a person, as its queue knows it. */
export interface Question {
  id: string;
  expiresAt: string;
}

/** An act that needs a person's yes. */
export interface ActToApprove {
  /** The request hash: of tenant, actor, authority, owner, purpose and the act itself. Equal acts have equal hashes. */
  hash: string;
  act: Act;
  /** What the act needs. */
  request: AuthorizationRequest;
  /** The grant that carries it once somebody said yes. */
  grantId: string;
}

/** A yes to one act under one grant, for one use. It is no grant: nothing can be derived from it. */
export interface Permit {
  id: string;
  grantId: string;
  /** Who said yes. */
  approvedBy: readonly string[];
  expiresAt: string;
}

/** What people said about an act. */
export type PermitState =
  /** Nobody has answered yet. */
  | { kind: "asked"; question: Question }
  /** Somebody said yes, and the act has not happened since. */
  | { kind: "permitted"; permit: Permit }
  /** Somebody said no, or nobody answered in time, and that still counts. */
  | { kind: "refused"; reason: "approval_denied" | "approval_expired" };

/** Keeps what people say about single acts. Every method throws on an outage. */
export interface PermitStore {
  /** What was said last about the act of this hash, as far as it counts at `now`; undefined when there is nothing. */
  find(namespaceId: string, hash: string, now: string): Promise<PermitState | undefined>;
  /** Permits that wait to be used at `context.now`, for any act of the context's that needs exactly this. */
  waiting(context: AccessContext, request: AuthorizationRequest): Promise<readonly Permit[]>;
  /** Atomic: takes the one use of a permit. True for the first who takes it, and for nobody after that. */
  use(namespaceId: string, permitId: string): Promise<boolean>;
  /**
   * Asks for a yes to the act. An act of the same hash that is asked about already is asked about once. `"full"` when the
   * actor has as many open questions as it may have.
   */
  ask(context: AccessContext, act: ActToApprove): Promise<Question | "full">;
}

/** Keeps the audit trail. */
export interface AuditSink {
  /** Resolves when the event is kept. Throw when it is not: the kernel then does nothing that needs it. */
  record(event: AuditEvent, call?: CallOptions): Promise<void>;
}

/** One use of a bounded grant. */
export interface GrantUse {
  namespaceId: string;
  grantId: string;
  maxUses: number;
}

/** One way in which a decision can come out. */
export interface DecisionChoice {
  /** The uses that it takes, each of another grant: it can be chosen only while fewer than `maxUses` are counted of each. */
  uses?: readonly GrantUse[];
  /** The permit that it uses: it can be chosen only while nobody has used it. */
  permit?: { namespaceId: string; id: string };
  /** What the trail says when it is chosen. */
  event: AuditEvent;
}

/** Takes uses and keeps decisions in one step, for a host that has both in one place. */
export interface DecisionLedger {
  /**
   * Keeps the event of the first choice whose uses and permit are all left, takes all of them with it, and resolves with its
   * place; of a choice that is not kept nothing is taken. The last one takes nothing. Throw when nothing was kept: nothing
   * happens then.
   */
  decide(choices: readonly DecisionChoice[], call: CallOptions): Promise<number>;
}

/** Whether the access that a turn was admitted with still stands. It can only shrink what was admitted. */
export interface AccessGuard {
  /** What is left of it now. Throw on an outage: the call is refused. */
  check(
    context: AccessContext,
    signal: AbortSignal,
  ): Promise<{ stands: true; enabledToolNamespaces: readonly string[] } | { stands: false }>;
}

/** The port, or the part of one, that failed. */
export interface PortFailure {
  port:
    | "grants"
    | "usage"
    | "policy"
    | "tools"
    | "resources"
    | "namespaceSettings"
    | "messages"
    | "escalations"
    | "permits"
    | "access";
  /** Which of several: a tool's name, a provider's id, a resource namespace, a grant's id. */
  id?: string;
}

/** What a host hands to `createKernel`. */
export interface KernelOptions {
  grants: GrantSource;
  usage?: UsageStore;
  policy?: HostPolicy;
  tools?: readonly ToolHandler[];
  toolProviders?: readonly ToolProvider[];
  resources?: readonly ResourceProvider[];
  namespaceSettings?: ToolNamespaceSettingsStore;
  messages?: MessageTransport;
  /** Without it an escalation is only in the turn's result. */
  escalations?: EscalationQueue;
  /** Without it nothing happens under a capability that needs approval. */
  permits?: PermitStore;
  /** Asked before each call of a turn. Without it, what was admitted stands until the turn ends. */
  access?: AccessGuard;
  /** A sink, or the written-down choice to keep no trail. */
  audit: AuditSink | "none";
  /** Decides about effects in place of `usage.consume` and `audit.record`, where both are one. */
  ledger?: DecisionLedger;
  /** How long a tool, a resource provider or a message transport may take for one call; 120,000 when not set. */
  toolTimeoutMs?: number;
  /** How many bytes the JSON of what one of them answers may have; 1,048,576 when not set. */
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
   * Told right before a tool, a provider or a transport is called: from then on something may have happened. `read` is a
   * tool that says that it only reads.
   */
  onEffect?: ((effect: "read" | "write") => void) | undefined;
  /** Told what a tool reports while it runs. Nobody waits for it, and nothing is kept. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Whatever a host's own layers around the operations want to know of the request; it is handed on as it is. */
  host?: unknown;
  /** What such a layer wants kept together with the first thing that the call keeps; ports that keep something get it. */
  claim?: unknown;
}
