import { expect, test } from "vitest";
import { drawSoak } from "./soak-picture.ts";

test("the picture of a soak says in words what it shows, as every drawing of the documents has to", () => {
  const first = { seconds: 1, memory: 100, heap: 40, handles: 30, p99: 12 };
  const picture = drawSoak([first, { ...first, seconds: 90, memory: 140 }, { ...first, seconds: 120, memory: 120 }]);
  expect(picture).toMatch(/^<svg [^>]*role="img" aria-labelledby="title desc">/);
  expect(picture).toContain('<title id="title">A host under mixed load for 2 minutes</title>');
  expect(picture).toMatch(/<desc id="desc">.*memory, MiB: 100 at first, 140 at most, 120 at the end\. .*<\/desc>/);
});

test("a soak without a sample is a picture without lines", () => {
  expect(drawSoak([])).toContain("files and sockets: 0 at first, 0 at most, 0 at the end");
});
