import { expect, test } from "vitest";
import { grantOf } from "../../../test/deployment.ts";
import { parseInstant } from "../../internal/index.ts";
import { InstantTexts } from "./instant-texts.ts";

for (const { name, text, written = text } of [
  { name: "a millisecond", text: "2026-01-01T00:00:00.001+01:00", written: "2025-12-31T23:00:00.001Z" },
  { name: "less than a millisecond", text: "2026-01-01T00:00:00.0005Z" },
  { name: "the last millisecond of four-digit years", text: "9999-12-31T23:59:59.999Z" },
  { name: "an instant behind it", text: "9999-12-31T23:59:59-01:00" },
  { name: "the first millisecond of four-digit years", text: "0000-01-01T00:00:00.000Z" },
  { name: "an instant before it", text: "0000-01-01T00:00:00+01:00" },
])
  test(`${name} is written as the kernel reads it`, () => {
    const instant = parseInstant(text) ?? Number.NaN;
    const texts = new InstantTexts(undefined);
    texts.learn(grantOf("grant-1", { constraints: { expiresAt: text } }));
    expect(texts.of(instant)).toBe(written);
    expect(parseInstant(texts.of(instant) ?? "")).toBe(instant);
  });
