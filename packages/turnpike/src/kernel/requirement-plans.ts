import type { AuthorizationRequest } from "../contracts/index.ts";
import type { CompiledGrant } from "./active.ts";
import type { Choice, Decision } from "./decide.ts";
import type { Approver } from "./permits.ts";
import type { Permit } from "./ports.ts";
import type { Refusal } from "./refusal.ts";
import type { Draws } from "./spending.ts";

/** One requirement, with the possible decisions about it alone. */
export interface Requirement {
  request: AuthorizationRequest;
  choices: readonly Choice[];
}

/** Something that an act uses up: a use of a bounded grant, amounts of the budgets of a grant, or a permit under a grant. */
export interface Need {
  grant: CompiledGrant;
  draws?: Draws;
  permit?: Permit;
}

/** A way to carry all requirements: the grant of each, and everything that they use up together, by name. */
export interface Plan {
  kind: "allow";
  grants: readonly CompiledGrant[];
  needs: ReadonlyMap<string, Need>;
}

/** The first requirement that no grant carries, and why. */
export interface Refused {
  kind: "deny";
  request: AuthorizationRequest;
  decision: Decision & { kind: "deny" };
}

/** A person is asked, because these grants have a use left: no person is asked about what an approval would not allow. */
export interface Waiting extends Refused {
  left: readonly CompiledGrant[];
}

/**
 * Plans in the order in which they are tried: a plan is tried when the ones before it lack a use or permit. When all of them do, and
 * the uses of one that waits are left, a person is asked. The end needs nothing.
 */
export interface Plans {
  plans: readonly Plan[];
  waiting: readonly Waiting[];
  end: Plan | Refused;
}

/** How many plans are extended by further ones. Few uses are taken by other calls between the check and the decision. */
const maxPlans = 16;

/** All ways to carry all requirements, the best first, and the decision when none of them is left. */
export async function plansFor(requirements: readonly Requirement[], approver: Approver): Promise<Plans> {
  const first = await planWithout(new Set(), requirements, approver);
  if (first.kind === "deny" || first.needs.size === 0) return { plans: [], waiting: [], end: first };
  const plans = [{ ...first, gone: new Set<string>() }];
  const waiting = new Map<string, Waiting>();
  for (const plan of plans) {
    if (plans.length >= maxPlans) break;
    for (const name of plan.needs.keys()) {
      const gone = new Set([...plan.gone, name]);
      const next = await planWithout(gone, requirements, approver);
      if (next.kind === "allow") plans.push({ ...next, gone });
      else if ("left" in next) waiting.set(next.left.map((grant) => nameOf(grant)).join(), next);
    }
  }
  const end = await planWithout({ has: () => true }, requirements, approver);
  return { plans, waiting: [...waiting.values()], end };
}

