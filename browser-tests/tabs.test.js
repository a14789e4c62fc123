import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemo } from "../scripts/start-host.js";
import { makeOperator, openBrowser, openConsole, openPage } from "./browser.js";

let demo;
let browser;
const alice = { kind: "human", userId: "alice" };
beforeAll(async () => {
  const limits = { requestsPerSecond: 1_000_000, burst: 1_000_000 };
  [demo, browser] = await Promise.all([startDemo({ limits }), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const said = (page, text) => page.locator(".live-state").filter({ hasText: text }).waitFor();
const isLive = (page) => said(page, /^Live/);
const isNotLive = (page) => said(page, /^Not live/);

/** Opens another tab of the same browser, and counts the streams that it opens. */
async function openTab(context, place, streams) {
  const page = await context.newPage();
  page.on("request", (request) => {
    if (request.url().includes("/admin/v1/events")) streams?.push(page);
  });
  await page.goto(`${demo.url}/console/${place}`);
  return page;
}

/** Makes a grant, which every screen of the trail hears of. */
let grants = 0;
async function makeGrant(namespaceId = "demo") {
  const id = `tab-grant-${++grants}`;
  await demo.operator.request("createGrant", {
    id,
    namespaceId,
    subject: { kind: "agent", agentId: "tabs" },
    issuer: alice,
    capabilities: [{ resource: { namespace: "files", path: ["tabs"] }, actions: ["read"], scope: "exact" }],
    constraints: {},
    issuedAt: new Date().toISOString(),
  });
  return id;
}

/** The rows of the trail as a tab shows them. */
const rows = (page) => page.locator(".trail-line").allTextContents();

/** Waits until each tab shows what one that is opened now does: nothing is missing, and nothing is there twice. */
async function showTheSame(tabs, place = "demo/trail") {
  const fresh = await openTab(tabs[0].context(), place);
  await fresh.locator(".trail-line").first().waitFor();
  const expected = await rows(fresh);
  for (const tab of tabs) await expect.poll(() => rows(tab)).toEqual(expected);
  await fresh.close();
}

test("ten tabs load and are live by one stream, and when the leader is closed another goes on without a gap", async () => {
  const { page, close } = await openConsole(browser, { url: demo.url, operator: demo.operator, place: "demo/trail" });
  await isLive(page);
  const context = page.context();
  const streams = [];
  const tabs = [];
  for (let number = 2; number <= 10; number += 1) tabs.push(await openTab(context, "demo/trail", streams));
  await Promise.all(tabs.map(isLive));
  expect(streams).toEqual([]);

  await makeGrant();
  await showTheSame([page, ...tabs]);
  await Promise.all([page.close(), makeGrant(), makeGrant()]);
  await expect.poll(() => streams.length).toBe(1);
  await makeGrant();
  await showTheSame(tabs);
  expect(streams.length).toBe(1);
  await close();
});

test("a frozen host is said to be not live, and live again once it goes on", async () => {
  const { page, close } = await openConsole(browser, { url: demo.url, operator: demo.operator, place: "demo/why" });
  await page.clock.install();
  await page.reload();
  await isLive(page);
  demo.freeze();
  try {
    await page.clock.fastForward(44_000);
    await isLive(page);
    await page.clock.fastForward(3000);
    await isNotLive(page);
  } finally {
    demo.thaw();
  }
  await page.clock.fastForward(5000);
  await isLive(page);
  expect(await page.getByText(/^Not live/).count()).toBe(0);
  await close();
});

test("a leader that hangs is replaced by a tab that is seen", async () => {
  const { page, close } = await openConsole(browser, { url: demo.url, operator: demo.operator, place: "demo/trail" });
  await isLive(page);
  const streams = [];
  const other = await openTab(page.context(), "demo/trail", streams);
  await isLive(other);
  // Nothing of the page runs until it is let go on: as in a page that a browser has frozen, without a word before.
  const debug = await page.context().newCDPSession(page);
  await debug.send("Debugger.enable");
  const paused = new Promise((resolve) => debug.once("Debugger.paused", resolve));
  await debug.send("Debugger.pause");
  await paused;
  await makeGrant();
  await expect.poll(() => streams.length).toBe(1);
  await showTheSame([other]);
  await debug.send("Debugger.resume");
  await isLive(page);
  await showTheSame([page]);
  await close();
});

test("tabs of several tenants share the streams, and a page that is put away and brought back goes on", async () => {
  const tenants = ["ten-a", "ten-b", "ten-c", "ten-d", "ten-e", "ten-f", "ten-g"];
  for (const tenant of tenants) await makeGrant(tenant);
  const { page, close } = await openConsole(browser, { url: demo.url, operator: demo.operator, place: "ten-a/trail" });
  await isLive(page);
  const tabs = [];
  for (const tenant of tenants.slice(1)) {
    const tab = await openTab(page.context(), `${tenant}/trail`);
    await tab.getByRole("heading", { level: 1, name: "Trail" }).waitFor();
    await tab.locator(".trail-line").first().waitFor();
    tabs.push(tab);
  }
  await isLive(tabs.at(-1));
  await tabs.at(-1).goto(`${demo.url}/docs`);
  await makeGrant("ten-g");
  await tabs.at(-1).goBack();
  await isLive(tabs.at(-1));
  await showTheSame([tabs.at(-1)], "ten-g/trail");
  expect(await tabs[0].getByRole("heading", { level: 1 }).textContent()).toBe("Trail");
  await close();
});

test("a tab of another operator hears nothing of what the one before may see", async () => {
  const { page, close } = await openConsole(browser, { url: demo.url, operator: demo.operator, place: "demo/trail" });
  await isLive(page);
  const { operator } = await makeOperator(demo, "rick", { role: "reviewer" });
  const { code } = await operator.request("createCode", {});
  const other = await openTab(page.context(), `demo/now#code=${code}`);
  await other.getByRole("heading", { level: 1, name: "Now" }).waitFor();
  await isLive(other);
  const names = await other.evaluate(() => navigator.locks.query().then(({ held }) => held.map(({ name }) => name)));
  expect(new Set(names).size).toBe(names.length);
  await close();
});

test("where a browser has no locks each tab has a stream while it is seen", async () => {
  const { page, close } = await openPage(browser, { url: demo.url, place: "docs" });
  const { code } = await demo.operator.request("createCode", {});
  await page.context().addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
  const streams = [];
  const tab = await openTab(page.context(), `demo/now#code=${code}`, streams);
  await isLive(tab);
  const second = await openTab(page.context(), "demo/now", streams);
  await isLive(second);
  expect(streams).toEqual([tab, second]);
  const hide = (isHidden) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, value: isHidden ? "hidden" : "visible" });
    document.dispatchEvent(new Event("visibilitychange"));
  };
  await tab.evaluate(hide, true);
  await isNotLive(tab);
  await tab.evaluate(hide, false);
  await isLive(tab);
  await close();
});
