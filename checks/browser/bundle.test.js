import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../packages/host/dist/console");

/** The scripts that a page loads: those that it names, and those that they import. */
function scriptsOf(page) {
  const found = new Set();
  const visit = (name) => {
    if (found.has(name)) return;
    found.add(name);
    const text = readFileSync(join(folder, "assets", name), "utf8");
    for (const [, imported] of text.matchAll(/(?:from|import)\s*\(?["'`]\.\/([^"'`]+\.js)["'`]/g)) visit(imported);
  };
  const html = readFileSync(join(folder, page), "utf8");
  for (const [, name] of html.matchAll(/src="\/console\/assets\/([^"]+\.js)"/g)) visit(name);
  return [...found];
}

for (const { page, most } of [
  { page: "index.html", most: 75_000 },
  { page: "docs.html", most: 20_000 },
  { page: "me.html", most: 20_000 },
]) {
  test(`${page} loads at most ${most} bytes of JavaScript, gzipped`, () => {
    const found = scriptsOf(page);
    const sizes = found.map((name) => gzipSync(readFileSync(join(folder, "assets", name)), { level: 9 }).length);
    expect(found).toHaveLength(1);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(most);
  });
}
