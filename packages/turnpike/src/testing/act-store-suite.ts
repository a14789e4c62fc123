import type { AuditEvent } from "../contracts/index.ts";
import type { ActEnd, ActKey, ActReport, ActStore, ActTaken, ActVerdict, NewAct, WriteScope } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

const alice = { kind: "human", userId: "alice" } as const;
const helper = { kind: "agent", agentId: "helper" } as const;
const key: ActKey = { namespaceId: "tenant-1", actor: helper, scope: "trace trace-1", id: "act-1" };
const act: NewAct = {
  tool: "deploy",
  fingerprint: "deploy-1",
  expiresAt: "2026-01-01T12:05:00.000Z",
  context: { authority: alice, owner: alice, purpose: "support", traceId: "trace-1" },
};
const taken: ActTaken = { grants: ["grant-1"], uses: [] };
const done: ActEnd = {
  status: "succeeded",
  output: { url: "https://app.test" },
  completedAt: "2026-01-01T12:01:00.000Z",
  isLate: false,
};

/** Decides as a kernel does: the decision is written in the scope, and counts only when that has written it. */
function deciding(outcome: ActTaken | undefined, requestHash?: string) {
  const refused: ActVerdict = { kind: "refused", ...(requestHash !== undefined && { requestHash }) };
  return async (writes: WriteScope | undefined): Promise<ActVerdict> => {
    const event: AuditEvent = {
      id: crypto.randomUUID(),
      version: 1,
      type: "authorization.checked",
      outcome: outcome === undefined ? "denied" : "allowed",
      at: "2026-01-01T12:00:00.000Z",
      traceId: "trace-1",
      namespaceId: "tenant-1",
      actor: helper,
      owner: alice,
      purpose: "support",
    };
    try {
      const asked = requestHash === undefined ? {} : { requestHash };
      await writes?.decide([{ event, ...asked, ...(outcome && { grants: outcome.grants }) }]);
    } catch {
      return { kind: "refused" };
    }
    return outcome === undefined ? refused : { kind: "allowed", taken: outcome };
  };
}

function report(fingerprint: string, end: ActEnd = done, isFree = false): ActReport {
  return { fingerprint, end, isFree };
}

/** The act that a key has, which has to be there. */
async function found(acts: ActStore, about: ActKey = key): Promise<NonNullable<Awaited<ReturnType<ActStore["find"]>>>> {
  const known = await acts.find(about);
  if (known === undefined) throw new Error("the act: expected one, got none.");
  return known;
}

/**
 * Whether a store hands an act out once, has one outcome of it, and frees its key when nothing happened.
 *
 * @example
 * import { actStoreSuite, memoryActs } from "turnpike/testing";
 *
 * const [first] = actStoreSuite(async () => memoryActs());
 * await first?.run();
 * console.log(first !== undefined); // true
 */
