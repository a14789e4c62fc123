import type { AccessContext, AuthorizationRequest, JsonObject, ReasonCode } from "../contracts/index.ts";
import type { CompiledGrant, Instant } from "./active.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import { candidates, guardedCandidates } from "./candidates.ts";
import { walkWithBudgets, type ChainVerdict } from "./chain.ts";
import { askPolicy, policyRefusal, type PolicyVerdict } from "./policy.ts";
import type { Permit, EscalationRef } from "./ports.ts";
import { approverOfAnyAct, type Approver } from "./permits.ts";
import { refusalOrder, type Refusal } from "./refusal.ts";
import { peek, type Cost, type Spend, type Taking } from "./spend.ts";
import type { Reserved } from "./budget-store.ts";
import { drawsFrom, exceedsEach, type Draws, type Spends } from "./spending.ts";

/** The result of checking a covering grant. */
interface Finding {
  refusal: Refusal | undefined;
  /** The walk up its delegation chain, if it has one. */
  chain: ChainVerdict | undefined;
  /** What the act takes from its budgets and from those above it. */
  draws: Draws;
  /** What the caller is told of the refusal. */
  details?: JsonObject | undefined;
}

/** A decision, with everything that was checked to reach it. */
export type Decision = { findings: ReadonlyMap<CompiledGrant, Finding>; policy?: PolicyVerdict | undefined } & (
  | {
      kind: "allow";
      grant: CompiledGrant;
      view: AuthorityView;
      permit?: Permit | undefined;
      reserved?: Reserved | undefined;
    }
  | ({ kind: "deny"; reason: Exclude<ReasonCode, "allowed">; metadata?: JsonObject } & Lack)
);

/** What a denial for a missing approval, or a budget that is used up, says. */
interface Lack {
  lacks?: MissingApproval;
  /** What the caller may know about how to get the approval, or about what is left. */
  details?: JsonObject | undefined;
  /** Present when an act needs several permissions, and no single grant carries all that need approval: it cannot be approved. */
  isDivided?: true;
}

/** The approval that a denied act lacks: the grant that would carry the act with it, and the escalation if one is open. */
interface MissingApproval {
  grant: CompiledGrant;
  escalation?: EscalationRef | undefined;
}

/** What a decision is made of. */
export interface DecisionInput {
  ports: Ports;
  view: AuthorityView;
  context: AccessContext;
  request: AuthorizationRequest;
  instant: Instant;
  spend: Spend;
  /** Without it the act is unknown, and an approval of any act on this resource counts. */
  approver?: Approver | undefined;
  /** What the act costs. Without it no grant with budgets carries the act. */
  spends?: Spends | undefined;
  /** The id of a grant whose use and amounts the act took already. */
  paid?: string | undefined;
  signal: AbortSignal;
}

const noFindings: ReadonlyMap<CompiledGrant, Finding> = new Map();

/** A denial without checking any grant. */
export function deny(reason: Exclude<ReasonCode, "allowed">): Decision & { kind: "deny" } {
  return { kind: "deny", reason, findings: noFindings };
}

/** Tries the candidates in order: chain, policy, budgets and uses, and last a person's approval. The first that survives carries the act. */
export function decide(input: DecisionInput): Decision | Promise<Decision> {
  const { view, request, instant } = input;
  const covering = candidates(view, request, instant);
  const decided = decideAtOnce(input, covering);
  if (decided !== undefined) return decided;
  const guarded = guardedCandidates(view, request, instant);
  if (covering.length === 0 && guarded.length === 0) return deny("no_matching_grant");
  return tryEach(input, { covering, guarded });
}

/** Allows without further checks, if the first grant has no conditions and there is no policy; otherwise undefined. */
function decideAtOnce(
  { ports, view }: Pick<DecisionInput, "ports" | "view">,
  [first]: readonly CompiledGrant[],
): Decision | undefined {
  if (first === undefined || ports.policy !== undefined || !isUnconditional(first)) return undefined;
  return { kind: "allow", grant: first, view, findings: noFindings };
}

/** The grants that carry an act by themselves, and those that need a person's approval. */
interface Candidates {
  covering: readonly CompiledGrant[];
  guarded: readonly CompiledGrant[];
}

