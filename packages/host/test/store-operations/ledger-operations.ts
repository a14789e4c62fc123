import type { ActKey, DecisionChoice } from "turnpike/kernel";
import { askAct, officeTime } from "../office.ts";
import { alice, assistant, auditEvent, grant } from "../records.ts";
import type { Stores } from "../../src/compose/stores.ts";
import type { ReplayKey } from "../../src/ledger/replay-store.ts";
import { future, replayKey, signingKey, type Operations, type Run } from "./operation.ts";
import { oneCall, writerOf } from "./turn-operations.ts";
import { approvalOf } from "./escalation-operations.ts";
import { progress } from "../turn-journals.ts";

/** A choice that takes a use of each of two grants and a permit, and what is left when one of them is gone. */
async function choicesIn(stores: Stores, namespaceId: string): Promise<DecisionChoice[]> {
  await stores.grants.issue(grant("grant-1", { namespaceId }));
  const asked = await askAct(stores, namespaceId, {}, { now: officeTime });
  await stores.escalations.approve(approvalOf(asked));
  const uses = ["seeded", "new"].map((grantId) => ({ namespaceId, grantId, maxUses: 9 }));
  const event = auditEvent("allowed", { namespaceId, metadata: { permit: asked.id } });
  return [
    { uses, permit: { namespaceId, id: asked.id }, event },
    { event: auditEvent("denied", { namespaceId, outcome: "denied" }) },
  ];
}

/** Claims a key, and ends the claim. An ending that failed is tried again by the store itself, at the latest when it closes. */
async function ending({ replay }: Stores, key: ReplayKey, end: () => Promise<unknown>): Promise<Run> {
  await replay.begin(key, "one");
  let isTried = false;
  return () => {
    const next = isTried ? replay.close : end;
    isTried = true;
    return next();
  };
}

function actKey(namespaceId: string): ActKey {
  return { namespaceId, actor: assistant, scope: "trace-1", id: "act-1" };
}

/** Begins an act. What failed to be decided is refused, as the kernel has it. */
async function beginAct(
  { acts, decisions }: Stores,
  namespaceId: string,
  choices: readonly DecisionChoice[],
): Promise<unknown> {
  const about = { authority: alice, owner: alice, purpose: "work", traceId: "trace-1" };
  const act = { tool: "send_mail", fingerprint: "one", expiresAt: future, context: about };
  return acts.begin(actKey(namespaceId), act, async (writes) => {
    const place = await decisions.decide(choices, { writes }).catch(() => -1);
    const isTaken = place === 0 && choices[0]?.event.outcome !== "denied";
    if (!isTaken) return { kind: "refused" };
    return { kind: "allowed", taken: { grants: ["seeded", "new"], uses: choices[0]?.uses ?? [] } };
  });
}

const range = { now: new Date(future) };

