import { expect, test } from "vitest";
import { PathSegmentSchema } from "turnpike/contracts";
import { fromOfferSegment, offerSegment } from "./server-offer.ts";

for (const text of ["file:///srv/a b/ü.md", "test://static/text?x=1#y", "notes", "100%", "a\\b", "...", "👩‍💻"]) {
  test(`${text} is one step of a path, and back`, () => {
    const segment = offerSegment(text) ?? "";
    expect(PathSegmentSchema.safeParse(segment).success).toBe(true);
    expect(fromOfferSegment(segment)).toBe(text);
  });
}

for (const text of ["", ".", "..", "half \ud83d", "x".repeat(257), "/".repeat(86)]) {
  test(`${JSON.stringify(text.slice(0, 20))} is no step of a path`, () => {
    expect(offerSegment(text)).toBeUndefined();
  });
}

for (const segment of ["file:%2F%2Fa", "%ff", "%2f", "a b"]) {
  test(`${segment} means nothing, because its text is written otherwise`, () => {
    expect(fromOfferSegment(segment)).toBeUndefined();
  });
}
