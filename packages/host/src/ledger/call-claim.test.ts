import { expect, test } from "vitest";
import { auditEvent } from "../../test/records.ts";
import { CallClaim, recordEvent, type ClaimState } from "./call-claim.ts";
import { entryOf } from "./chain.ts";
import { createHeadLog } from "./heads.ts";
import type { Ledger } from "./ledger.ts";
import type { Alternative, Outcome, Submission } from "./submission.ts";

/** A ledger that keeps whatever comes, or the alternative at a place of it. */
function ledgerOf(outcome: Outcome = { kind: "kept", alternative: 0 }): Ledger & { submitted: Submission[] } {
  const submitted: Submission[] = [];
  const submit = (submission: Submission): Promise<Outcome> => {
    submitted.push(submission);
    return Promise.resolve(outcome);
  };
  return { submit, submitted, heads: createHeadLog(), waiting: 0, flush: () => Promise.resolve() };
}

const claim = {
  key: { namespace_id: "n", actor: "agent:a", kind: "tool", scope: "", id: "id-1" },
  fingerprint: "one",
  nonce: "nonce",
} as const;
const event = auditEvent("event");
const allowed: Alternative = { entries: [entryOf(event)] };
const refused: Alternative = { entries: [entryOf(event)], isRefusal: true };

for (const { name, alternatives, place, kind } of [
  { name: "nothing else", alternatives: [], place: -1, kind: "made" },
  { name: "a yes", alternatives: [allowed, refused], place: 0, kind: "made" },
  { name: "a refusal", alternatives: [allowed, refused], place: 1, kind: "given back" },
  { name: "no alternative that is left", alternatives: [allowed], place: -1, kind: "given back" },
])
  test(`a claim that is kept with ${name} is ${kind}`, async () => {
    const states: ClaimState[] = [];
    const ledger = ledgerOf({ kind: "kept", alternative: place });
    const made = new CallClaim(ledger, claim, (state) => void states.push(state));
    if (alternatives.length > 0) await made.keep(alternatives);
    expect(await made.make()).toEqual({ kind });
    expect(states).toEqual([{ kind }]);
    expect(ledger.submitted).toEqual([{ claim, alternatives }]);
  });

test("an event waits for the end of a call whose claim is made, and for nothing once the claim was given back", async () => {
  const [going, over] = [ledgerOf(), ledgerOf()];
  const made = new CallClaim(going, claim, () => {});
  await made.keep([allowed]);
  await made.record(entryOf(event));
  expect([made.entries, going.submitted.length]).toEqual([[entryOf(event)], 1]);
  const back = new CallClaim(over, claim, () => {});
  await back.keep([refused]);
  await back.record(entryOf(event));
  expect([back.entries, over.submitted.slice(1)]).toEqual([[], [{ alternatives: [refused] }]]);
});

test("a call whose key is somebody else's keeps nothing, and says so each time", async () => {
  const ledger = ledgerOf({ kind: "taken", by: undefined });
  const taken = new CallClaim(ledger, claim, () => {});
  for (let round = 0; round < 2; round += 1)
    await expect(taken.keep([allowed])).rejects.toMatchObject({
      name: "ClaimTakenError",
      message: "The key is taken.",
    });
  await taken.record(entryOf(event));
  expect([taken.state, taken.entries]).toEqual([{ kind: "taken", by: undefined }, []]);
  expect(ledger.submitted).toEqual([{ claim, alternatives: [allowed] }]);
});

test("an event of a call that claims nothing is kept by itself, at once", async () => {
  const ledger = ledgerOf();
  await recordEvent(ledger, event, undefined);
  await recordEvent(ledger, event, { claim: "something else" });
  expect(ledger.submitted).toEqual([{ alternatives: [allowed] }, { alternatives: [allowed] }]);
});
