import { expect, test } from "vitest";
import { withMembers } from "./with-members.ts";

class Counter {
  #count = 0;
  readonly flag = true;
  later: string | undefined = undefined;

  get count(): number {
    return this.#count;
  }

  add(): number {
    this.#count += 1;
    return this.#count;
  }
}

test("what is not replaced is the object's own: flags, getters and methods, private state included", () => {
  const counter = new Counter();
  const wrapped = withMembers(counter, { later: "replaced" });
  expect([wrapped.flag, wrapped.count, wrapped.add(), wrapped.count, wrapped.later]).toEqual([
    true,
    0,
    1,
    1,
    "replaced",
  ]);
  expect(counter.count).toBe(1);
  expect(counter.later).toBeUndefined();
});

test("a frozen object can be wrapped, and a wrapped one can be copied and wrapped again", () => {
  const frozen = Object.freeze({ one: 1 as number, two: () => 2, three: 3 as number });
  const wrapped = withMembers(withMembers(frozen, { one: 10 }), { three: 30 });
  expect({ ...wrapped, two: wrapped.two() }).toEqual({ one: 10, two: 2, three: 30 });
});

test("a member that the object does not have stays absent", () => {
  const wrapped = withMembers<{ one: number; two?: number }>({ one: 1 }, { one: 2 });
  expect("two" in wrapped).toBe(false);
  expect(wrapped.two).toBeUndefined();
});