/** Uses, decisions, the audit log and what is known of effects: all of them by way of the ledger. */
export const ledgerOperations: Operations = {
  "usage.consume, the first time":
    ({ usage }, { tenant }) =>
    () =>
      usage.consume(tenant, "new", 3),
  "usage.consume, again":
    ({ usage }, { tenant }) =>
    () =>
      usage.consume(tenant, "seeded", 3),
  "usage.used":
    ({ usage }, { tenant }) =>
    () =>
      usage.used(tenant, "seeded"),
  "usage.usedOf":
    ({ usage }, { tenant }) =>
    () =>
      usage.usedOf(tenant, ["seeded"]),
  "decisions.decide": async (stores, { tenant }) => {
    const choices = await choicesIn(stores, tenant);
    return () => stores.decisions.decide(choices, {});
  },
  "decisions.decide, with the claim of its call": async (stores, { tenant }) => {
    const choices = await choicesIn(stores, tenant);
    return async () => {
      const opened = await stores.replay.open(replayKey(tenant, "new"), "one");
      if (opened.kind !== "open") throw new Error(`The key is ${opened.kind}.`);
      return stores.decisions.decide(choices, { writes: opened.claim });
    };
  },
  "decisions.decide, with the entry of a turn": async (stores, seed) => {
    const choices = await choicesIn(stores, seed.tenant);
    const nextWriter = await writerOf(stores, seed);
    return async () => {
      const writer = await nextWriter();
      return stores.decisions.decide(choices, { writes: writer.openScope(oneCall, progress) });
    };
  },
  "acts.begin": async (stores, { tenant }) => {
    const choices = await choicesIn(stores, tenant);
    return () => beginAct(stores, tenant, choices);
  },
  "acts.begin, of one that waits": async (stores, { tenant }) => {
    const [choice] = await choicesIn(stores, tenant);
    if (choice === undefined) throw new Error("There is no choice.");
    const waiting = { event: { ...choice.event, outcome: "denied" as const }, requestHash: "hash" };
    return () => beginAct(stores, tenant, [waiting]);
  },
  "acts.findWaiting":
    ({ acts }, { tenant }) =>
    () =>
      acts.findWaiting(actKey(tenant)),
  "acts.finish": async (stores, { tenant }) => {
    await beginAct(stores, tenant, await choicesIn(stores, tenant));
    const act = await stores.acts.find(actKey(tenant));
    if (act === undefined) throw new Error("The act did not begin.");
    const end = { status: "succeeded", completedAt: officeTime, isLate: false } as const;
    const event = auditEvent("finished", { namespaceId: tenant });
    return () => stores.acts.finish(actKey(tenant), act, { fingerprint: "outcome", end, isFree: false, event });
  },
  "acts.find":
    ({ acts }, { tenant }) =>
    () =>
      acts.find(actKey(tenant)),
  "audit.record":
    ({ audit }, { tenant }) =>
    () =>
      Promise.resolve(audit.record(auditEvent("new", { namespaceId: tenant }))),
  "audit.list":
    ({ audit }, { tenant }) =>
    () =>
      audit.list(tenant, { limit: 9 }),
  "audit.findScanEnd":
    ({ audit }, { tenant }) =>
    () =>
      audit.findScanEnd(tenant, { type: "tool.invoked", outcome: "allowed" }),
  "audit.listRowsBehind":
    ({ audit }, { tenant }, { strand }) =>
    () =>
      audit.listRowsBehind(tenant, { strand, sequence: 0 }, 9),
  "audit.readAnchors":
    ({ audit }, { tenant }) =>
    () =>
      audit.readAnchors(tenant, signingKey()),
  "audit.verify":
    ({ audit }, { tenant }) =>
    () =>
      audit.verify(tenant),
  "audit.findBreak":
    ({ audit }, { tenant }) =>
    () =>
      audit.findBreak(tenant, [{ strand: 0, sequence: 1, hash: "none" }]),
  "audit.beginExport":
    ({ audit }, { tenant }) =>
    () =>
      audit.beginExport(tenant, signingKey(), range),
  "audit.continueExport": async ({ audit }, { tenant }) => {
    for (const id of ["one", "two"]) await audit.record(auditEvent(id, { namespaceId: tenant }));
    const { next } = await audit.beginExport(tenant, signingKey(), range);
    if (next === undefined) throw new Error("The export has one page.");
    return () => audit.continueExport(tenant, signingKey(), next);
  },
  "audit.isKnown":
    ({ audit }, { tenant }) =>
    () =>
      audit.isKnown(tenant),
  "audit.readActivity":
    ({ audit }, { tenant }) =>
    () =>
      audit.readActivity(tenant, new Date(officeTime)),
  "audit.headsOf":
    ({ audit }, { tenant }) =>
    () =>
      audit.headsOf(tenant),
  "audit.listHeads":
    ({ audit }) =>
    () =>
      audit.listHeads(undefined, 9),
  "replay.begin":
    ({ replay }, { tenant }) =>
    () =>
      replay.begin(replayKey(tenant, "new"), "one"),
  "replay.begin, again":
    ({ replay }, { tenant }) =>
    () =>
      replay.begin(replayKey(tenant, "running"), "one"),
  "replay.open":
    ({ replay }, { tenant }) =>
    async () => {
      const opened = await replay.open(replayKey(tenant, "new"), "one");
      return opened.kind === "open" ? opened.settle() : opened;
    },
  "replay.finish": (stores, { tenant }) => {
    const key = replayKey(tenant, "to finish");
    return ending(stores, key, () => stores.replay.finish(key, { ok: true }));
  },
  "replay.interrupt": (stores, { tenant }) => {
    const key = replayKey(tenant, "to lose");
    return ending(stores, key, () => stores.replay.interrupt(key));
  },
  "replay.release": (stores, { tenant }) => {
    const key = replayKey(tenant, "to release");
    return ending(stores, key, () => stores.replay.release(key));
  },
  "replay.forgetResults":
    ({ replay }) =>
    () =>
      replay.forgetResults("writes", future, 200),
};
