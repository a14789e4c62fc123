import { expect, test } from "vitest";
import { isSortedSet } from "./sorted.ts";

for (const row of [
  { name: "no names", names: [], sorted: true },
  { name: "one name", names: ["a"], sorted: true },
  { name: "one empty name", names: [""], sorted: true },
  { name: "ascending names", names: ["a", "ab", "b"], sorted: true },
  { name: "names in the order of code units", names: ["B", "a", "é"], sorted: true },
  { name: "names in the order of a dictionary", names: ["a", "B"], sorted: false },
  { name: "descending names", names: ["b", "a"], sorted: false },
  { name: "a name that stands twice", names: ["a", "a"], sorted: false },
  { name: "an empty name that stands twice", names: ["", ""], sorted: false },
  { name: "a last name out of order", names: ["a", "c", "b"], sorted: false },
]) {
  test(`${row.name} ${row.sorted ? "are" : "are not"} a sorted set`, () => {
    expect(isSortedSet(row.names)).toBe(row.sorted);
  });
}
