import {
  ActRequestSchema,
  type AccessContext,
  type Act,
  type ActRequest,
  type ActState,
  type AuthorizationRequest,
  type ErrorCode,
} from "../contracts/index.ts";
import { accept, canonicalJson, neverAborted, parseInstant, sha256, timestampOf } from "../internal/index.ts";
import { actKey, stateOf } from "./act-state.ts";
import type { ActStore, ActTaken, ActVerdict, NewAct, StoredAct } from "./act-store.ts";
import { recordOutcome, type AuditFacts } from "./audit.ts";
import { acceptRequest, factsOf, useOf, type Gate } from "./authorize.ts";
import { decideEvery, peekEvery, type ActOfSeveral, type Decided, type Requirements } from "./authorize-every.ts";
import { acceptContext } from "./context.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { deny } from "./decide.ts";
import type { EffectOptions } from "./effect.ts";
import { finishAct } from "./finish-act.ts";
import { denialError, errorObject, KernelError } from "./kernel-error.ts";
import { mintAuthorityRequest } from "./required-authority.ts";
import { grantsOf, permitOf, usesOf } from "./requirement-plans.ts";
import { release } from "./spending.ts";
import { isNamedIn, type ToolRegistry } from "./tool-catalog.ts";
import type { WriteScope } from "./write-scope.ts";

/** The outcome of asking for an act: a state that answers the request, or why a repeated request has no answer. */
export type ActBeginning =
  | { kind: "decided" | "replayed"; state: ActState }
  | { kind: "refused"; code: "replay_pending" | "replay_interrupted" | "replay_conflict" };

const defaultLeaseSeconds = 300;

/**
 * The operation `beginAct`. Throws a `KernelError` for a tool that the host offers itself, because its calls are decided by the
 * arguments that it parses, and not by what the caller says that it needs.
 */
export async function beginAct(
  gate: Gate,
  registry: ToolRegistry,
  context: AccessContext,
  request: ActRequest,
  options: EffectOptions,
): Promise<ActBeginning> {
  const { signal } = options;
  signal.throwIfAborted();
  const { acts } = gate.ports;
  if (acts === undefined) throw new KernelError("not_found");
  const trusted = acceptContext(context);
  if (trusted === undefined) return denied(request, "invalid_context");
  const accepted = accept(ActRequestSchema, request);
  if (!accepted.ok) return refuse(gate, trusted, request, "invalid_request", options);
  const wanted = accepted.value;
  if (isOffered(registry, wanted.tool)) throw new KernelError("tool_is_offered");
  if (wanted.traceId !== trusted.traceId) return refuse(gate, trusted, wanted, "trace_mismatch", options);
  const requests = distinctNeeds(trusted, wanted);
  if (requests === undefined) return refuse(gate, trusted, wanted, "invalid_request", options);
  const subject = {
    context: trusted,
    requests,
    facts: { tool: wanted.tool, operationId: wanted.id },
    act: actOf(wanted),
    spends: () => wanted.spends,
  };
  const decideBy = async (way: typeof decideEvery, call: EffectOptions): Promise<Decided> => {
    const view = await gate.view(trusted, signal);
    if (view !== undefined) return way(gate.ports, { ...subject, view }, call);
    const decision = deny("authority_unavailable");
    const facts = (): AuditFacts => factsOf({ ...subject, request: requests[0], view }, decision, undefined);
    await recordOutcome(gate.ports, trusted, facts, signal, call);
    return { kind: "deny", decision };
  };

  if (wanted.shadow === true) return shadowed(wanted, await decideBy(peekEvery("shadow"), options), subject);
  if (wanted.dryRun === true) return decided(wanted, await decideBy(peekEvery("dryRun"), options), subject);
  const { authority, owner, purpose, traceId, executionId } = trusted;
  const act: NewAct = {
    tool: wanted.tool,
    fingerprint: fingerprintOf(trusted, wanted),
    expiresAt: endOfLease(trusted, wanted),
    context: { authority, owner, purpose, traceId, ...(executionId !== undefined && { executionId }) },
  };
  let decision: Decided | undefined;
  const decide = async (writes: WriteScope | undefined): Promise<ActVerdict> => {
    // A decision that is being written cannot be called back, so its end is waited for.
    decision = await decideBy(decideEvery, { ...options, signal: neverAborted(), writes });
    return verdictOf(decision);
  };
  const begun = await acts.begin(actKey(trusted, wanted), act, decide).catch(async (error: unknown) => {
    // A ledger stores a reservation together with the act, or neither.
    const reserved = gate.ports.ledger === undefined && decision?.kind === "allow" ? decision.reserved : undefined;
    if (reserved !== undefined) await release(gate.ports, reserved);
    throw error;
  });
  if (begun.kind === "known") return replayed(wanted, act, begun.act, trusted.now);
  if (decision === undefined) throw new TypeError("The store of acts did not ask for a decision.");
  if (begun.kind === "begun" && signal.aborted) await abandon(gate.ports, acts, trusted, wanted);
  signal.throwIfAborted();
  return decided(wanted, decision, subject, act.expiresAt);
}

/** Gives back what an act took whose caller went before it could be told. Otherwise the act stays taken until the end of its lease. */
async function abandon(
  ports: Ports,
  acts: ActStore,
  context: AccessContext,
  { id, ...scope }: ActRequest,
): Promise<void> {
  const { version, traceId, executionId } = scope;
  const { code, message } = errorObject("request_aborted");
  const error = { code, message, nothingHappened: true as const };
  const outcome = {
    version,
    status: "failed",
    traceId,
    ...(executionId !== undefined && { executionId }),
    error,
  } as const;
  await finishAct(ports, context, id, outcome).catch((thrown: unknown) =>
    reportPortError(ports, thrown, { port: "acts" }),
  );
}

