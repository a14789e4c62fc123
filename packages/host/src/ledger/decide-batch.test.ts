import { describe, expect, test } from "vitest";
import { auditEvent } from "../../test/records.ts";
import { entryOf } from "./chain.ts";
import { decideBatch, wantedBy } from "./decide-batch.ts";
import type { Found, Submission, TurnWrite } from "./submission.ts";

const nothing: Found = { taken: new Map(), known: new Set(), lost: new Set(), used: new Map(), heads: new Map() };
const wait = { turn: "t", place: 0, namespace_id: "n", question_id: "q", expires_at: "z", content: "{}" };
const stop = { status: "waiting", waiting: "{}", result: null, completed_at: null, is_refused: 0, bytes: 1 } as const;

function turnAt(position: number, changes: Partial<TurnWrite> = {}): TurnWrite {
  const counts = { steps: position, tool_calls: 0, ran_ms: 0, entries: position + 1, events: 0 };
  return {
    id: "t",
    run: 1,
    line: {},
    entries: [{ turn: "t", position, kind: "step", sequence: null, content: "{}" }],
    progress: { ...counts, updated_at: "2026-01-01T12:00:00.000Z" },
    ...changes,
  };
}

function turnsOf(...batch: Submission[]): TurnWrite[] {
  return decideBatch(batch, nothing, 0).writes.turns;
}

describe("a decision that comes to a refusal", () => {
  const entries = [entryOf(auditEvent("decision"))];
  for (const [name, alternatives] of [
    ["says so", [{ entries, isRefusal: true }]],
    ["is that no use is left", [{ entries, uses: [{ namespaceId: "n", grantId: "g", maxUses: 0 }] }]],
  ] as const)
    test(`stores no entry of its turn, and the rest of the turn nevertheless, when it ${name}`, () => {
      expect(turnsOf({ turn: turnAt(0), alternatives })).toEqual([turnAt(0, { entries: [] })]);
    });

  test("leaves what the run stores beside it alone", () => {
    const refused: Submission = { turn: turnAt(1), alternatives: [{ entries, isRefusal: true }] };
    expect(turnsOf({ turn: turnAt(0) }, refused)).toMatchObject([
      { entries: turnAt(0).entries, progress: { steps: 1 } },
    ]);
  });
});

test("a turn stops with the escalations it waits for, whichever submission of the batch says so", () => {
  const [stopping, going] = [turnAt(0, { stop, waits: [wait] }), turnAt(1)];
  for (const batch of [
    [stopping, going],
    [going, stopping],
  ]) {
    const written = turnsOf(...batch.map((turn) => ({ turn })));
    expect(written).toMatchObject([{ stop, waits: [wait], progress: batch.at(-1)?.progress }]);
    expect(written[0]?.entries).toEqual(batch.flatMap(({ entries }) => entries));
  }
});

test("an alternative that needs a use to be left, and takes none, is chosen while there is one", () => {
  const entries = [entryOf(auditEvent("decision"))];
  const use = { namespaceId: "n", grantId: "g", maxUses: 1 };
  const asking: Submission = { alternatives: [{ entries, left: [use] }, { entries }] };
  const { outcomes, writes } = decideBatch(
    [asking, asking, { alternatives: [{ entries, uses: [use] }] }, asking],
    nothing,
    0,
  );
  expect(outcomes).toEqual([0, 0, 0, 1].map((alternative) => ({ kind: "written", alternative })));
  expect(writes.uses).toEqual([{ namespaceId: "n", grantId: "g", used: 1, taken: 1 }]);
  expect(wantedBy([asking], 0).uses).toEqual([use]);
});