export function actStoreSuite(open: () => Promise<ActStore>): PortCase[] {
  const begun = async (): Promise<ActStore> => {
    const acts = await open();
    expectSame(await acts.begin(key, act, deciding(taken)), { kind: "begun" }, "the beginning");
    return acts;
  };
  return [
    {
      name: "an act that began is found as it began, under its key alone",
      async run() {
        const acts = await begun();
        const { claim: _claim, ...known } = await found(acts);
        expectSame(known, { ...act, taken }, "the act");
        for (const other of [
          { namespaceId: "tenant-2" },
          { actor: { kind: "agent", agentId: "other" } as const },
          { scope: "execution trace-1" },
          { id: "act-2" },
        ])
          expectSame(await acts.find({ ...key, ...other }), undefined, "the act under another key");
      },
    },
    {
      name: "what a process remembers of an act is what is stored",
      async run() {
        const acts = await begun();
        expectSame(acts.recall?.(key) ?? (await found(acts)), await found(acts), "the act");
        expectSame(acts.recall?.({ ...key, id: "act-2" }), undefined, "an act that did not begin");
      },
    },
    {
      name: "a key that is taken answers with the act that has it, and what is decided meanwhile is not stored",
      async run() {
        const acts = await begun();
        const first = await found(acts);
        const other = { ...act, fingerprint: "deploy-2" };
        const again = await acts.begin(key, other, deciding({ grants: ["grant-2"], uses: [] }));
        expectSame(again, { kind: "known", act: first }, "the second beginning");
        expectSame(await found(acts), first, "the act");
      },
    },
    {
      name: "of ten who begin an act at once, one does",
      async run() {
        const acts = await open();
        const all = await Promise.all(Array.from({ length: 10 }, () => acts.begin(key, act, deciding(taken))));
        expectSame(all.filter(({ kind }) => kind === "begun").length, 1, "beginnings");
        expectSame(all.filter(({ kind }) => kind === "known").length, 9, "the others");
      },
    },
    {
      name: "an act that is refused, or whose decision throws, leaves its key free",
      async run() {
        const acts = await open();
        expectSame(await acts.begin(key, act, deciding(undefined)), { kind: "refused" }, "a refusal");
        const failing = (): Promise<never> => Promise.reject(new Error("undecided"));
        const failed = await acts.begin(key, act, failing).catch((error: unknown) => String(error));
        expectSame(failed, "Error: undecided", "a decision that throws");
        expectSame(await acts.find(key), undefined, "the act");
        expectSame(await acts.begin(key, act, deciding(taken)), { kind: "begun" }, "the next beginning");
      },
    },
    {
      name: "the last act that waits under a key is found by that key alone, and its key is free",
      async run() {
        const acts = await open();
        await acts.begin(key, act, deciding(undefined));
        expectSame(await acts.findWaiting(key), undefined, "what waits after a refusal");
        for (const hash of ["hash-1", "hash-2", "hash-2"]) {
          expectSame(await acts.begin(key, act, deciding(undefined, hash)), { kind: "refused" }, "one that waits");
          expectSame(await acts.findWaiting(key), hash, "what waits");
        }
        expectSame(await acts.find(key), undefined, "the act");
        expectSame(await acts.findWaiting({ ...key, actor: alice }), undefined, "what waits under another key");
        expectSame(await acts.begin(key, act, deciding(taken)), { kind: "begun" }, "the next beginning");
      },
    },
    {
      name: "of ten that wait under one key at once, each is refused",
      async run() {
        const acts = await open();
        const all = await Promise.all(
          Array.from({ length: 10 }, () => acts.begin(key, act, deciding(undefined, "hash-1"))),
        );
        // One whose decision is still being made may answer the others.
        expectSame(all.filter(({ kind }) => kind === "begun").length, 0, "beginnings");
        expectSame(await acts.findWaiting(key), "hash-1", "what waits");
      },
    },
    {
      name: "the first outcome counts, and later ones are told whether they are the same",
      async run() {
        const acts = await begun();
        const known = await found(acts);
        expectSame(await acts.finish(key, known, report("one")), "stored", "the first");
        expectSame(await acts.finish(key, known, report("one")), { isSame: true }, "the same");
        const other = report("two", { ...done, status: "failed" });
        expectSame(await acts.finish(key, known, other), { isSame: false }, "another");
        expectSame((await found(acts)).end, done, "what is stored");
        expectSame((await acts.begin(key, act, deciding(taken))).kind, "known", "the next beginning");
      },
    },
    {
      name: "a failure is stored with its error, and that it was late",
      async run() {
        const acts = await begun();
        const error = { code: "effect_failed", message: "No space is left." };
        const late: ActEnd = { status: "failed", error, completedAt: "2026-01-01T12:10:00.000Z", isLate: true };
        await acts.finish(key, await found(acts), report("one", late));
        expectSame((await found(acts)).end, late, "what is stored");
      },
    },
    {
      name: "of ten different outcomes at once, one is stored",
      async run() {
        const acts = await begun();
        const known = await found(acts);
        const all = await Promise.all(
          Array.from({ length: 10 }, (_, place) =>
            acts.finish(key, known, report(`outcome-${place}`, { ...done, output: place })),
          ),
        );
        expectSame(all.filter((one) => one === "stored").length, 1, "outcomes");
        expectSame((await found(acts)).end, { ...done, output: all.indexOf("stored") }, "what is stored");
      },
    },
    {
      name: "when nothing happened the key is free, and an outcome of the first beginning is none of the next",
      async run() {
        const acts = await begun();
        const first = await found(acts);
        const error = { code: "effect_failed", message: "No space is left.", nothingHappened: true } as const;
        const nothing: ActEnd = { status: "failed", error, completedAt: "2026-01-01T12:01:00.000Z", isLate: false };
        expectSame(await acts.finish(key, first, report("nothing", nothing, true)), "stored", "that nothing happened");
        expectSame((await found(acts)).end, nothing, "what is stored");
        expectSame(await acts.begin(key, act, deciding(taken)), { kind: "begun" }, "the next beginning");
        const next = await found(acts);
        expectSame([next.end, next.claim === first.claim], [undefined, false], "the next beginning");
        expectSame(await acts.finish(key, first, report("nothing", nothing, true)), { isSame: true }, "the same again");
        expectSame(await acts.finish(key, first, report("one")), { isSame: false }, "another of the first beginning");
        expectSame((await found(acts)).end, undefined, "the next beginning then");
        expectSame(await acts.finish(key, next, report("one")), "stored", "its outcome");
      },
    },
  ];
}
