import { expect, test } from "vitest";
import { alice, assistant } from "../../../test/decisions.ts";
import { BoxGroup, type Box } from "./box.ts";
import { dimensions, divide, type Piece } from "./divide.ts";
import { InstantTexts } from "./instant-texts.ts";
import { regionOf } from "./region-of.ts";
import { spanDimension } from "./span-dimension.ts";

/** A box of every request, that is there only after. */
function box(changes: Partial<Box>): Box {
  return {
    path: [],
    scope: "descendants",
    owner: undefined,
    actions: undefined,
    purposes: undefined,
    from: -Infinity,
    until: Infinity,
    terms: {},
    before: [],
    after: ["grant-1"],
    ...changes,
  };
}

function piecesOf(boxes: readonly Box[], pieces: number): Piece[] {
  const steps = divide(boxes, dimensions, { pieces });
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

for (const [pieces, expected] of [
  [0, []],
  [1, [["a"]]],
  [2, [["a"], ["b"]]],
  [3, [["a"], ["b"]]],
] as const)
  test(`a division of two places that may cost ${pieces} ends with ${expected.length} of them`, () => {
    const found = piecesOf([box({ path: ["a"] }), box({ path: ["b"] })], pieces);
    expect(found.map(({ extent }) => extent.place?.path)).toStrictEqual(expected);
  });

for (const { name, from, until, isWhole, extent } of [
  { name: "of every instant is whole", from: -Infinity, until: Infinity, isWhole: true, extent: {} },
  {
    name: "that begins is not whole",
    from: 5,
    until: Infinity,
    isWhole: false,
    extent: { span: { from: 5, until: Infinity } },
  },
  {
    name: "that ends is not whole",
    from: -Infinity,
    until: 5,
    isWhole: false,
    extent: { span: { from: -Infinity, until: 5 } },
  },
])
  test(`a span ${name}`, () => {
    expect(spanDimension.isWhole(box({ from, until }))).toBe(isWhole);
    expect(spanDimension.extentOf(box({ from, until }))).toStrictEqual(extent);
  });

test("a piece of every request is a region of every place, name and instant", () => {
  const [piece] = piecesOf([box({})], 1);
  const group = new BoxGroup({ subject: assistant, authority: alice }, "documents");
  expect(regionOf(group, piece as Piece, new InstantTexts(undefined))).toStrictEqual({
    subject: { kind: "agent", agentId: "assistant" },
    authority: { kind: "human", userId: "alice" },
    owner: { not: [] },
    namespace: "documents",
    path: [],
    scope: "descendants",
    actions: { not: [] },
    purposes: { not: [] },
    terms: [{}],
    by: ["grant-1"],
  });
});
