import type { AdminOutput } from "turnpike-host/admin-contract";
import type { Bar } from "../../parts/bars.tsx";

type Activity = AdminOutput<"readActivity">;

/** The sums of an hour. */
export function sumsOf(minutes: Activity["minutes"]): { allowed: number; denied: number; failed: number } {
  const sums = { allowed: 0, denied: 0, failed: 0 };
  for (const { allowed, denied, failed } of minutes) {
    sums.allowed += allowed;
    sums.denied += denied;
    sums.failed += failed;
  }
  return sums;
}

/** One bar for each minute, of what is counted in it. */
export function barsOf(minutes: Activity["minutes"], kinds: readonly ("allowed" | "denied" | "failed")[]): Bar[] {
  const tones = { allowed: "good", denied: "bad", failed: "wait" } as const;
  return minutes.map((minute) => ({
    label: `${minute.at.slice(11, 16)} UTC: ${kinds.map((kind) => `${minute[kind]} ${kind}`).join(", ")}`,
    parts: kinds.map((kind) => ({ tone: tones[kind], count: minute[kind] })),
  }));
}

/** When most happened, for those who do not see the picture. */
export function peakText(minutes: Activity["minutes"], kind: "allowed" | "denied" | "failed"): string {
  let most: Activity["minutes"][number] | undefined;
  for (const minute of minutes) if (minute[kind] > (most?.[kind] ?? 0)) most = minute;
  return most === undefined ? "none in any minute" : `most at ${most.at.slice(11, 16)} UTC with ${most[kind]}`;
}

/** With which outcome the audit log has a reason: what could not be done failed, everything else was denied. */
export function outcomeOf(reason: string): "denied" | "failed" {
  return /(^|_)(failed|error|timeout|aborted|unavailable|interrupted|internal)(_|$)/.test(reason) ? "failed" : "denied";
}
