import { expect, test } from "vitest";
import { changesText } from "./settings-changes.ts";

test("what another operator switched is said by name", () => {
  expect(changesText(["files", "payments"], ["files", "weather"])).toBe("on now: weather; off now: payments");
  expect(changesText(["files"], ["files", "weather"])).toBe("on now: weather");
  expect(changesText(["files"], ["files"])).toBe("");
});
