/** Whether this run has minutes: the project `fuzz` has, `unit` and what a commit must pass have not. */
const isLarge = process.env["TEST_SIZE"] === "large";

/** How often something is tried: so often in a small run, and so often in a large one. */
export function timesOf(small: number, large: number): number {
  return isLarge ? large : small;
}

/** What is tried at one of many places: all items in `fuzz`, in `unit` every third, beginning with another one at each place. */
export function itemsAt<T>(place: number, items: readonly T[]): readonly T[] {
  return isLarge ? items : items.filter((_item, index) => (index + place) % 3 === 0);
}
