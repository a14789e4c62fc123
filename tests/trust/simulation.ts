import { openPremises } from "./simulation/premises.ts";
import { planOf } from "./simulation/plan.ts";
import { runWorld } from "./simulation/run-world.ts";
import { shrink } from "./simulation/shrink.ts";
import type { Finding, Suite } from "./suite.ts";

/** So many findings are made small, which takes long; a run that has more has one reason for most of them. */
const maxFindings = 5;

/** The whole host, once or twice in one process, on storage that fails, and on a clock and in an order that a seed decides. */
export const simulation: Suite = {
  name: "simulation",
  says:
    "Whatever storage does, and whenever hosts die, stand still or are cut off: what was acknowledged is stored, nothing happens twice " +
    "under one id, no use is counted over its limit, what was revoked stays revoked, every effect has its decision before it, audit logs " +
    "verify, tenants never meet, and turns end or wait. When storage goes back, nothing happens until that is accepted, and " +
    "a host of the version before has nothing under way any more when a newer one changes the storage.",
  share: 5,
  async run({ seed, isOver }) {
    const premises = await openPremises();
    const counts: Record<string, number> = {};
    const findings: Finding[] = [];
    try {
      for (let at = seed; !isOver(); at += 1) {
        const outcome = await runWorld(planOf(at), premises);
        for (const [name, count] of Object.entries(outcome.counts)) counts[name] = (counts[name] ?? 0) + count;
        const [violation] = outcome.violations;
        if (violation === undefined) continue;
        if (findings.length >= maxFindings) break;
        const smallest = await shrink(planOf(at), premises);
        const what = [violation, `and at its smallest: ${smallest.violation}`, JSON.stringify(smallest.plan)].join(
          "\n",
        );
        findings.push({ what, repeat: `npm run trust -- --only simulation --minutes 0.1 --seed ${at}` });
      }
    } finally {
      premises.close();
    }
    return { counts, findings };
  },
};
