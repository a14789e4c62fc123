import { beforeAll, expect, test } from "vitest";
import { useDemo } from "./use-demo.js";

const { demo, open } = useDemo({ limits: { requestsPerSecond: 1_000_000, burst: 1_000_000 } });
const alice = { kind: "human", userId: "alice" };
beforeAll(async () => {
  await Promise.all([decide(10_000), grant(2000), admit(260)]);
}, 240_000);

/** So many decisions, of which each is a row of the audit log. */
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

test("an audit log of more than 10,000 rows opens, is read on, filtered and verified, and only rows near the window are drawn", async () => {
  const { page, problems, close } = await open("demo/trail");
  const shown = page.getByText(/rows shown/);
  await shown.waitFor();
  const count = async () => Number((await shown.textContent()).replaceAll(/\D/g, ""));
  for (let pages = 0; pages < 4; pages += 1) {
    const before = await count();
    // By the keyboard: rows that are drawn on the way to the button may move it under a pointer.
    await page.getByRole("button", { name: /^More/ }).press("Enter");
    await expect.poll(count).toBeGreaterThan(before);
  }
  await expect.poll(() => count()).toBeGreaterThan(400);
  await expect.poll(() => page.locator(".log-line").count()).toBeLessThan(200);
  await page.evaluate(() => scrollTo(0, 0));
  // By the keyboard again: rows are drawn anew near the window.
  await page.locator(".log-line").first().press("Enter");
  await page.waitForURL(/open=/);
  await page.getByLabel("Outcome").selectOption("denied");
  await page
    .getByRole("button", { name: /may not read files\/private/ })
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  const verdict = page.getByText(/rows are what they were written as/);
  const verified = async () => Number(/([\d,]+) rows/.exec(await verdict.textContent())[1].replaceAll(",", ""));
  await expect.poll(verified).toBeGreaterThan(10_000);
  expect(problems).toEqual([]);
  await close();
});

test("2,000 grants are drawn in part, found by a filter and read on in the table", async () => {
  const { page, problems, close } = await open("demo/grants");
  const tree = page.getByRole("tree");
  await tree.getByRole("treeitem").first().waitFor();
  await expect.poll(() => tree.getByRole("treeitem").count()).toBeLessThan(300);
  await page.getByLabel("Held by").fill("agent:worker-7");
  await tree
    .getByRole("treeitem", { name: /^agent:worker-7 .*grant many-/ })
    .first()
    .waitFor();
  await expect.poll(() => tree.getByRole("treeitem", { name: /agent:worker-8 / }).count()).toBe(0);
  await page.getByLabel("Shown as").selectOption("table");
  await page.getByLabel("Held by").fill("");
  await page
    .getByRole("row", { name: /agent:worker-8 / })
    .first()
    .waitFor();
  const first = await page.getByRole("row").count();
  expect(first).toBeGreaterThan(20);
  expect(first).toBeLessThan(600);
  await page.getByRole("button", { name: /^More/ }).click();
  await expect.poll(() => page.getByRole("row").count()).toBeGreaterThan(first);
  expect(problems).toEqual([]);
  await close();
});

test("hundreds of credentials are read page by page, and one is found by its name", async () => {
  const { page, problems, close } = await open("demo/access");
  await page.getByRole("row").nth(5).waitFor();
  await expect.poll(() => page.getByRole("row").count()).toBeLessThanOrEqual(201);
  await expect.poll(() => elements(page)).toBeLessThan(10_000);
  await page.getByLabel("Actor or id").fill("worker-259");
  await expect
    .poll(async () => {
      await page.evaluate(() => document.querySelector("button.more:enabled")?.click());
      return page.getByRole("link", { name: "agent:worker-259" }).count();
    })
    .toBe(1);
  expect(problems).toEqual([]);
  await close();
});
