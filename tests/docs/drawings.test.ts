import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/repository.ts";

const folder = join(repository, "docs/pictures");
const drawings = readdirSync(folder).filter((name) => name.endsWith(".svg"));

test("there are drawings of the model", () => {
  expect(drawings.length).toBeGreaterThan(4);
});

test.each(drawings)("%s says in words what it shows, has colours for both schemes, and loads nothing", (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  expect(text).toMatch(/^<svg [^>]*role="img" aria-labelledby="title desc">/);
  expect(text).toMatch(/<title id="title">[^<]{10,}<\/title>/);
  expect(text).toMatch(/<desc id="desc">[^<]{80,}<\/desc>/);
  expect(text).toContain("prefers-color-scheme: dark");
  expect(text.replace('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(
    /https?:|@import|@font-face|<script|<image/,
  );
});