async function tryEach(input: DecisionInput, { covering, guarded }: Candidates): Promise<Decision> {
  const { ports, spend, signal } = input;
  const seen = openExamination(input);
  for await (const { grant, finding } of examineEach(input, covering, seen)) {
    const taking: Taking =
      finding.refusal === undefined ? await spend.take(ports, costOf(input, grant, finding), signal) : finding;
    seen.findings.set(grant, { ...finding, refusal: taking.refusal, details: taking.details });
    if (taking.refusal === undefined) return allow(input, grant, seen, taking);
  }
  for (const grant of guarded) {
    const found = await findPermit(input, grant, seen, spend.check);
    if (found === undefined) continue;
    const { permit, finding } = found;
    const taking = await spend.take(ports, { ...costOf(input, grant, finding), permit }, signal);
    const { refusal, details } = taking;
    seen.findings.set(grant, { ...finding, refusal, details });
    if (refusal === undefined) return allow(input, grant, seen, { ...taking, permit });
    if (refusal === "approval_required") seen.lacks ??= { grant };
  }
  return denyAll(seen);
}

/** Examines grants in their order. Those that have budgets only above them come last, because a grant without budgets goes first. */
async function* examineEach(
  input: Examined,
  grants: readonly CompiledGrant[],
  seen: Examination,
): AsyncGenerator<{ grant: CompiledGrant; finding: Finding }> {
  const later = [];
  for (const grant of grants) {
    const finding = await examine(input, grant, seen);
    if (finding.draws !== undefined && grant.budgets.length === 0) later.push({ grant, finding });
    else yield { grant, finding };
  }
  yield* later;
}

function costOf({ context, paid }: Examined, grant: CompiledGrant, { draws }: Finding): Cost {
  return { grant, draws, context, isUsed: grant.grant.id === paid };
}

/** A decision that holds if the use, the amounts and the permit that it names can still be taken. An allowed one has no findings. */
export interface Choice {
  decision: Decision;
  use?: CompiledGrant;
  /** A grant that has to have a use left, which is not spent: a person is asked only about what their approval would allow. */
  left?: CompiledGrant;
  draws?: Draws;
  permit?: Permit;
}

/** What the choices of a decision are made of. */
export interface ChoiceInput extends Examined {
  /** Leaves out grants whose uses or budgets are used up. Without it these are mostly not checked here. */
  check?: Spend["check"];
}

/** The possible decisions in order. The first one of which everything can be taken is made; the last one takes nothing. */
export function choose(input: ChoiceInput): Choice[] | Promise<Choice[]> {
  const { view, request, instant } = input;
  const covering = candidates(view, request, instant);
  const decided = decideAtOnce(input, covering);
  if (decided !== undefined) return [{ decision: decided }];
  const guarded = guardedCandidates(view, request, instant);
  if (covering.length === 0 && guarded.length === 0) return [{ decision: deny("no_matching_grant") }];
  return chooseEach(input, { covering, guarded });
}

async function chooseEach(input: ChoiceInput, { covering, guarded }: Candidates): Promise<Choice[]> {
  const { ports, view, check, signal } = input;
  const choices: Choice[] = [];
  const seen = openExamination(input);
  for await (const { grant, finding } of examineEach(input, covering, seen)) {
    const { draws } = finding;
    // If both a use and a budget may be used up, only a check tells which one is.
    const checked = check ?? (grant.maxUses !== undefined && draws !== undefined ? peek.check : undefined);
    if (finding.refusal === undefined && checked !== undefined)
      Object.assign(finding, await checked(ports, costOf(input, grant, finding), signal));
    if (finding.refusal === undefined && draws !== undefined && exceedsEach(draws))
      finding.refusal = "budget_exhausted";
    seen.findings.set(grant, finding);
    if (finding.refusal !== undefined) continue;
    const decision: Decision = { kind: "allow", grant, view, findings: noFindings };
    if (grant.maxUses === undefined && draws === undefined) return [...choices, { decision }];
    choices.push({ decision, draws, ...(grant.maxUses !== undefined && { use: grant }) });
    // The next choices are made only if something of this grant is used up.
    seen.findings.set(grant, { ...finding, refusal: draws === undefined ? "grant_exhausted" : "budget_exhausted" });
  }
  for (const grant of guarded) {
    const found = await findPermit(input, grant, seen, check ?? peek.check);
    if (found === undefined) continue;
    const { permit, finding } = found;
    const bounded = grant.maxUses === undefined ? {} : { use: grant };
    const { draws } = finding;
    choices.push({ decision: { kind: "allow", grant, view, findings: noFindings, permit }, permit, draws, ...bounded });
    // The next choices are made only if another call has used the permit.
    seen.findings.set(grant, { ...finding, refusal: "approval_required" });
    seen.lacks ??= { grant };
  }
  const bounded = choices.find(({ permit, use }) => permit !== undefined && use !== undefined)?.use;
  if (bounded !== undefined && seen.lacks?.grant === bounded) {
    choices.push({ decision: denyAll(seen), left: bounded });
    seen.findings.set(bounded, { ...(seen.findings.get(bounded) as Finding), refusal: "grant_exhausted" });
    const next = guarded.find((grant) => seen.findings.get(grant)?.refusal === "approval_required");
    seen.lacks = next && { grant: next };
  }
  return [...choices, { decision: denyAll(seen) }];
}

