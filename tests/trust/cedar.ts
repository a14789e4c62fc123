import {
  AccessContextSchema,
  AuthorizationRequestSchema,
  GrantSchema,
  type AuthorizationRequest,
  type Grant,
} from "../../packages/turnpike/src/contracts/index.ts";
import { createKernel, type Kernel } from "../../packages/turnpike/src/kernel/index.ts";
import { actions, resourceNamespaces, segments } from "../../packages/turnpike/test/differential/grants.ts";
import { portsOf } from "../../packages/turnpike/test/differential/ports.ts";
import { createWorld, nextStep, type Step, type World } from "../../packages/turnpike/test/differential/worlds.ts";
import type { Random } from "../../packages/turnpike/test/random.ts";
import { grantOfPolicy, policiesOf, questionOf, type CedarQuestion } from "./cedar-policies.ts";
import type { Finding, Outcome, Suite, Trial } from "./suite.ts";

type Decide = (question: CedarQuestion) => { allowed: boolean; reasons: string[] };

interface Engines {
  readonly makeKernel: typeof createKernel;
  readonly openCedar: (policies: Record<string, string>) => Decide;
}

/** Installed beside the module, which only those import who want to use it. */
const cedarModule = new URL("../../checks/oracles/cedar.js", import.meta.url).href;

const questionsPerWorld = 250;

/** The kernel against Cedar, on what both can say: everything but uses, permits, policies of the host and broken ports. */
export const cedar: Suite = cedarSuite(createKernel);

/** The suite for a kernel of any make. */
export function cedarSuite(makeKernel: Engines["makeKernel"]): Suite {
  return {
    name: "cedar",
    says: "The kernel and Cedar, given the grants as policies, allow the same requests, by the same grants.",
    share: 2,
    async run(trial) {
      const { openCedar } = (await import(cedarModule)) as Pick<Engines, "openCedar">;
      return askBoth({ makeKernel, openCedar }, trial);
    },
  };
}

async function askBoth({ makeKernel, openCedar }: Engines, { seed, isOver }: Trial): Promise<Outcome> {
  const counts = { decisions: 0, allowed: 0, "allowed by delegation": 0 };
  const findings: Finding[] = [];
  for (let at = seed; !isOver() && findings.length < 10; at += 1) {
    const { world, steps } = questionsOf(at);
    const kernel = makeKernel(portsOf(world).options);
    const decide = openCedar(policiesOf(world.grants));
    for (const step of steps) {
      const { complaint, matched } = await compare(kernel, decide, world.grants, step);
      counts.decisions += 1;
      counts.allowed += matched ? 1 : 0;
      counts["allowed by delegation"] += matched?.parentId === undefined ? 0 : 1;
      if (complaint === undefined) continue;
      const what = await describe({ makeKernel, openCedar }, world, step);
      findings.push({ what, repeat: `npm run trust -- --only cedar --seed ${at}` });
      break;
    }
  }
  return { counts, findings };
}

/** A world whose every port works, without what Cedar has no word for, and what is asked in it. */
function questionsOf(seed: number): { world: World; steps: Step[] } {
  const healthy = { source: "frozen", find: "works", usage: "counts", policy: "absent", permits: "absent" } as const;
  const { world, random } = createWorld(seed, healthy);
  world.findFaults.clear();
  world.used.clear();
  const grants = world.grants.filter((grant) => GrantSchema.safeParse(grant).success).map(withoutApproval);
  const valid = { ...world, grants };
  const steps = Array.from({ length: questionsPerWorld }, () => {
    const step = nextStep(valid, random);
    // Most steps are made to fit some grant; these are not.
    return random.chance(0.35) ? { ...step, request: anyRequest(random) } : step;
  });
  return { world: valid, steps: steps.filter(fitsContract) };
}

function anyRequest(random: Random): AuthorizationRequest {
  const path = Array.from({ length: random.below(4) }, () => random.pick(segments));
  return { action: random.pick(actions), resource: { namespace: random.pick(resourceNamespaces), path } };
}

/** Cedar decides about anything, also about what no caller may ask. */
function fitsContract({ context, request }: Step): boolean {
  return AccessContextSchema.safeParse(context).success && AuthorizationRequestSchema.safeParse(request).success;
}

function withoutApproval(grant: Grant): Grant {
  const capabilities = grant.capabilities.map(({ resource, actions: allowed, scope }) => {
    return { resource, actions: allowed, scope };
  });
  return { ...grant, capabilities };
}

async function compare(
  kernel: Kernel,
  decide: Decide,
  grants: readonly Grant[],
  { context, request }: Step,
): Promise<{ complaint: string | undefined; matched: Grant | undefined }> {
  const { allowed, reasons } = decide(questionOf(grants, context, request));
  const decision = await kernel.authorize(context, request);
  const carrying = allowed ? reasons.map(grantOfPolicy) : [];
  const agrees = decision.allowed ? carrying.includes(decision.matchedGrantId) : !allowed;
  return {
    matched: grants.find(({ id, namespaceId }) => id === carrying[0] && namespaceId === context.namespaceId),
    complaint: agrees
      ? undefined
      : `cedar ${allowed ? `allowed by ${carrying.join(", ")}` : "denied"}, ` +
        `kernel ${decision.reasonCode} ${decision.matchedGrantId ?? ""}`,
  };
}

/** Leaves out every grant that the disagreement does not need, and prints the rest. */
async function describe({ makeKernel, openCedar }: Engines, world: World, step: Step): Promise<string> {
  const complaintOf = async (grants: Grant[]): Promise<string | undefined> => {
    const kernel = makeKernel(portsOf({ ...world, grants }).options);
    return (await compare(kernel, openCedar(policiesOf(grants)), grants, step)).complaint;
  };
  let smallest = world.grants;
  for (const grant of world.grants) {
    const fewer = smallest.filter((each) => each !== grant);
    if ((await complaintOf(fewer)) !== undefined) smallest = fewer;
  }
  return [
    `world ${world.seed}`,
    ...smallest.map((grant) => JSON.stringify(grant)),
    JSON.stringify({ context: step.context, request: step.request }),
    (await complaintOf(smallest)) ?? "(only after what was asked before in this world)",
  ].join("\n");
}
