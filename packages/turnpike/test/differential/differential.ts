import type { AuthorizationDecision, ResourceResult } from "../../src/contracts/index.ts";
import type { Kernel, KernelOptions } from "../../src/kernel/index.ts";
import { naiveAuthorize, type NaiveDecision } from "./naive-authorizer.ts";
import { portsOf, type WorldPorts } from "./ports.ts";
import { changeWorld, createWorld, nextStep, usageKey, type Step, type World } from "./worlds.ts";

/** What to compare. Another seed means other worlds. */
export interface DifferentialPlan {
  readonly createKernel: (options: KernelOptions) => Kernel;
  readonly seed: number;
  readonly decisions: number;
}

/** What was found; `disagreements` are ready to be printed, and the run stops at the tenth. */
export interface DifferentialSummary {
  decisions: number;
  executions: number;
  allowed: number;
  readonly reasons: Map<string, number>;
  readonly disagreements: string[];
}

const stepsPerWorld = 200;
const worldsAtOnce = 16;

/** Asks the kernel and the naive authorizer the same requests. */
export async function runDifferential({
  createKernel,
  seed,
  decisions,
}: DifferentialPlan): Promise<DifferentialSummary> {
  const summary: DifferentialSummary = {
    decisions: 0,
    executions: 0,
    allowed: 0,
    reasons: new Map(),
    disagreements: [],
  };
  const worlds = Math.ceil(decisions / stepsPerWorld);
  let started = 0;
  const runWorlds = async (): Promise<void> => {
    while (started < worlds && summary.disagreements.length < 10) {
      started += 1;
      await runWorld(createKernel, (Math.imul(seed, 0x9e3779b1) + started) | 0, summary);
    }
  };
  await Promise.all(Array.from({ length: worldsAtOnce }, runWorlds));
  return summary;
}

async function runWorld(
  createKernel: DifferentialPlan["createKernel"],
  worldSeed: number,
  summary: DifferentialSummary,
): Promise<void> {
  const { world, random } = createWorld(worldSeed);
  const ports = portsOf(world);
  const kernel = createKernel(ports.options);
  for (let index = 0; index < stepsPerWorld; index += 1) {
    if (random.chance(0.02)) {
      changeWorld(world, random, index);
      ports.forget();
    }
    const step = nextStep(world, random);
    const before = step.kind === "execute" ? snapshot(world) : world;
    const { expected, complaint } = await compare(kernel, ports, world, step);
    summary.decisions += 1;
    summary.executions += step.kind === "execute" ? 1 : 0;
    summary.allowed += expected.allowed ? 1 : 0;
    summary.reasons.set(expected.reasonCode, (summary.reasons.get(expected.reasonCode) ?? 0) + 1);
    if (complaint === undefined) continue;
    summary.disagreements.push(await describe(createKernel, before, step, complaint));
    return;
  }
}

async function compare(
  kernel: Kernel,
  ports: WorldPorts,
  world: World,
  step: Step,
): Promise<{ expected: NaiveDecision; complaint: string | undefined }> {
  const expected = naiveAuthorize(ports.facts, step.context, step.request);
  ports.effects.reset();
  const actual = await ask(kernel, step);
  const matched = expected.matchedGrant;
  if (step.kind === "execute" && matched?.constraints.maxUses !== undefined) {
    const key = usageKey(matched.namespaceId, matched.id);
    world.used.set(key, (world.used.get(key) ?? 0) + 1);
  }
  const wanted: Observation = {
    allowed: expected.allowed,
    reasonCode: expected.reasonCode,
    matchedGrantId: step.kind === "authorize" ? matched?.id : undefined,
    asksForAuthority:
      step.kind === "authorize" && ["no_matching_grant", "approval_required"].includes(expected.reasonCode),
    policyCalls: world.policy !== "absent" && expected.policyAsked ? 1 : 0,
    operations: step.kind === "execute" && expected.allowed ? 1 : 0,
    auditedGrantId: ports.options.audit === "none" ? undefined : matched?.id,
    used: step.kind === "execute" ? inOrder(world.used) : undefined,
  };
  const found: Observation = {
    allowed: actual.allowed,
    reasonCode: actual.reasonCode,
    matchedGrantId: actual.matchedGrantId,
    asksForAuthority: actual.asksForAuthority,
    policyCalls: ports.effects.policyCalls,
    operations: ports.effects.operations,
    auditedGrantId: ports.effects.auditedGrants.find((grantId) => grantId !== undefined),
    used: step.kind === "execute" || ports.effects.consumptions > 0 ? inOrder(ports.effects.used) : undefined,
  };
  return { expected, complaint: observed.every((key) => wanted[key] === found[key]) ? undefined : tell(wanted, found) };
}

