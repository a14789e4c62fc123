import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { makeOperator, openPage, startTurn, waitForQuestion } from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, browser, open } = useDemo({ limits: { requestsPerSecond: 1_000_000, burst: 1_000_000 } });
const alice = { kind: "human", userId: "alice" };

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

/** Makes a grant, which every screen of the audit log hears of. */
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

/** The rows of the audit log as a tab shows them. */
const rows = (page) => page.locator(".log-line").allTextContents();

/** Waits until each tab shows what one that is opened now does: nothing is missing, and nothing is there twice. */
async function showTheSame(tabs, place = "demo/trail") {
  const fresh = await openTab(tabs[0].context(), place);
  await fresh.locator(".log-line").first().waitFor();
  for (const tab of tabs) {
    await expect
      .poll(async () => ({ shown: await rows(tab), expected: await rows(fresh) }))
      .toSatisfy(({ shown, expected }) => isDeepStrictEqual(shown, expected));
  }
  await fresh.close();
}

test("ten tabs load and are live by one stream, and when the leader is closed another goes on without a gap", async () => {
  const { page, close } = await open("demo/trail");
  await isLive(page);
  const context = page.context();
  // No tab takes the lead from one that is slow to answer, as each is while ten are loaded.
  await context.addInitScript((answerMs) => {
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (run, ms, ...args) => setTimeout(run, ms === answerMs ? 600_000 : ms, ...args);
  }, 4000);
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
  await waitForQuestion(demo, await startTurn(demo, { read: "private/diary.md" }));
  const { page, close } = await open("demo/why");
  // For the page no time passes but what it is told of, however busy this machine is.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.reload();
  const becomesLive = async () => {
    await expect
      .poll(async () => {
        await page.clock.runFor(100);
        return (await page.locator(".live-state").allTextContents()).join("");
      })
      .toMatch(/^Live/);
  };
  await becomesLive();
  // The first that the stream says: nothing is on its way any more.
  await page.getByRole("link", { name: "Questions 1 waiting" }).waitFor();
  demo.freeze();
  try {
    await page.clock.fastForward(44_000);
    await isLive(page);
    await page.clock.fastForward(3000);
    await isNotLive(page);
  } finally {
    demo.thaw();
  }
  await becomesLive();
  await expect.poll(() => page.getByText(/^Not live/).count()).toBe(0);
  await close();
});

test("a leader that hangs is replaced by a tab that is seen", async () => {
  const { page, close } = await open("demo/trail");
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
  const { page, close } = await open("ten-a/trail");
  await isLive(page);
  const tabs = [];
  for (const tenant of tenants.slice(1)) {
    const tab = await openTab(page.context(), `${tenant}/trail`);
    await tab.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await tab.locator(".log-line").first().waitFor();
    tabs.push(tab);
  }
  await isLive(tabs.at(-1));
  await tabs.at(-1).goto(`${demo.url}/docs`);
  await makeGrant("ten-g");
  await tabs.at(-1).goBack();
  await isLive(tabs.at(-1));
  await showTheSame([tabs.at(-1)], "ten-g/trail");
  await expect.poll(() => tabs[0].getByRole("heading", { level: 1 }).textContent()).toBe("Audit log");
  await close();
});

test("a tab of another operator hears nothing of what the one before may see", async () => {
  const { page, close } = await open("demo/trail");
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
