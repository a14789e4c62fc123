import type { AccessContext, AuthorizationRequest, JsonObject, ReasonCode } from "../contracts/index.ts";
import type { CompiledGrant, Instant } from "./active.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import { candidates, guardedCandidates } from "./candidates.ts";
import { walkWithBudgets, type ChainVerdict, type ChainWalk } from "./chain.ts";
import { askPolicy, policyRefusal, type PolicyVerdict } from "./policy.ts";
import type { Permit, EscalationRef } from "./ports.ts";
import { approverOfAnyAct, type Approver } from "./permits.ts";
import { refusalOrder, type Refusal } from "./refusal.ts";
import { peek, type Spend } from "./spend.ts";

/** The result of checking a covering grant. */
interface Finding {
  refusal: Refusal | undefined;
  /** The walk up its delegation chain, if it has one. */
  chain: ChainVerdict | undefined;
}

/** A decision, with everything that was checked to reach it. */
export type Decision = { findings: ReadonlyMap<CompiledGrant, Finding>; policy?: PolicyVerdict | undefined } & (
  | { kind: "allow"; grant: CompiledGrant; view: AuthorityView; permit?: Permit }
  | ({ kind: "deny"; reason: Exclude<ReasonCode, "allowed">; metadata?: JsonObject } & Lack)
);

/** What a denial for a missing approval says. */
interface Lack {
  lacks?: MissingApproval;
  /** What the caller may know about how to get the approval. */
  details?: JsonObject;
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
  signal: AbortSignal;
}

const noFindings: ReadonlyMap<CompiledGrant, Finding> = new Map();

/** A denial without checking any grant. */
export function deny(reason: Exclude<ReasonCode, "allowed">): Decision & { kind: "deny" } {
  return { kind: "deny", reason, findings: noFindings };
}

/** Tries the candidates in order: chain, policy, uses, and last a person's approval. The first that survives carries the act. */
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
  for (const grant of covering) {
    const { chain, refusal: refused } = await examine(input, grant, seen);
    const isSpent = refused === undefined && grant.maxUses !== undefined;
    const refusal = isSpent ? await spend.use(ports, grant, signal) : refused;
    seen.findings.set(grant, { chain, refusal });
    if (refusal === undefined) return allow(input, grant, seen);
  }
  for (const grant of guarded) {
    const found = await findPermit(input, grant, seen, spend.check);
    if (found === undefined) continue;
    // The permit is spent first, because a use that is spent without the permit is lost.
    let refusal = await spend.permit(ports, grant, found.permit, signal);
    if (refusal === undefined && grant.maxUses !== undefined) refusal = await spend.use(ports, grant, signal);
    seen.findings.set(grant, { chain: found.chain, refusal });
    if (refusal === undefined) return allow(input, grant, seen, found.permit);
    if (refusal === "approval_required") seen.lacks ??= { grant };
  }
  return denyAll(seen);
}

/** A decision that holds if the use and the permit that it names can still be spent. An allowed one has no findings. */
export interface Choice {
  decision: Decision;
  use?: CompiledGrant;
  /** A grant that has to have a use left, which is not spent: a person is asked only about what their approval would allow. */
  left?: CompiledGrant;
  permit?: Permit;
}

/** What the choices of a decision are made of. */
export interface ChoiceInput extends Omit<DecisionInput, "spend"> {
  /** Leaves out bounded grants that have no uses left. Without it uses are not checked here. */
  check?: Spend["check"];
}

