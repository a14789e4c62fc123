import { expect, test } from "vitest";
import { shortAct } from "./act-size.ts";

const rows = (count: number) => Array.from({ length: count }, (_, place) => ({ name: `a${place}`, value: "x" }));

test("an act of which everything fits is whole", () => {
  expect(shortAct(rows(40))).toMatchObject({ left: 0, isCut: false });
  expect(shortAct([{ name: "a", value: "x".repeat(1200) }])).toMatchObject({ left: 0, isCut: false });
});

test("an act with more arguments than are shown, or with a longer one, is cut and says by how much", () => {
  expect(shortAct(rows(61))).toMatchObject({ left: 21, isCut: true });
  expect(shortAct(rows(61)).rows).toHaveLength(40);
  const long = shortAct([{ name: "a", value: "x".repeat(1203) }]);
  expect(long).toEqual({ rows: [{ name: "a", value: "x".repeat(1200), left: 3 }], left: 0, isCut: true });
  expect(shortAct([{ name: "a", value: `${"x".repeat(1199)}🙂` }]).rows[0]).toMatchObject({ left: 2 });
});
