import { expect, test } from "vitest";
import { turnWorldOf } from "../../../../turnpike/test/turns.ts";
import { openRuntimes } from "./open-runtime.ts";

for (const kind of ["none", "scripted"] as const) {
  test(`the runtime of kind ${kind} needs nothing`, async () => {
    const { runtime, ...others } = await openRuntimes({ kind }, {});
    expect(runtime.manifest).toEqual({ id: kind, version: "1" });
    expect(others).toEqual({});
  });
}

test("without a runtime a turn is admitted, and fails with what is missing", async () => {
  const { runtime } = await openRuntimes({ kind: "none" }, {});
  const world = turnWorldOf(runtime);
  expect(await world.run()).toMatchObject({
    status: "failed",
    error: { code: "runtime_failed", message: "This host has no runtime configured.", retryable: false },
  });
  expect(world.turnErrors).toEqual([]);
});