/** True when the tool is the host's own, or its name is in a namespace that a provider of the host serves. */
function isOffered({ fixed, providers }: ToolRegistry, name: string): boolean {
  return fixed.tools.has(name) || providers.some((one) => one.namespaces.some((served) => isNamedIn(name, served)));
}

/** Undefined when something that is needed belongs to another owner. */
function distinctNeeds(context: AccessContext, { needs }: ActRequest): Requirements | undefined {
  const distinct = new Map(needs.map((need) => [canonicalJson(need), need]));
  const accepted = [...distinct.values()].map((need) => acceptRequest(context, need));
  if (!accepted.every((need) => need !== undefined)) return undefined;
  const [first, ...others] = accepted;
  return first && [first, ...others];
}

function actOf({ tool, needs, arguments: args, spends }: ActRequest): () => Act {
  return () => ({
    kind: "act",
    tool,
    needs,
    ...(args !== undefined && { arguments: args }),
    ...(spends !== undefined && { spends }),
  });
}

/** The time of the request is no part of it, and what the id is unique in is part of the key. */
function fingerprintOf({ actor, authority, owner, purpose }: AccessContext, request: ActRequest): string {
  const { requestedAt: _observed, traceId: _trace, executionId: _execution, ...body } = request;
  return sha256(canonicalJson([actor, authority, owner, purpose, body]));
}

function endOfLease({ now }: AccessContext, { leaseSeconds = defaultLeaseSeconds }: ActRequest): string {
  return timestampOf((parseInstant(now) ?? 0) + leaseSeconds * 1000);
}

function verdictOf(decision: Decided): ActVerdict {
  if (decision.kind === "allow") return { kind: "allowed", taken: takenBy(decision) };
  const requestHash = decision.asked?.["requestHash"];
  return { kind: "refused", ...(typeof requestHash === "string" && { requestHash }) };
}

function takenBy({ plan, reserved }: Decided & { kind: "allow" }): ActTaken {
  const uses = usesOf(plan).map(useOf);
  const permit = permitOf(plan)?.permit;
  const namespaceId = plan.grants[0]?.grant.namespaceId ?? "";
  return {
    grants: grantsOf(plan),
    uses,
    ...(permit && { permit: { namespaceId, id: permit.id } }),
    ...(reserved && { reserved }),
  };
}

/** What is said of a decision about an act. */
type Subject = Omit<ActOfSeveral, "view">;

function decided(request: ActRequest, decision: Decided, subject: Subject, expiresAt?: string): ActBeginning {
  return { kind: "decided", state: stateAfter(request, decision, subject, expiresAt) };
}

function stateAfter(
  { id }: ActRequest,
  decision: Decided,
  { context, requests }: Subject,
  expiresAt?: string,
): ActState {
  if (decision.kind === "allow") {
    const lease = expiresAt === undefined ? {} : { expiresAt };
    return { status: "allowed", id, ...lease, grants: grantsOf(decision.plan) };
  }
  const { asked, decision: denial } = decision;
  if (asked !== undefined) return { status: "waiting", id, ...asked };
  const error = denialError(denial);
  if (denial.reason !== "no_matching_grant") return { status: "denied", id, error };
  return { status: "denied", id, error, requiredAuthority: authorityFor(context, requests) };
}

/** Everything that the act needs, so that it says nothing of what exists. */
function authorityFor(context: AccessContext, requests: Requirements): ReturnType<typeof mintAuthorityRequest> {
  const capabilities = requests.map(({ resource, action }: AuthorizationRequest) => ({
    resource,
    actions: [action],
    scope: "exact" as const,
  }));
  return mintAuthorityRequest(context, { capabilities });
}

function shadowed(request: ActRequest, decision: Decided, subject: Subject): ActBeginning {
  const state = stateAfter(request, decision, subject);
  const error = decision.kind === "deny" ? { error: denialError(decision.decision) } : {};
  const grants = state.status === "allowed" ? state.grants : [];
  const status = state.status === "allowed" || state.status === "waiting" ? state.status : "denied";
  return { kind: "decided", state: { status: "allowed", id: request.id, grants, shadow: { status, ...error } } };
}

/** The answer to a request whose id is taken. INVARIANT: an act is handed out once. */
function replayed({ id }: ActRequest, act: NewAct, known: StoredAct, now: string): ActBeginning {
  if (known.fingerprint !== act.fingerprint) return { kind: "refused", code: "replay_conflict" };
  const state = stateOf(id, known, now);
  if (state.status === "allowed") return { kind: "refused", code: "replay_pending" };
  if (state.status === "interrupted") return { kind: "refused", code: "replay_interrupted" };
  return { kind: "replayed", state };
}

function denied({ id }: ActRequest, code: ErrorCode): ActBeginning {
  return { kind: "decided", state: { status: "denied", id, error: errorObject(code) } };
}

/** A refusal before anything was decided. */
async function refuse(
  { ports }: Gate,
  context: AccessContext,
  request: ActRequest,
  code: "invalid_request" | "trace_mismatch",
  options: EffectOptions,
): Promise<ActBeginning> {
  const { tool, id: operationId } = code === "trace_mismatch" ? request : {};
  const named = { ...(tool !== undefined && { tool }), ...(operationId !== undefined && { operationId }) };
  const facts = { type: "authorization.checked", outcome: "denied", reason: code, ...named } as const;
  await recordOutcome(ports, context, () => facts, options.signal, options);
  return denied(request, code);
}
