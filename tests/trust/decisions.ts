import { createKernel } from "../../packages/turnpike/src/kernel/index.ts";
import { runDifferential } from "../../packages/turnpike/test/differential/differential.ts";
import type { Finding, Suite } from "./suite.ts";

const decisionsPerCase = 20_000;

/** The kernel against the naive authorizer. */
export const decisions: Suite = {
  name: "decisions",
  says: "The kernel and an independent, naive implementation decide the same requests and agree on every one.",
  share: 3,
  async run({ seed, isOver }) {
    const counts = { decisions: 0, allowed: 0, executions: 0, "reasons seen": 0 };
    const reasons = new Set<string>();
    const findings: Finding[] = [];
    for (let at = seed; !isOver(); at += 1) {
      const summary = await runDifferential({ createKernel, seed: at, decisions: decisionsPerCase });
      counts.decisions += summary.decisions;
      counts.allowed += summary.allowed;
      counts.executions += summary.executions;
      for (const reason of summary.reasons.keys()) reasons.add(reason);
      for (const what of summary.disagreements)
        findings.push({ what, repeat: `npm run differential -- --decisions ${decisionsPerCase} --seed ${at}` });
    }
    counts["reasons seen"] = reasons.size;
    return { counts, findings };
  },
};
