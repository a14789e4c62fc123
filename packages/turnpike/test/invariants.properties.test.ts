import { expect, test } from "vitest";
import { principalKey, type Grant, type PrincipalRef } from "../src/contracts/index.ts";
import { parseInstant } from "../src/internal/index.ts";
import { findViolationsInSteps, type Counterexample, type Invariant, type Violations } from "../src/kernel/index.ts";
import { timesOf } from "../../../tests/support/size.ts";
import { createRandom, type Random } from "./random.ts";
import { judgeOf, requestsOf, type Carrier, type Request } from "./region-requests.ts";
import { drawWorld, type RegionWorld } from "./region-worlds.ts";

type Acts = { action?: string | undefined; resource: string };

const subjects: [string, ...string[]] = ["human:x", "agent:x", "agent:*", "service:*", "human:*", "group:x"];
const resources: [string, ...string[]] = ["files", "files/a", "files/a/b", "files/a/b/c", "files/b", "notes"];
const at = "2026-01-01T00:00:00.00025Z";

function drawActs(random: Random): Acts {
  const action = random.pick([undefined, "read", "write", "send"]);
  return { ...(action !== undefined && { action }), resource: random.pick(resources) };
}

function drawRule(random: Random, id: string): Invariant {
  const form = random.below(3);
  if (form === 1) return { id, only: { subjects: random.some(subjects), ...drawActs(random) } };
  if (form === 2) return { id, separate: { acts: [drawActs(random), drawActs(random)] } };
  const unless = {
    ...(random.chance(0.4) && { approval: "each" as const }),
    ...(random.chance(0.4) && { purpose: random.pick(["help", "*"]) }),
    ...(random.chance(0.4) && { authority: random.pick(subjects) }),
  };
  return {
    id,
    never: {
      ...(random.chance(0.5) && { subject: random.pick(subjects) }),
      ...drawActs(random),
      ...(Object.keys(unless).length > 0 && { unless }),
    },
  };
}

function violationsOf(grants: readonly Grant[], rules: readonly Invariant[], by?: ReadonlySet<string>): Violations {
  const steps = findViolationsInSteps(grants, rules, { at, by });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** What the rules say of one request, written down once more. */
function isOneOf(patterns: readonly string[], principal: PrincipalRef): boolean {
  return patterns.includes(principalKey(principal)) || patterns.includes(`${principal.kind}:*`);
}

function isAct(request: Request, { action, resource }: Acts): boolean {
  const place = [request.namespace, ...request.path];
  const isThere = resource.split("/").every((step, depth) => place[depth] === step);
  return isThere && (action === undefined || action === request.action);
}

function breaks(request: Request, carriers: readonly Carrier[], { never, only }: Invariant): boolean {
  if (carriers.length === 0) return false;
  if (only !== undefined) return isAct(request, only) && !isOneOf(only.subjects, request.subject);
  if (never === undefined || !isAct(request, never)) return false;
  const { subject, unless } = never;
  if (subject !== undefined && !isOneOf([subject], request.subject)) return false;
  if (unless === undefined) return true;
  const isApproved = carriers.every(({ terms }) => terms.approval === "each");
  return !(
    (unless.approval === undefined || isApproved) &&
    (unless.purpose === undefined || unless.purpose === request.purpose) &&
    (unless.authority === undefined || isOneOf([unless.authority], request.authority))
  );
}

function requestOf({ actor, authority, owner, resource, action, purpose, at: now }: Counterexample): Request {
  return { subject: actor, authority, owner, namespace: resource.namespace, path: resource.path, action, purpose, now };
}

/** Whether requests that grants carry break a rule, alone or together. */
function areBroken(requests: readonly { request: Request; carriers: readonly Carrier[] }[], rule: Invariant): boolean {
  const { separate } = rule;
  if (separate === undefined) return requests.some(({ request, carriers }) => breaks(request, carriers, rule));
  const sides = separate.acts.map(
    (acts) =>
      new Set(
        requests.flatMap(({ request, carriers }) =>
          carriers.length > 0 && isAct(request, acts)
            ? `${principalKey(request.subject)} ${String(parseInstant(request.now))}`
            : [],
        ),
      ),
  );
  return [...(sides[0] ?? [])].some((one) => sides[1]?.has(one));
}

/** The first rule of a world on which the kernel, asked about every request, disagrees. */
async function disagreement(world: RegionWorld, rules: readonly Invariant[]): Promise<string | undefined> {
  const judge = judgeOf(world.after);
  const isLate = (now: string): boolean => (parseInstant(now) ?? Number.NaN) >= (parseInstant(at) ?? Number.NaN);
  const carried: { request: Request; carriers: readonly Carrier[] }[] = [];
  for (const request of requestsOf(world))
    if (isLate(request.now)) carried.push({ request, carriers: await judge(request) });
  const { violations } = violationsOf(world.after, rules);
  for (const rule of rules) {
    const found = violations.filter(({ invariant }) => invariant === rule.id);
    if (found.length === 0 && areBroken(carried, rule)) return JSON.stringify({ missed: rule });
    for (const violation of found) {
      const shown: { request: Request; carriers: Carrier[] }[] = [];
      for (const request of violation.counterexample.map(requestOf))
        shown.push({ request, carriers: await judge(request) });
      const carriers = new Set(shown.flatMap((one) => one.carriers.map(({ id }) => id)));
      const isConfirmed =
        areBroken(shown, rule) &&
        shown.every(({ request }) => isLate(request.now)) &&
        violation.grantIds.every((id) => carriers.has(id));
      if (!isConfirmed) return JSON.stringify({ notConfirmed: rule, violation });
    }
  }
  return undefined;
}

for (let share = 0; share < 5; share += 1) {
  test(`what breaks rules is what an enumeration of all requests finds, and the kernel confirms it (${share + 1})`, async () => {
    const worlds = timesOf(5, 4000);
    for (let number = 0; number < worlds; number += 1) {
      const seed = Number(process.env["TEST_SEED"] ?? 1) * 1_000_000 + share * worlds + number;
      const random = createRandom(seed);
      const world = drawWorld(random);
      const rules = Array.from({ length: 4 }, (_, place) => drawRule(random, `rule-${place}`));
      const found = await disagreement(world, rules);
      expect(found === undefined ? "" : JSON.stringify({ found, seed, world })).toBe("");
    }
  });
}

test("what new grants break is found by checking them alone, where the others break nothing", () => {
  let broken = 0;
  for (let number = 0; number < timesOf(200, 100_000); number += 1) {
    const seed = Number(process.env["TEST_SEED"] ?? 1) * 1_000_000 + number;
    const random = createRandom(seed);
    const { after } = drawWorld(random);
    const rules = Array.from({ length: 4 }, (_, place) => drawRule(random, `rule-${place}`));
    const issued = new Set(after.flatMap(({ id }) => (random.chance(0.4) ? id : [])));
    const older = after.filter(({ id }) => !issued.has(id));
    const brokenBefore = new Set(violationsOf(older, rules).violations.map(({ invariant }) => invariant));
    const unbroken = rules.filter(({ id }) => !brokenBefore.has(id));
    const idsOf = ({ violations }: Violations) => [...new Set(violations.map(({ invariant }) => invariant))];
    const all = idsOf(violationsOf(after, unbroken));
    expect({ seed, broken: idsOf(violationsOf(after, unbroken, issued)) }).toEqual({ seed, broken: all });
    broken += all.length;
  }
  expect(broken).toBeGreaterThan(0);
});
