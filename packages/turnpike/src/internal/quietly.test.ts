import { expect, test } from "vitest";
import { quietly } from "./quietly.ts";

for (const row of [
  { name: "returns", observe: () => "told" },
  { name: "resolves", observe: () => Promise.resolve("told") },
  {
    name: "throws",
    observe: (): never => {
      throw new Error("the observer fell over");
    },
  },
  { name: "rejects", observe: () => Promise.reject(new Error("the observer fell over")) },
]) {
  test(`an observer that ${row.name} is called once, and nothing of it comes back`, async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", onUnhandled);
    try {
      let calls = 0;
      const told = quietly(() => {
        calls += 1;
        return row.observe();
      });
      await new Promise((resolve) => setImmediate(resolve));
      expect([told, calls, unhandled]).toStrictEqual([undefined, 1, []]);
    } finally {
      process.off("unhandledRejection", onUnhandled);
    }
  });
}