/** What was found so far. */
interface Examination {
  findings: Map<CompiledGrant, Finding>;
  policy: PolicyVerdict | undefined;
  lacks: MissingApproval | undefined;
  approver: Approver | undefined;
}

function openExamination({ approver }: Pick<DecisionInput, "approver">): Examination {
  return { findings: new Map(), policy: undefined, lacks: undefined, approver };
}

/** What a grant is examined for. */
type Examined = Omit<DecisionInput, "spend">;

/** Checks a covering grant's delegation chain, the host's policy, and whether the act names its cost, but not what is left. */
async function examine(
  { ports, instant, request, context, spends, paid, signal }: Examined,
  grant: CompiledGrant,
  seen: Examination,
): Promise<Finding> {
  const walk = grant.grant.parentId === undefined ? undefined : await walkWithBudgets(ports, grant, instant, signal);
  const { verdict: chain, budgets } = walk ?? { verdict: undefined, budgets: grant.budgets };
  const broken = chainRefusal(chain);
  if (broken !== undefined) return { chain, draws: undefined, refusal: broken };
  seen.policy ??= askPolicy(ports, request, context);
  const refusal = policyRefusal(seen.policy);
  if (refusal !== undefined || grant.grant.id === paid) return { chain, draws: undefined, refusal };
  return { chain, draws: undefined, refusal: undefined, ...drawsFrom(ports, budgets, spends) };
}

/** Finds the act's permit under a grant that needs one; undefined when the grant cannot carry the act, with the reason in `seen`. */
async function findPermit(
  input: Examined,
  grant: CompiledGrant,
  seen: Examination,
  check: Spend["check"],
): Promise<{ permit: Permit; finding: Finding } | undefined> {
  const { ports, context, request, signal } = input;
  const finding = await examine(input, grant, seen);
  // A person is asked only about an act that could happen with the approval.
  if (finding.refusal === undefined) Object.assign(finding, await check(ports, costOf(input, grant, finding), signal));
  const approver = (seen.approver ??= approverOfAnyAct(ports, context, request, signal));
  const approval = finding.refusal === undefined ? await approver.approve(grant) : undefined;
  if (approval?.kind === "permitted") return { permit: approval.permit, finding };
  if (approval?.refusal === "approval_required") seen.lacks ??= { grant, escalation: approval.escalation };
  seen.findings.set(grant, { ...finding, refusal: finding.refusal ?? approval?.refusal });
  return undefined;
}

function allow(
  { view }: Pick<DecisionInput, "view">,
  grant: CompiledGrant,
  { findings, policy }: Examination,
  { permit, reserved }: { permit?: Permit; reserved?: Reserved | undefined },
): Decision {
  return { kind: "allow", grant, view, findings, policy, ...(permit && { permit }), ...(reserved && { reserved }) };
}

/** The denial of an act that no grant carries. */
function denyAll({ findings, policy, lacks }: Examination): Decision {
  const all = [...findings.values()];
  const reason = refusalOrder.find((one) => all.some(({ refusal }) => refusal === one)) ?? "no_matching_grant";
  const metadata = reason === "host_policy_denied" && policy?.kind === "denied" ? policy.metadata : undefined;
  const missing = reason === "approval_required" ? lacks : undefined;
  const details = all.find(({ refusal }) => refusal === reason)?.details;
  return {
    kind: "deny",
    reason,
    findings,
    policy,
    ...(metadata && { metadata }),
    ...(missing && { lacks: missing }),
    ...(details && { details }),
  };
}

function isUnconditional({ grant, maxUses, budgets }: CompiledGrant): boolean {
  return maxUses === undefined && grant.parentId === undefined && budgets.length === 0;
}

/** Why a chain lets its grant carry nothing; undefined when it is valid, or there is none. */
export function chainRefusal(chain: ChainVerdict | undefined): Refusal | undefined {
  if (chain === undefined || chain.kind === "valid") return undefined;
  return chain.kind === "unverified" ? "delegation_chain_unverified" : "delegation_chain_invalid";
}