/** The possible decisions in order. The first one whose use and permit can be spent is made; the last one spends nothing. */
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
  for (const grant of covering) {
    const finding = await examine(input, grant, seen);
    if (finding.refusal === undefined && grant.maxUses !== undefined)
      finding.refusal = await check?.(ports, grant, signal);
    seen.findings.set(grant, finding);
    if (finding.refusal !== undefined) continue;
    const decision: Decision = { kind: "allow", grant, view, findings: noFindings };
    if (grant.maxUses === undefined) return [...choices, { decision }];
    choices.push({ decision, use: grant });
    // The next choices are made only if this grant has no use left.
    seen.findings.set(grant, { ...finding, refusal: "grant_exhausted" });
  }
  for (const grant of guarded) {
    const found = await findPermit(input, grant, seen, check ?? peek.check);
    if (found === undefined) continue;
    const { permit, chain } = found;
    const bounded = grant.maxUses === undefined ? {} : { use: grant };
    choices.push({ decision: { kind: "allow", grant, view, findings: noFindings, permit }, permit, ...bounded });
    // The next choices are made only if another call has used the permit.
    seen.findings.set(grant, { chain, refusal: "approval_required" });
    seen.lacks ??= { grant };
  }
  const bounded = choices.find(({ permit, use }) => permit !== undefined && use !== undefined)?.use;
  if (bounded !== undefined && seen.lacks?.grant === bounded) {
    choices.push({ decision: denyAll(seen), left: bounded });
    seen.findings.set(bounded, { chain: seen.findings.get(bounded)?.chain, refusal: "grant_exhausted" });
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

/** Checks a covering grant's delegation chain and the host's policy, but not uses and permits. */
async function examine(
  { ports, instant, request, context, signal }: Omit<DecisionInput, "spend">,
  grant: CompiledGrant,
  seen: Examination,
): Promise<Finding> {
  const isDerived = grant.grant.parentId !== undefined;
  const walk: Partial<ChainWalk> = isDerived ? await walkWithBudgets(ports, grant, instant, signal) : {};
  const { verdict: chain, budgets = grant.budgets } = walk;
  const refusal = chainRefusal(chain);
  if (refusal !== undefined) return { chain, refusal };
  seen.policy ??= askPolicy(ports, request, context);
  // No port counts what is spent yet, so a grant with budgets carries nothing.
  return {
    chain,
    refusal: policyRefusal(seen.policy) ?? (budgets.length > 0 ? "budget_store_unavailable" : undefined),
  };
}

/** Finds the act's permit under a grant that needs one; undefined when the grant cannot carry the act, with the reason in `seen`. */
async function findPermit(
  input: Omit<DecisionInput, "spend">,
  grant: CompiledGrant,
  seen: Examination,
  check: Spend["check"],
): Promise<{ permit: Permit; chain: ChainVerdict | undefined } | undefined> {
  const { ports, context, request, signal } = input;
  const finding = await examine(input, grant, seen);
  const { chain } = finding;
  let { refusal } = finding;
  // A person is asked only about an act that could happen with the approval.
  if (refusal === undefined && grant.maxUses !== undefined) refusal = await check(ports, grant, signal);
  const approver = (seen.approver ??= approverOfAnyAct(ports, context, request, signal));
  const approval = refusal === undefined ? await approver.approve(grant) : undefined;
  if (approval?.kind === "permitted") return { permit: approval.permit, chain };
  if (approval?.refusal === "approval_required") seen.lacks ??= { grant, escalation: approval.escalation };
  seen.findings.set(grant, { chain, refusal: refusal ?? approval?.refusal });
  return undefined;
}

function allow(
  { view }: Pick<DecisionInput, "view">,
  grant: CompiledGrant,
  { findings, policy }: Examination,
  permit?: Permit,
): Decision {
  return { kind: "allow", grant, view, findings, policy, ...(permit && { permit }) };
}

/** The denial of an act that no grant carries. */
function denyAll({ findings, policy, lacks }: Examination): Decision {
  const reason =
    refusalOrder.find((one) => [...findings.values()].some(({ refusal }) => refusal === one)) ?? "no_matching_grant";
  const metadata = reason === "host_policy_denied" && policy?.kind === "denied" ? policy.metadata : undefined;
  const missing = reason === "approval_required" ? lacks : undefined;
  return { kind: "deny", reason, findings, policy, ...(metadata && { metadata }), ...(missing && { lacks: missing }) };
}

function isUnconditional({ grant, maxUses, budgets }: CompiledGrant): boolean {
  return maxUses === undefined && grant.parentId === undefined && budgets.length === 0;
}

/** Why a chain lets its grant carry nothing; undefined when it is valid, or there is none. */
export function chainRefusal(chain: ChainVerdict | undefined): Refusal | undefined {
  if (chain === undefined || chain.kind === "valid") return undefined;
  return chain.kind === "unverified" ? "delegation_chain_unverified" : "delegation_chain_invalid";
}
