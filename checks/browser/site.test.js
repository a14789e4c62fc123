import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, openPage, picture, seriousFindings } from "./browser.js";

// `npm run test:browser` has made it.
const folder = join(import.meta.dirname, "../../.build/site");
const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".html") && name !== "404.html",
);
const read = (name) => readFileSync(join(folder, name), "utf8");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const server = createServer((request, response) => {
  const file = join(folder, decodeURI(new URL(request.url, "http://site").pathname));
  if (!existsSync(file) || statSync(file).isDirectory()) return response.writeHead(404).end();
  response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
  createReadStream(file).pipe(response);
});

let browser;
let url;
beforeAll(async () => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${server.address().port}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  server.close();
});

/** Opens a page of the site, and waits until its scripts have taken over from what was drawn before. */
async function open(options) {
  const opened = await openPage(browser, { url, ...options });
  await opened.page.waitForFunction(() => "__vue_app__" in document.querySelector("#app"));
  return opened;
}

test("every link of the site leads to a file and to a heading that is there, and no page asks another server", () => {
  const ids = new Map(
    pages.map((name) => [name, new Set([...read(name).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]),
  );
  const broken = pages.flatMap((name) =>
    [...read(name).matchAll(/<(a|link|script|img)\b[^>]* (?:href|src)="([^"]*)"/g)].flatMap(([, tag, target]) => {
      if (/^[a-z]+:/.test(target)) return tag === "a" ? [] : [`${name}: ${target}`];
      const [path, anchor] = decodeURI(target).split("#");
      const file = path === "" ? name : path === "/" ? "index.html" : path.slice(1);
      const isThere = existsSync(join(folder, file)) && (anchor === undefined || ids.get(file)?.has(anchor));
      return isThere ? [] : [`${name}: ${target}`];
    }),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(broken).toEqual([]);
});

test("every page is in the menu of every page", () => {
  const menu = (name) =>
    new Set(
      [...read(name).matchAll(/<a class="[^"]*\blink\b[^"]*" href="\/([^"#]*)"/g)].map(([, to]) => to || "index.html"),
    );
  for (const name of pages) expect(pages.filter((page) => !menu(name).has(page))).toEqual([]);
});

test("what all pages load stays below 300 kB, and the index, which is loaded for a search alone, below 1.2 MB", () => {
  const sizes = (pattern) =>
    readdirSync(join(folder, "assets"), { recursive: true, encoding: "utf8" })
      .filter((name) => pattern.test(name))
      .map((name) => statSync(join(folder, "assets", name)).size);
  const shared = sizes(/^(chunks\/(framework|theme)|app|style)\./);
  expect(shared).toHaveLength(4);
  expect(shared.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000);
  const index = sizes(/^chunks\/@localSearchIndex/);
  expect(index).toHaveLength(1);
  expect(index[0]).toBeLessThan(1_200_000);
});

test("a page can be read, and its links followed, without scripts", async () => {
  const { page, problems, close } = await openPage(browser, { url, place: "index.html", javaScriptEnabled: false });
  await page.getByRole("main").getByRole("link", { name: "Installing" }).first().click();
  await page.waitForURL(/guide\/install\.html$/);
  await page.getByRole("heading", { level: 1, name: "Installing" }).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("search finds headings, codes and words with a slip, by keyboard, and leads to the section", async () => {
  const { page, problems, close } = await open({ place: "guide/turns.html" });
  await page.keyboard.press("/");
  const field = page.getByRole("searchbox");
  const options = page.getByRole("option");
  await field.fill("replay_pending");
  await options.filter({ hasText: "Running the host" }).first().waitFor();
  await field.fill("nothing-has-these-words");
  await page.getByText("Nothing has these words").waitFor();
  await field.fill("aproval");
  await expect.poll(() => options.count()).toBeGreaterThan(3);
  await field.fill("reporting a vulnerability");
  const first = () => options.first().getByRole("link").getAttribute("href");
  await expect.poll(first).toMatch(/security\.html#reporting-a-vulnerability$/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/security\.html#reporting-a-vulnerability$/);
  await field.waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  // A page of a name is found before the sections that mention it.
  await field.fill("delegation");
  await expect.poll(first).toMatch(/concepts\/delegation\.html/);
  expect(problems).toEqual([]);
  await close();
});

test("on a narrow screen the menu opens by its button", async () => {
  const { page, close } = await open({ place: "index.html", width: 360 });
  const link = page.locator("#VPSidebarNav").getByRole("link", { name: "Security policy", exact: true });
  await expect.poll(() => link.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Menu", exact: true }).click();
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
      const { page, problems, close } = await open({ place, width, scheme });
      await page.getByRole("heading", { level: 1 }).waitFor();
      const name = `site-${place.replace(/\W+html$/, "").replaceAll("/", "-")}-${width}-${scheme}`;
      expect(await picture(page, name)).toEqual({ isTooWide: false });
      expect({ place, problems }).toEqual({ place, problems: [] });
      expect({ place, findings: await seriousFindings(page) }).toEqual({ place, findings: [] });
      await close();
    }
  });
}