/** The plan that carries all requirements without these uses and permits. */
async function planWithout(
  gone: Pick<ReadonlySet<string>, "has">,
  requirements: readonly Requirement[],
  approver: Approver,
): Promise<Plan | Refused | Waiting> {
  const grants: (CompiledGrant | undefined)[] = [];
  const uses = new Map<string, Need>();
  const waiting: Refused[] = [];
  for (const { request, choices } of requirements) {
    // The last choice needs nothing, so one is always found.
    const { decision, use, draws } = choices.find((one) => !namesOf(one).some((name) => gone.has(name))) as Choice;
    if (decision.kind === "deny" && decision.lacks === undefined) return { kind: "deny", request, decision };
    if (decision.kind === "deny") waiting.push({ kind: "deny", request, decision });
    grants.push(decision.kind === "allow" ? decision.grant : undefined);
    if (use !== undefined) uses.set(nameOf(use), { grant: use });
    if (draws !== undefined && decision.kind === "allow")
      uses.set(nameOfBudget(decision.grant), { grant: decision.grant, draws });
  }
  const [first] = waiting;
  if (first === undefined) return { kind: "allow", grants: grants as CompiledGrant[], needs: uses };

  const { lacks: _each, ...denial } = first.decision;
  let lacks: (typeof first.decision)["lacks"];
  const carriers = carriersOf(waiting);
  if (carriers.length === 0) return { ...first, decision: { ...denial, isDivided: true } };
  for (const { grant, draws } of carriers) {
    if (grant.maxUses !== undefined && gone.has(nameOf(grant))) continue;
    if (draws !== undefined && gone.has(nameOfBudget(grant))) continue;
    const said = await approver.approve(grant);
    if (said.kind === "permitted" && !gone.has(nameOf(grant, said.permit))) {
      const permit: readonly [string, Need] = [nameOf(grant, said.permit), { grant, permit: said.permit }];
      if (grant.maxUses !== undefined) uses.set(nameOf(grant), { grant });
      if (draws !== undefined) uses.set(nameOfBudget(grant), { grant, draws });
      // The permit goes first: a use without it would be spent for nothing.
      return { kind: "allow", grants: grants.map((one) => one ?? grant), needs: new Map([permit, ...uses]) };
    }
    if (said.kind === "lacking" && said.refusal !== "approval_required")
      return { ...first, decision: { ...denial, reason: said.refusal, findings: answered(denial, said.refusal) } };
    lacks ??= { grant, escalation: said.kind === "lacking" ? said.escalation : undefined };
  }
  if (lacks === undefined) {
    const reason = "grant_exhausted";
    return { ...first, decision: { ...denial, reason, findings: answered(denial, reason) } };
  }
  const needed = new Set([...uses.values()].flatMap(({ grant, draws }) => (draws === undefined ? [grant] : [])));
  if (lacks.grant.maxUses !== undefined) needed.add(lacks.grant);
  return { ...first, decision: { ...denial, lacks }, ...(needed.size > 0 && { left: [...needed] }) };
}

/** The grants that would carry all of these requirements with an approval. */
function carriersOf(waiting: readonly Refused[]): { grant: CompiledGrant; draws: Draws }[] {
  const carriers = waiting.map(({ decision }) => {
    const found = [...decision.findings].filter(([, { refusal }]) => refusal === "approval_required");
    return new Map(found.map(([grant, { draws }]) => [grant.grant.id, { grant, draws }]));
  });
  const all = new Map(carriers.flatMap((some) => [...some]));
  return [...all].filter(([id]) => carriers.every((some) => some.has(id))).map(([, grant]) => grant);
}

/** The findings with the refusal that the approval of the act came to. */
function answered({ findings }: Pick<Decision, "findings">, refusal: Refusal): Decision["findings"] {
  const said = [...findings].map(([grant, finding]) => {
    const isAnswered = finding.refusal === "approval_required";
    return [grant, isAnswered ? { ...finding, refusal } : finding] as const;
  });
  return new Map(said);
}

function nameOf({ grant: { id } }: CompiledGrant, permit?: Permit): string {
  return permit === undefined ? `use ${id}` : `permit ${permit.id}`;
}

function nameOfBudget({ grant: { id } }: CompiledGrant): string {
  return `budget ${id}`;
}

function namesOf({ decision, use, draws }: Choice): string[] {
  const budget = draws !== undefined && decision.kind === "allow" ? [nameOfBudget(decision.grant)] : [];
  return use === undefined ? budget : [nameOf(use), ...budget];
}

/** The uses of bounded grants that a plan takes. */
export function usesOf({ needs }: Plan): CompiledGrant[] {
  return [...needs.values()].flatMap(({ grant, permit, draws }) =>
    permit === undefined && draws === undefined ? [grant] : [],
  );
}

/** Everything that a plan takes from budgets; undefined for nothing. */
export function drawsOf({ needs }: Plan): Draws {
  const [first, ...others] = [...needs.values()].flatMap(({ draws }) => draws ?? []);
  return first && [first, ...others];
}

/** The permit that a plan uses. */
export function permitOf({ needs }: Plan): Need | undefined {
  return [...needs.values()].find(({ permit }) => permit !== undefined);
}

/** The ids of the grants of a plan, each once. */
export function grantsOf({ grants }: Plan): string[] {
  return [...new Set(grants.map(({ grant }) => grant.id))];
}
