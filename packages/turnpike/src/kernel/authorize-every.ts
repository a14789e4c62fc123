import type { AuthorizationRequest, JsonObject, ReasonCode } from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";
import { ActApproval } from "./approval.ts";
import { auditEvent, record, recordChoice, type AuditFacts } from "./audit.ts";
import { factsOf, useOf, withWhatIsLeft, type DecisionSubject } from "./authorize.ts";
import type { AuthorityView } from "./authority.ts";
import type { Ports } from "./call-port.ts";
import { instantOf } from "./candidates.ts";
import { choose, deny, type Decision } from "./decide.ts";
import { required, type Approver } from "./permits.ts";
import type { CallOptions, DecisionChoice, DecisionLedger } from "./ports.ts";
import {
  drawsOf,
  grantsOf,
  permitOf,
  plansFor,
  usesOf,
  type Plan,
  type Plans,
  type Refused,
  type Requirement,
  type Waiting,
} from "./requirement-plans.ts";
import { checkUse, peek, takePermit, takeUse, type Spend } from "./spend.ts";
import { release, reservationsOf, reserve, reservedUnder, withRelease } from "./spending.ts";
import type { Reserved } from "./budget-store.ts";

/** The requirements of one act, which has more than one. All are different and within the ceiling of its tool. */
export type Requirements = readonly [AuthorizationRequest, ...AuthorizationRequest[]];

/** An act that needs several things. */
export interface ActOfSeveral extends Omit<DecisionSubject, "request" | "view"> {
  requests: Requirements;
  view: AuthorityView;
}

type Call = CallOptions & { signal: AbortSignal };

/** Used for the single requirements, because an approval covers the whole act and is read once for all of them. */
const noApprover: Approver = { approve: () => Promise.resolve(required) };

/** A decision about an act that needs several things: what it takes, or why it is denied. */
export type Decided =
  | { kind: "allow"; plan: Plan; reserved?: Reserved | undefined }
  | {
      kind: "deny";
      decision: Decision & { kind: "deny" };
      /** Present when a person's approval would allow the act: the escalation, if one is open. */
      asked?: JsonObject;
    };

/** Decides for an execution with several requirements, as `decideEvery` does. */
export async function authorizeEvery(ports: Ports, act: ActOfSeveral, call: Call): Promise<Decision> {
  const decided = await decideEvery(ports, act, call);
  if (decided.kind === "deny") return decided.decision;
  const { plan, reserved } = decided;
  return { ...decisionOf(plan, act.view), ...(reserved && { reserved }) };
}

/**
 * Decides for an execution with several requirements. Each has to be covered by a single grant, and different grants may cover
 * different ones. Every bounded grant among them loses one use. All requirements that need approval have to be covered by the same
 * grant, because a permit is for one grant.
 */
export async function decideEvery(ports: Ports, act: ActOfSeveral, call: Call): Promise<Decided> {
  const { plans, approval } = await planEvery(ports, act, call);
  const facts = (outcome: Plan | Refused): AuditFacts => factsAbout(act, outcome, approval);
  const taken =
    ports.ledger === undefined
      ? await takeAndRecord(ports, act, plans, facts, call)
      : await takeInLedger(ports, ports.ledger, { act, plans, facts, approval }, call);
  if (taken === undefined) return { kind: "deny", decision: deny("audit_unavailable") };
  const { outcome, reserved } = taken;
  if (outcome.kind === "allow") return { kind: "allow", plan: outcome, reserved };
  const { decision, request } = outcome;
  if (decision.lacks === undefined)
    return { kind: "deny", decision: await withWhatIsLeft(ports, decision, act.context, call.signal) };
  const answer = await approval.ask(decision, request);
  const details = answer.kind === "deny" && answer.details?.["escalationId"] !== undefined ? answer.details : undefined;
  return { kind: "deny", decision: answer as Decision & { kind: "deny" }, ...(details && { asked: details }) };
}

/**
 * Says what `decideEvery` would decide now. It takes nothing and asks no one; `dryRun` records the decision as one, `shadow` as what
 * it would have been.
 */
export function peekEvery(as: "dryRun" | "shadow"): typeof decideEvery {
  return async (ports, act, call) => {
    const { plans, approval, requirements } = await planEvery(ports, act, call);
    const outcome = plans.plans[0] ?? plans.end;
    const decided = peeked(ports, outcome, approval);
    const facts = (): AuditFacts => {
      const all = factsAbout(act, outcome, approval);
      if (as === "dryRun") return { ...all, metadata: { ...all.metadata, dryRun: true } };
      const shadow = decided.kind === "allow" ? "allowed" : decided.asked === undefined ? "denied" : "waiting";
      const lacking = outcome.kind === "deny" ? lackingBeside(outcome, requirements) : [];
      const metadata = { ...all.metadata, shadow, ...(lacking.length > 0 && { lacking }) };
      return { ...all, outcome: "shadow", metadata };
    };
    if (await record(ports, act.context, facts, call.signal, call)) return decided;
    return { kind: "deny", decision: deny("audit_unavailable") };
  };
}

