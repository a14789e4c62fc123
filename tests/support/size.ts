/** Whether this run has minutes: the project `fuzz` has, `unit` has not. */
const isLarge = process.env["TEST_SIZE"] === "large";

/** How often a property is tried: so often in `unit`, and so often in `fuzz`. */
export function timesOf(unit: number, fuzz: number): number {
  return isLarge ? fuzz : unit;
}

/** What is tried at one of many places: all items in `fuzz`, in `unit` every third, beginning with another one at each place. */
export function itemsAt<T>(place: number, items: readonly T[]): readonly T[] {
  return isLarge ? items : items.filter((_item, index) => (index + place) % 3 === 0);
}
