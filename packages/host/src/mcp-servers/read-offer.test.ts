import { expect, test } from "vitest";
import { readResourceTemplates } from "./read-offer.ts";

test("a template with more than 16 places is left out", () => {
  const [few, many] = ["{a}".repeat(16), "{a}".repeat(17)];
  const { entries, leftOut } = readResourceTemplates([few, many].map((uriTemplate) => ({ uriTemplate, name: "t" })));
  expect([...entries.keys()]).toEqual([few]);
  expect(leftOut).toEqual([{ name: many, why: "it has more than 16 places" }]);
});