/** What else the act lacks, besides the requirement that its denial names. */
function lackingBeside(named: Refused, requirements: readonly Requirement[]): JsonObject[] {
  return requirements.flatMap(({ request, choices }) => {
    const denied = choices[0]?.decision;
    if (request === named.request || denied?.kind !== "deny") return [];
    const { namespace, path, owner } = request.resource;
    const resource: JsonObject = { namespace, path: [...path], ...(owner && { owner: { ...owner } }) };
    return [{ action: request.action, resource, reason: denied.reason }];
  });
}

function peeked({ permits }: Ports, outcome: Plan | Refused, { hash }: ActApproval): Decided {
  if (outcome.kind === "allow") return { kind: "allow", plan: outcome };
  const { decision } = outcome;
  if (decision.lacks === undefined || permits === undefined || hash === undefined) return { kind: "deny", decision };
  const { id, expiresAt } = decision.lacks.escalation ?? {};
  const open = id === undefined || expiresAt === undefined ? {} : { escalationId: id, expiresAt };
  return { kind: "deny", decision, asked: { requestHash: hash, ...open } };
}

/** All ways in which the act can be carried now. */
async function planEvery(
  ports: Ports,
  act: ActOfSeveral,
  call: Call,
): Promise<{ plans: Plans; approval: ActApproval; requirements: readonly Requirement[] }> {
  const { context, requests, view, spends } = act;
  const { signal } = call;
  signal.throwIfAborted();
  const [instant, check] = [instantOf(context), checkOnce()];
  const requirements: Requirement[] = [];
  for (const request of requests) {
    const choices = await choose({
      ports,
      view,
      context,
      request,
      instant,
      approver: noApprover,
      signal,
      check,
      spends,
    });
    requirements.push({ request, choices });
  }
  const approval = new ActApproval(ports, { ...act, request: requests[0] }, call);
  return { plans: await plansFor(requirements, approval), approval, requirements };
}

/** Reads once what is left of each grant. */
function checkOnce(): Spend["check"] {
  const seen = new Map<string, ReturnType<Spend["check"]>>();
  return (ports, cost, signal) => {
    const { id } = cost.grant.grant;
    const known = seen.get(id) ?? peek.check(ports, cost, signal);
    seen.set(id, known);
    return known;
  };
}

/** An act, all ways to carry it, and what is recorded of the one that is taken. */
interface ToTake {
  act: ActOfSeveral;
  plans: Plans;
  facts: (outcome: Plan | Refused) => AuditFacts;
  approval: ActApproval;
}

/** What tells that a denied act waits for a person. */
function waitsFor({ decision }: Refused, { hash }: ActApproval): Pick<DecisionChoice, "requestHash"> {
  return decision.lacks === undefined || hash === undefined ? {} : { requestHash: hash };
}

/** Passes all plans to the ledger, which takes the uses of one plan and stores its event in one step. */
async function takeInLedger(
  ports: Ports,
  ledger: DecisionLedger,
  { act, plans: { plans, waiting, end }, facts, approval }: ToTake,
  call: Call,
): Promise<Taken | undefined> {
  const { context } = act;
  const outcomes: (Plan | Waiting | Refused)[] = [...plans, ...waiting, end];
  const choices = outcomes.map((outcome): DecisionChoice => {
    const event = auditEvent(context, facts(outcome));
    if (outcome.kind === "deny")
      return { event, ...waitsFor(outcome, approval), ...("left" in outcome && { left: outcome.left.map(useOf) }) };
    const [uses, draws, permit] = [usesOf(outcome).map(useOf), drawsOf(outcome), permitOf(outcome)?.permit];
    return {
      event,
      ...(uses.length > 0 && { uses }),
      ...(draws && { reservations: reservationsOf(draws) }),
      ...(permit && { permit: { namespaceId: context.namespaceId, id: permit.id } }),
      grants: grantsOf(outcome),
    };
  });
  const place = await recordChoice(ports, ledger, choices, call);
  const [outcome, choice] = place === undefined ? [] : [outcomes[place], choices[place]];
  if (outcome === undefined || choice === undefined) return undefined;
  const draws = outcome.kind === "allow" ? drawsOf(outcome) : undefined;
  return { outcome, ...(draws && { reserved: reservedUnder(choice.event.id, draws) }) };
}

