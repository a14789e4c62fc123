import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemo } from "../scripts/start-host.js";
import { openBrowser, openConsole } from "./browser.js";

let demo;
let browser;
const alice = { kind: "human", userId: "alice" };
beforeAll(async () => {
  const limits = { requestsPerSecond: 1_000_000, burst: 1_000_000 };
  [demo, browser] = await Promise.all([startDemo({ limits }), openBrowser()]);
  await Promise.all([decide(10_000), grant(2000), admit(260)]);
}, 240_000);
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

/** So many decisions, of which each is a row of the trail. */
async function decide(count) {
  const most = 250;
  await atOnce(count / most, 4, async (part) => {
    const evaluations = Array.from({ length: most }, (_, at) => ({
      resource: { type: "files", id: `${at % 5 === 0 ? "private" : "notes"}/${part}-${at}` },
    }));
    const body = { subject: { type: "agent", id: "assistant" }, action: { name: "read" }, evaluations };
    const response = await fetch(`${demo.url}/access/v1/evaluations`, {
      method: "POST",
      headers: { authorization: `Bearer ${demo.tokens.assistant}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });
}

async function grant(count) {
  const issuedAt = new Date().toISOString();
  await atOnce(count, 8, (at) => {
    const resource = { namespace: "files", path: ["many", String(at)] };
    return demo.operator.request("createGrant", {
      id: `many-${at}`,
      namespaceId: "demo",
      subject: { kind: "agent", agentId: `worker-${at % 40}` },
      issuer: alice,
      capabilities: [{ resource, actions: ["read"], scope: "exact" }],
      constraints: {},
      issuedAt,
    });
  });
}

async function admit(count) {
  await atOnce(count, 4, (at) => {
    const access = { actor: { kind: "agent", agentId: `worker-${at}` }, owner: alice, purposes: ["work"] };
    return demo.operator.request("createCredential", { namespaceId: "demo", access });
  });
}

async function atOnce(count, lanes, work) {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

const elements = (page) => page.evaluate(() => document.querySelectorAll("main *").length);

test("a trail of more than 10,000 rows opens, is read on, filtered and verified, and only rows near the window are drawn", async () => {
  const { page, problems, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: "demo/trail",
  });
  const shown = page.getByText(/rows shown/);
  await shown.waitFor();
  const count = async () => Number((await shown.textContent()).replaceAll(/\D/g, ""));
  for (let pages = 0; pages < 4; pages += 1) {
    const before = await count();
    // By the keyboard: rows that are drawn on the way to the button may move it under a pointer.
    await page.getByRole("button", { name: /^More/ }).press("Enter");
    await expect.poll(count).toBeGreaterThan(before);
  }
  expect(await count()).toBeGreaterThan(400);
  expect(await page.locator(".trail-line").count()).toBeLessThan(200);
  await page.evaluate(() => scrollTo(0, 0));
  await page.locator(".trail-line").first().click();
  await page.waitForURL(/open=/);
  await page.getByLabel("Outcome").selectOption("denied");
  await page
    .getByRole("button", { name: /may not read files\/private/ })
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  const verdict = page.getByText(/rows are what they were written as/);
  await verdict.waitFor();
  expect(Number(/([\d,]+) rows/.exec(await verdict.textContent())[1].replaceAll(",", ""))).toBeGreaterThan(10_000);
  expect(problems).toEqual([]);
  await close();
});

test("2,000 grants are drawn in part, found by a filter and read on in the table", async () => {
  const { page, problems, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: "demo/grants",
  });
  const tree = page.getByRole("tree");
  await tree.waitFor();
  expect(await tree.getByRole("treeitem").count()).toBeLessThan(300);
  await page.getByLabel("Held by").fill("agent:worker-7");
  await tree
    .getByRole("treeitem", { name: /^agent:worker-7 .*grant many-/ })
    .first()
    .waitFor();
  await expect.poll(() => tree.getByRole("treeitem", { name: /agent:worker-8 / }).count()).toBe(0);
  await page.getByLabel("Shown as").selectOption("table");
  await page.getByLabel("Held by").fill("");
  await page.getByRole("row").nth(20).waitFor();
  const first = await page.getByRole("row").count();
  expect(first).toBeLessThan(600);
  await page.getByRole("button", { name: /^More/ }).click();
  await expect.poll(() => page.getByRole("row").count()).toBeGreaterThan(first);
  expect(problems).toEqual([]);
  await close();
});

test("hundreds of credentials are read page by page, and one is found by its name", async () => {
  const { page, problems, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: "demo/access",
  });
  await page.getByRole("row").nth(5).waitFor();
  expect(await page.getByRole("row").count()).toBeLessThanOrEqual(201);
  expect(await elements(page)).toBeLessThan(10_000);
  await page.getByLabel("Actor or id").fill("worker-259");
  await expect
    .poll(async () => {
      const more = page.getByRole("button", { name: /^More/ });
      if (await more.isEnabled({ timeout: 500 }).catch(() => false)) await more.click();
      return page.getByRole("link", { name: "agent:worker-259" }).count();
    })
    .toBe(1);
  expect(problems).toEqual([]);
  await close();
});
