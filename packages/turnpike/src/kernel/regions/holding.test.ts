import { expect, test } from "vitest";
import { child, grant, parent } from "../../../test/decisions.ts";
import type { Grant } from "../../contracts/index.ts";
import { grantSpans } from "./holding.ts";

const instant = (text: string): number => Date.parse(text);

test("a grant can count in its own window, while everything above it is in force", () => {
  const top = parent({ issuedAt: "2026-01-02T00:00:00Z", revokedAt: "2026-01-03T00:00:00Z" });
  const spans = grantSpans([child(), top, grant()]);
  expect(spans.map(({ grant: { id }, from, until }) => [id, from, until])).toStrictEqual([
    ["child", instant("2026-01-02T00:00:00Z"), instant("2026-01-03T00:00:00Z")],
    ["parent", instant("2026-01-02T00:00:00Z"), instant("2026-01-03T00:00:00Z")],
    ["grant-1", instant("2026-01-01T00:00:00Z"), Infinity],
  ]);
});

test("a grant that can never count is not among them", () => {
  const over = grant({ id: "over", constraints: { expiresAt: "2025-01-01T00:00:00Z" } });
  expect(grantSpans([child(), over])).toStrictEqual([]);
  expect(grantSpans([])).toStrictEqual([]);
});

test("something that is no list of grants is refused", () => {
  expect(() => grantSpans({} as Grant[])).toThrow(new TypeError("Expected a list of grants."));
});