/** What became of the plans, and what is reserved for the one that was taken. */
interface Taken {
  outcome: Plan | Refused;
  reserved?: Reserved;
}

async function takeAndRecord(
  ports: Ports,
  { context, requests }: ActOfSeveral,
  plans: Plans,
  facts: (outcome: Plan | Refused) => AuditFacts,
  call: Call,
): Promise<Taken | undefined> {
  const found = await takeOneByOne(ports, context, plans, call.signal);
  const taken: Taken =
    typeof found === "string" ? { outcome: { kind: "deny", request: requests[0], decision: deny(found) } } : found;
  const { outcome, reserved } = taken;
  return withRelease(ports, reserved, async () => {
    const isRecorded = await record(ports, context, () => facts(outcome), call.signal, call);
    return isRecorded ? taken : undefined;
  });
}

/** Takes the first plan of which everything is left, no use of it twice. Returns a reason when a store does not answer. */
async function takeOneByOne(
  ports: Ports,
  context: ActOfSeveral["context"],
  { plans, waiting, end }: Plans,
  signal: AbortSignal,
): Promise<Taken | Exclude<ReasonCode, "allowed">> {
  const taken = new Set<string>();
  const gone = new Set<string>();
  for (const plan of plans) {
    const draws = drawsOf(plan);
    const reserved = draws && (await reserve(ports, draws, context));
    if (draws !== undefined && reserved === undefined) return "budget_store_unavailable";
    if (reserved === false) continue;
    const result = await withRelease(ports, reserved, () => takeOthers(ports, plan, { taken, gone }, signal));
    if (typeof result === "string") {
      if (reserved !== undefined) await release(ports, reserved);
      return result;
    }
    if (result !== undefined) return { outcome: result, ...(reserved && { reserved }) };
  }
  for (const one of waiting) {
    const refusal = await firstSpent(ports, one, signal);
    if (refusal === undefined) return { outcome: one };
    if (refusal !== "grant_exhausted") return refusal;
  }
  return { outcome: end };
}

/** Takes the permit and the uses of a plan. Undefined when one of them is gone. */
async function takeOthers(
  ports: Ports,
  plan: Plan,
  { taken, gone }: { taken: Set<string>; gone: Set<string> },
  signal: AbortSignal,
): Promise<Plan | Exclude<ReasonCode, "allowed"> | undefined> {
  const others = [...plan.needs].filter(([, { draws }]) => draws === undefined);
  for (const [name, { grant, permit }] of others) {
    if (taken.has(name)) continue;
    if (others.some(([one]) => gone.has(one))) return undefined;
    const refusal =
      permit === undefined ? await takeUse(ports, grant, signal) : await takePermit(ports, grant, permit, signal);
    if (refusal === undefined) taken.add(name);
    else if (refusal === "grant_exhausted" || refusal === "approval_required") gone.add(name);
    else return refusal;
  }
  return others.every(([name]) => taken.has(name)) ? plan : undefined;
}

/** Why a person is not asked: a use that the act would need is gone. */
async function firstSpent(ports: Ports, { left }: Waiting, signal: AbortSignal): ReturnType<typeof checkUse> {
  for (const grant of left) {
    const refusal = await checkUse(ports, grant, signal);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** One event for all requirements. An allowed one names the first and its grant, with the others in the metadata; a denial names the denied one. */
function factsAbout(act: ActOfSeveral, outcome: Plan | Refused, approval: ActApproval): AuditFacts {
  if (outcome.kind === "deny") return factsOf({ ...act, request: outcome.request }, outcome.decision, approval);
  const { requests, view } = act;
  const facts = factsOf({ ...act, request: requests[0] }, decisionOf(outcome, view), approval);
  const [{ action, resource }] = requests;
  const others = requests.map((request, place) => {
    const { namespace, path } = request.resource;
    const { grant } = outcome.grants[place] as CompiledGrant;
    // Those of one tool differ only in their paths.
    const isAlike = request.action === action && namespace === resource.namespace;
    return { ...(!isAlike && { action: request.action, namespace }), path, grantId: grant.id };
  });
  const permit = permitOf(outcome)?.permit;
  return { ...facts, metadata: { ...(permit && approval.usedOf(permit)), others: others.slice(1) } };
}

/** Returns the decision about the first requirement for the whole act. It has the permit only if the permit is for its grant. */
function decisionOf(plan: Plan, view: AuthorityView): Decision {
  const grant = plan.grants[0] as CompiledGrant;
  const used = permitOf(plan);
  const permit = used?.grant.grant.id === grant.grant.id ? used.permit : undefined;
  return { kind: "allow", grant, view, findings: new Map(), ...(permit && { permit }) };
}
