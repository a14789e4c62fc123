import { expect, test } from "vitest";
import { leastCpuMs, maxCpuMs } from "../../../turnpike/test/hostile-bodies.ts";
import { matchesTemplate } from "./uri-template.ts";

for (const row of [
  { template: "note://{id}", uri: "note://1", matches: true },
  { template: "note://{id}", uri: "note://1/2", matches: false },
  { template: "note://{id}", uri: "note://", matches: false },
  { template: "note://{id}", uri: "other://1", matches: false },
  { template: "note://{id}/text", uri: "note://1/text", matches: true },
  { template: "note://{id}/text", uri: "note://1/textual", matches: false },
  { template: "note://{+path}", uri: "note://a/b/c", matches: true },
  { template: "note://a{?q,page}", uri: "note://a?q=1&page=2", matches: true },
  { template: "note://a{?q,page}", uri: "note://a", matches: true },
  { template: "note://a{/more}", uri: "note://b/c", matches: false },
  { template: "{a}-{b}", uri: "x-y-z", matches: true },
  { template: "note://1", uri: "note://1", matches: true },
  { template: "note://1", uri: "note://12", matches: false },
  { template: "note://{id", uri: "note://1", matches: false },
  { template: "note://{id", uri: "note://{id", matches: true },
  { template: "", uri: "note://1", matches: false },
]) {
  test(`${JSON.stringify(row.template)} ${row.matches ? "makes" : "does not make"} ${row.uri}`, () => {
    expect(matchesTemplate(row.template, row.uri)).toBe(row.matches);
  });
}

test("a template of many values takes no more than linear time for each", () => {
  expect(matchesTemplate(`${"{a}{+b}".repeat(300)}!`, "x".repeat(256))).toBe(false);
});

test("the length of a template is no work: 256 long ones are compared at once", async () => {
  const template = `{a}${"x".repeat(2000)}`;
  const uri = "x".repeat(256);
  const compare = (): void => {
    for (let count = 0; count < 256; count += 1) expect(matchesTemplate(template, uri)).toBe(false);
  };
  expect(await leastCpuMs(compare)).toBeLessThan(maxCpuMs);
});
