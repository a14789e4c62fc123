import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const known = ["notify.webhooks", "notify.consoleUrl", "limits.burst", "limits.headers", "limits.headersMs"];

for (const row of [
  { name: "a letter that is missing", given: "notify.webhoks", nearest: "notify.webhooks" },
  { name: "two letters in the wrong order", given: "limits.brust", nearest: "limits.burst" },
  { name: "another case", given: "notify.consoleURL", nearest: "notify.consoleUrl" },
  { name: "the nearest of several", given: "limits.headersMx", nearest: "limits.headersMs" },
  { name: "nothing like it", given: "notify.email", nearest: undefined },
  { name: "a very long name", given: "x".repeat(1_000_000), nearest: undefined },
]) {
  test(`the setting that was meant: ${row.name}`, () => {
    expect(nearestName(row.given, known)).toBe(row.nearest);
  });
}

test("short names are alike only when one letter differs", () => {
  expect(nearestName("xyy", ["xyz"])).toBe("xyz");
  expect(nearestName("xaa", ["xyz"])).toBeUndefined();
  expect(nearestName("wxaa", ["wxyz"])).toBe("wxyz");
});
