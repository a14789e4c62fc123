import { expect, test } from "vitest";
import { auditEvent } from "../../test/records.ts";
import { CallClaim, recordEvent, type ClaimState } from "./call-claim.ts";
import { entryOf } from "./chain.ts";
import { createHeadLog } from "./heads.ts";
import type { Ledger } from "./ledger.ts";
import type { Alternative, Outcome, Submission } from "./submission.ts";

/** A ledger that stores whatever comes, or the alternative at a place of it. */
function ledgerOf(outcome: Outcome = { kind: "written", alternative: 0 }): Ledger & { submitted: Submission[] } {
  const submitted: Submission[] = [];
  const submit = (submission: Submission): Promise<Outcome> => {
    submitted.push(submission);
    return Promise.resolve(outcome);
  };
  return {
    submit,
    submitted,
    confirm: () => Promise.resolve(),
    heads: createHeadLog(),
    waiting: 0,
    flush: () => Promise.resolve(),
  };
}

const claim = {
  key: { namespace_id: "n", actor: "agent:a", kind: "tool", scope: "", id: "id-1" },
  fingerprint: "one",
  nonce: "nonce",
} as const;
const event = auditEvent("event");
const [approval, refusal] = [
  { event: auditEvent("approval", { outcome: "allowed" }) },
  { event: auditEvent("refusal", { outcome: "denied" }) },
];
const allowed: Alternative = { uses: [], left: [], entries: [entryOf(approval.event)], isRefusal: false };
const refused: Alternative = { uses: [], left: [], entries: [entryOf(refusal.event)], isRefusal: true };

for (const { name, choices, alternatives, place, kind } of [
  { name: "nothing else", choices: [], alternatives: [], place: -1, kind: "made" },
  { name: "an approval", choices: [approval, refusal], alternatives: [allowed, refused], place: 0, kind: "made" },
  { name: "a refusal", choices: [approval, refusal], alternatives: [allowed, refused], place: 1, kind: "given back" },
  { name: "no alternative that is left", choices: [approval], alternatives: [allowed], place: -1, kind: "given back" },
])
  test(`a claim that is stored with ${name} is ${kind}`, async () => {
    const states: ClaimState[] = [];
    const ledger = ledgerOf({ kind: "written", alternative: place });
    const made = new CallClaim(ledger, claim, (state) => void states.push(state));
    if (choices.length > 0) await made.decide(choices);
    expect(await made.make()).toEqual({ kind });
    expect(states).toEqual([{ kind }]);
    expect(ledger.submitted).toEqual([{ claim, alternatives }]);
  });

test("an event waits for the end of a call whose claim is made, and for nothing once the claim was given back", async () => {
  const [going, over] = [ledgerOf(), ledgerOf()];
  const made = new CallClaim(going, claim, () => {});
  await made.decide([approval]);
  await made.record(event);
  expect([made.pendingEvents, going.submitted.length]).toEqual([[event], 1]);
  const back = new CallClaim(over, claim, () => {});
  await back.decide([refusal]);
  await back.record(event);
  const alone = { alternatives: [{ entries: [entryOf(event)], isRefusal: true }] };
  expect([back.pendingEvents, over.submitted.slice(1)]).toEqual([[], [alone]]);
});

test("a call whose key is another caller's stores nothing, and says so each time", async () => {
  const ledger = ledgerOf({ kind: "taken", by: undefined });
  const taken = new CallClaim(ledger, claim, () => {});
  for (let round = 0; round < 2; round += 1)
    await expect(taken.decide([approval])).rejects.toMatchObject({
      name: "ClaimTakenError",
      message: "The key is taken.",
    });
  await taken.record(event);
  expect([taken.state, taken.pendingEvents]).toEqual([{ kind: "taken", by: undefined }, []]);
  expect(ledger.submitted).toEqual([{ claim, alternatives: [allowed] }]);
});

test("an event of a call without a scope is written by itself, at once, and in its scope otherwise", async () => {
  const ledger = ledgerOf();
  await recordEvent(ledger, event);
  await recordEvent(ledger, event, {});
  const alone = { alternatives: [{ entries: [entryOf(event)] }] };
  expect(ledger.submitted).toEqual([alone, alone]);
  const writes = new CallClaim(ledger, claim, () => {});
  await writes.make();
  await recordEvent(ledger, event, { writes });
  expect([writes.pendingEvents, ledger.submitted.length]).toEqual([[event], 3]);
});
