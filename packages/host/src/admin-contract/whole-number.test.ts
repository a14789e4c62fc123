import { describe, expect, test } from "vitest";
import { adminRoutes } from "./admin-routes.ts";

const rows = [
  { route: "listGrants", field: "limit", input: {}, most: 500 },
  { route: "search", field: "limit", input: { namespaceId: "acme", text: "a" }, most: 100 },
  { route: "listAllTurns", field: "limit", input: {}, most: 200 },
] as const;

/** Texts that other readers of numbers take for one. */
const mistakes = [
  "",
  " 5",
  "5 ",
  "+5",
  "-0",
  "-5",
  "05",
  "5.0",
  "5e0",
  "1e2",
  "0x10",
  "1_0",
  "Infinity",
  "NaN",
  "9007199254740993",
  "1e-400",
];

for (const { route, field, input, most } of rows) {
  describe(`${field} of ${route}`, () => {
    const schema = adminRoutes[route].query;
    test("is digits alone", () => {
      expect(schema.parse({ ...input, [field]: "5" })).toMatchObject({ [field]: 5 });
      expect(schema.parse({ ...input, [field]: String(most) })).toMatchObject({ [field]: most });
    });
    for (const text of mistakes) {
      test(`is never ${JSON.stringify(text)}`, () => {
        const { error } = schema.safeParse({ ...input, [field]: text });
        expect(error?.issues[0]?.path).toEqual([field]);
      });
    }
  });
}