function tell(wanted: Observation, found: Observation): string {
  return observed
    .filter((key) => wanted[key] !== found[key])
    .map((key) => `${key}: naive ${String(wanted[key])}, kernel ${String(found[key])}`)
    .join("\n");
}

/** The answer: what both sides can say of a decision, whichever grant carries it out. */
interface Answer {
  readonly allowed: boolean;
  readonly reasonCode: string;
  readonly matchedGrantId: string | undefined;
  readonly asksForAuthority: boolean;
}

/** The answer and its effects, every field comparable with `===`. */
interface Observation extends Answer {
  readonly policyCalls: number;
  readonly operations: number;
  readonly auditedGrantId: string | undefined;
  /** Every count, unless nothing was consumed by what must not consume. */
  readonly used: string | undefined;
}

const observed = [
  "allowed",
  "reasonCode",
  "matchedGrantId",
  "asksForAuthority",
  "policyCalls",
  "operations",
  "auditedGrantId",
  "used",
] as const satisfies (keyof Observation)[];

function inOrder(used: ReadonlyMap<string, number>): string {
  return Array.from(used, ([key, count]) => `${key}=${count}`)
    .toSorted()
    .join(" ");
}

async function ask(kernel: Kernel, { kind, context, request }: Step): Promise<Answer> {
  if (kind === "authorize") return decisionOf(await kernel.authorize(context, request));
  return outcomeOf(await kernel.invokeResource(context, { operationId: "operation", ...request }));
}

function decisionOf({ allowed, reasonCode, matchedGrantId, requiredAuthority }: AuthorizationDecision): Answer {
  return { allowed, reasonCode, matchedGrantId, asksForAuthority: requiredAuthority !== undefined };
}

function outcomeOf(result: ResourceResult): Answer {
  const unsaid = { matchedGrantId: undefined, asksForAuthority: false };
  if (result.status === "succeeded") return { allowed: true, reasonCode: "allowed", ...unsaid };
  const prefix = result.status === "failed" ? "failed: " : "";
  return { allowed: false, reasonCode: `${prefix}${result.error.code}`, ...unsaid };
}

function snapshot(world: World): World {
  return { ...world, used: new Map(world.used), grants: [...world.grants] };
}

/** Leaves out every grant that the disagreement does not need, and prints the rest. */
async function describe(
  createKernel: DifferentialPlan["createKernel"],
  before: World,
  step: Step,
  complaint: string,
): Promise<string> {
  const complaintOf = async (world: World): Promise<string | undefined> => {
    const fresh = snapshot(world);
    const ports = portsOf(fresh);
    return (await compare(createKernel(ports.options), ports, fresh, step)).complaint;
  };
  let smallest = before;
  let smallestComplaint = await complaintOf(before);
  const isRepeatable = smallestComplaint !== undefined;
  for (const grant of isRepeatable ? before.grants : []) {
    const smaller = { ...smallest, grants: smallest.grants.filter((each) => each !== grant) };
    const found = await complaintOf(smaller);
    if (found === undefined) continue;
    smallest = smaller;
    smallestComplaint = found;
  }
  const { seed, source, find, usage, policy } = smallest;
  return [
    `world ${seed}${isRepeatable ? "" : " (only after what was asked before in it)"}`,
    JSON.stringify({ source, find, usage, policy, findFaults: [...smallest.findFaults], used: [...smallest.used] }),
    ...smallest.grants.map((grant) => JSON.stringify(grant)),
    `${step.kind} ${JSON.stringify({ context: step.context, request: step.request })}`,
    smallestComplaint ?? complaint,
  ].join("\n");
}
