import { describe, expect, test } from "vitest";
import { matchesTemplate } from "./uri-template.ts";

describe("a template", () => {
  for (const [template, uri, matches] of [
    ["notes://all", "notes://all", true],
    ["notes://all", "notes://al", false],
    ["notes://{id}", "notes://17", true],
    ["notes://{id}", "notes://a%20b", true],
    ["notes://{id}", "notes://a/b", false],
    ["notes://{id}", "notes://", false],
    ["notes://{id}", "other://17", false],
    ["notes://{id}/{part}", "notes://17/text", true],
    ["notes://{id}/{part}", "notes://17", false],
    ["notes://{id}.{type}", "notes://a.b.c", true],
    ["notes://{a}{b}", "notes://x", false],
    ["notes://{a}{b}", "notes://xy", true],
    ["file:///{+path}", "file:///a/b/c?d#e", true],
    ["file:///{+path}", "file:///", false],
    ["{+path}/end", "a/end/b/end", true],
    ["{+path}/end", "a/end/b", false],
    ["page{#part}", "page#top", true],
    ["page{#part}", "pagetop", false],
    ["é{x}", "é1", true],
    // What is not understood matches nothing.
    ["search{?q}", "search?q=1", false],
    ["a{/b}", "a/b", false],
    ["a{b,c}", "a1,2", false],
    ["a{b*}", "a1", false],
    ["a{b:3}", "a1", false],
    ["a{}", "a", false],
    ["a{b", "a1", false],
    ["a}b", "a}b", false],
    ["a{{b}}", "a1", false],
    ["", "", true],
    ["", "a", false],
  ] as const) {
    test(`${JSON.stringify(template)} ${matches ? "makes" : "does not make"} ${JSON.stringify(uri)}`, () => {
      expect(matchesTemplate(template, uri)).toBe(matches);
    });
  }
});

test("no template is slow to compare: each character of a URI is looked at once", () => {
  const template = `${"{+a}x".repeat(60)}y`;
  const uri = "x".repeat(2000);
  const started = process.cpuUsage();
  expect(matchesTemplate(template, uri)).toBe(false);
  const { user, system } = process.cpuUsage(started);
  expect(user + system).toBeLessThan(2_000_000);
});

test("the length of a template is no work: 256 long ones are compared at once", () => {
  const template = `{a}${"x".repeat(2000)}`;
  const uri = "x".repeat(256);
  const started = process.cpuUsage();
  for (let count = 0; count < 256; count += 1) expect(matchesTemplate(template, uri)).toBe(false);
  const { user, system } = process.cpuUsage(started);
  expect(user + system).toBeLessThan(500_000);
});
