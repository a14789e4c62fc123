import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, openPage, picture, seriousFindings } from "./browser.js";

// `npm run test:browser` has made it, and a page of it is opened as a file is: there is no server.
const folder = join(import.meta.dirname, "../.build/site");
const url = pathToFileURL(folder).href;
const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
const read = (name) => readFileSync(join(folder, name), "utf8");

let browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

test("every link of the site leads to a file and to a heading that is there, and no page asks another server", () => {
  const ids = new Map(
    pages.map((name) => [name, new Set([...read(name).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  );
  const broken = pages.flatMap((name) =>
    [...read(name).matchAll(/ (href|src)="([^"]*)"/g)].flatMap(([, kind, target]) => {
      if (/^[a-z]+:/.test(target)) return kind === "href" ? [] : [`${name}: ${target}`];
      const [path, anchor] = target.split("#");
      const file = path === "" ? name : join(dirname(name), path);
      const isThere = existsSync(join(folder, file)) && (anchor === undefined || ids.get(file)?.has(anchor));
      return isThere ? [] : [`${name}: ${target}`];
    }),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(broken).toEqual([]);
});

test("every page is in the menu of every page", () => {
  const menu = (name) =>
    new Set([...read(name).matchAll(/<li><a href="([^"#]+)"/g)].map(([, to]) => join(dirname(name), to)));
  for (const name of pages) expect(pages.filter((page) => !menu(name).has(page))).toEqual([]);
});

test("scripts and styles stay below 150 kB, and the index, which is loaded for a search alone, below 1.2 MB", () => {
  const size = (name) => statSync(join(folder, "assets", name)).size;
  const own = readdirSync(join(folder, "assets")).filter((name) => name !== "search-index.js");
  expect(own.reduce((sum, name) => sum + size(name), 0)).toBeLessThan(150_000);
  expect(size("search-index.js")).toBeLessThan(1_200_000);
});

test("search finds headings, codes and words with a slip, by keyboard, and leads to the section", async () => {
  const { page, problems, close } = await openPage(browser, { url, place: "guide/turns.html" });
  await page.keyboard.press("/");
  const field = page.getByRole("combobox", { name: "Search all pages" });
  const options = page.getByRole("option");
  await field.fill("replay_pending");
  await options.filter({ hasText: "Running the host" }).first().waitFor();
  await field.fill("nothing-has-these-words");
  await page.getByText("Nothing has these words.").waitFor();
  await field.fill("aproval");
  await expect.poll(() => options.count()).toBeGreaterThan(3);
  await field.fill("reporting a vulnerability");
  await options.filter({ hasText: "Security" }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/security-policy\.html#reporting-a-vulnerability$/);
  await page.keyboard.press("Control+k");
  // A page of a name is found before the sections that mention it.
  await field.fill("delegation");
  await expect.poll(() => options.first().getAttribute("href")).toMatch(/concepts\/delegation\.html$/);
  expect(problems).toEqual([]);
  expect(await seriousFindings(page)).toEqual([]);
  await close();
});

test("on a narrow screen the menu opens by its button", async () => {
  const { page, close } = await openPage(browser, { url, place: "index.html", width: 360 });
  const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Security", exact: true });
  expect(await link.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu" }).click();
  await link.click();
  await page.waitForURL(/security\.html$/);
  await close();
});

for (const [width, scheme] of [360, 800, 1280].flatMap((pixels) => [
  [pixels, "light"],
  [pixels, "dark"],
])) {
  test(`pages fit ${width} px in ${scheme} colours, and axe finds nothing serious`, async () => {
    for (const place of ["index.html", "concepts/turn.html"]) {
      const { page, problems, close } = await openPage(browser, { url, place, width, scheme });
      await page.getByRole("heading", { level: 1 }).waitFor();
      const name = `site-${place.replace(/\W+html$/, "").replaceAll("/", "-")}-${width}-${scheme}`;
      expect(await picture(page, name)).toEqual({ isTooWide: false });
      // Before axe, which tries to read the styles, and may not where a page comes from a folder.
      expect({ place, problems }).toEqual({ place, problems: [] });
      expect({ place, findings: await seriousFindings(page) }).toEqual({ place, findings: [] });
      await close();
    }
  });
}
