import type { Premises } from "./premises.ts";
import type { Episode, Plan } from "./plan.ts";
import { runWorld } from "./run-world.ts";

/** Other orders of events that are tried for each smaller plan. */
const orders = 4;
/** So many smaller plans are tried at most. */
const maxTries = 150;

/** The smallest plan found in which the same thing still does not hold: fewer episodes, clients, actions and faults. */
export async function shrink(plan: Plan, premises: Premises): Promise<{ plan: Plan; violation: string }> {
  let tries = 0;
  let found = { plan, violation: "" };
  let reason: string | undefined;
  const fails = async (smaller: Plan): Promise<boolean> => {
    for (let order = 0; order < orders && tries < maxTries; order += 1) {
      tries += 1;
      const tried = { ...smaller, order: (smaller.order + order) % 1000 };
      const { violations, counts } = await runWorld(tried, premises);
      const [violation] = violations;
      if (violation === undefined || reasonOf(violation) !== (reason ?? reasonOf(violation))) continue;
      reason = reasonOf(violation);
      // Nothing was done of what comes behind it.
      found = { plan: { ...tried, episodes: tried.episodes.slice(0, counts["worlds"]) }, violation };
      return true;
    }
    return false;
  };
  let isSmaller = await fails(plan);
  while (isSmaller) {
    isSmaller = false;
    for (const smaller of smallerThan(found.plan)) if ((isSmaller = await fails(smaller))) break;
  }
  return found;
}

/** What does not hold, whichever step, tenant and id it is about, and whatever was answered. */
export function reasonOf(violation: string): string {
  const [said = ""] = violation.split(/[{[]/, 1);
  return said.replaceAll(/\S*\d\S*\s?/g, "").trim();
}

/** The plans that are a little smaller, those that are much smaller first. */
function smallerThan(plan: Plan): Plan[] {
  const { episodes } = plan;
  const last = episodes.slice(-1);
  if (episodes.length > 1)
    return [
      { ...plan, episodes: last },
      { ...plan, episodes: episodes.slice(1) },
    ];
  const plans: Plan[] = last.flatMap(smallerEpisodes).map((episode) => ({ ...plan, episodes: [episode] }));
  if (plan.skewMs !== 0) plans.unshift({ ...plan, skewMs: 0 });
  if (plan.isShared) plans.unshift({ ...plan, isShared: false });
  return plans;
}

function smallerEpisodes(episode: Episode): Episode[] {
  const { faults, clients, operators } = episode;
  const withoutFault = (Object.keys(faults) as (keyof typeof faults)[])
    .filter((fault) => faults[fault] > 0)
    .map((fault) => ({ ...episode, faults: { ...faults, [fault]: 0 } }));
  return [
    ...(episode.failsOver ? [{ ...episode, failsOver: false }] : []),
    ...(episode.isUpgraded ? [{ ...episode, isUpgraded: false }] : []),
    ...without(clients).map((fewer) => ({ ...episode, clients: fewer })),
    ...without(operators).map((fewer) => ({ ...episode, operators: fewer })),
    ...withoutFault,
    ...fewerActions(clients).map((fewer) => ({ ...episode, clients: fewer })),
    ...fewerActions(operators).map((fewer) => ({ ...episode, operators: fewer })),
  ];
}

/** All lists with one item less. */
function without<T>(items: readonly T[]): T[][] {
  return items.map((_, place) => items.filter((_item, other) => other !== place));
}

function fewerActions<Who extends { actions: readonly unknown[] }>(all: readonly Who[]): Who[][] {
  return all.flatMap((who, place) =>
    who.actions.length < 2 ? [] : without(who.actions).map((actions) => all.with(place, { ...who, actions })),
  );
}
