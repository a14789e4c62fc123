import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { capabilityCases, nameCases } from "../packages/host/test/display-cases.ts";
import { startDemo } from "../scripts/start-host.js";
import { goTo, openBrowser, openConsole, picture, seriousFindings, startTurn, waitForQuestion } from "./browser.js";

/** A name of the longest kind: right to left, with what is hidden, and without a place to break it. */
const hostile = `\u202E\u05E9\u05DC\u05D5\u05DD\u200B${"w".repeat(200)}-\u0645\u0631\u062D\u0628\u0627`;
const shown = `<U+202E>\u05E9\u05DC\u05D5\u05DD<U+200B>${"w".repeat(200)}-\u0645\u0631\u062D\u0628\u0627`;
const alice = { kind: "human", userId: "alice" };
const named = { kind: "agent", agentId: hostile };

let demo;
let browser;
/** Every screen with such names on it. */
let places;
beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
  const { operator } = demo;
  const grant = (id, changes = {}) =>
    operator.request("createGrant", {
      id,
      namespaceId: "demo",
      subject: named,
      issuer: alice,
      capabilities: [
        {
          resource: { namespace: hostile, path: [hostile], owner: { kind: "human", userId: hostile } },
          actions: [hostile.slice(0, 120), "read"],
          scope: "descendants",
          approval: "each",
        },
      ],
      constraints: { purposes: [hostile], delegationDepth: 2 },
      issuedAt: "2026-01-01T00:00:00Z",
      ...changes,
    });
  await grant(hostile);
  await operator.request("deriveGrant", {
    namespaceId: "demo",
    parentId: hostile,
    id: `${hostile.slice(0, 200)}2`,
    subject: { kind: "group", conversationId: hostile },
  });
  const access = { actor: named, owner: alice, purposes: [hostile, "other"], senders: [named] };
  const { id: credential } = await operator.request("createCredential", { namespaceId: "demo", access });
  await operator.request("createCredential", { namespaceId: hostile, access });
  const turn = await startTurn(demo, { pay: { to: "bob", amount: 1, reference: hostile.slice(0, 130) } });
  const pay = await waitForQuestion(demo, turn);
  const asking = await startTurn(demo, { read: `private/${hostile}` });
  const ask = await waitForQuestion(demo, asking);
  const who = encodeURIComponent(`agent:${hostile}`);
  const id = encodeURIComponent(hostile);
  const why = `actor=${who}&authority=human%3Aalice&owner=human%3Aalice&action=read&purpose=${id}&resource=${id}%2Fx`;
  const own = encodeURIComponent(hostile);
  places = {
    now: "demo/now",
    questions: `demo/questions/${ask.id}`,
    act: `demo/questions/${pay.id}`,
    turns: "demo/turns",
    turn: `demo/turns/${asking}?of=agent%3Aassistant`,
    grants: "demo/grants",
    grant: `demo/grants/${id}`,
    "grants-table": "demo/grants?view=table",
    derive: `demo/grants/${id}/derive`,
    revoke: `demo/grants/${id}/revoke`,
    who: `demo/grants/who?resource=${id}%2F${id}`,
    reach: `demo/grants/reach?actor=${who}&authority=human%3Aalice&purpose=${id}`,
    why: `demo/why?${why}`,
    trail: "demo/trail",
    trace: `demo/trail/trace/${ask.traceId}`,
    access: "demo/access",
    tools: `demo/tools/namespaces?actor=${who}`,
    try: `demo/tools/try?credential=${credential}`,
    "now-of-tenant": `${own}/now`,
    "grants-of-tenant": `${own}/grants`,
    "access-of-tenant": `${own}/access`,
    tenants: "",
  };
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

describe.each([
  { width: 360, scheme: "light" },
  { width: 1280, scheme: "dark" },
])("at $width px", ({ width, scheme }) => {
  test("no screen is made wider than its window by a name, and nothing is hidden in any", async () => {
    const { page, problems, close } = await openConsole(browser, {
      url: demo.url,
      operator: demo.operator,
      width,
      scheme,
      reducedMotion: "reduce",
    });
    const wrong = [];
    for (const [name, place] of Object.entries(places)) {
      await goTo(page, `/console/${place}`);
      const [, screen] = place.split(/[/?]/);
      if (screen !== undefined) await page.locator(`main[data-screen="${screen}"]`).waitFor();
      // Every one of them has such a name on it once it is read.
      await expect
        .poll(() =>
          page.evaluate(() => [
            document.body.textContent.includes("w".repeat(50)),
            document.querySelectorAll(".loading").length,
          ]),
        )
        .toEqual([true, 0]);
      const { isTooWide } = await picture(page, `names-${name}-${width}`);
      if (isTooWide) wrong.push(`${name} is wider than its window`);
      wrong.push(...(await seriousFindings(page)).map((finding) => `${name}: ${finding}`));
      // Only what isolates a name in a text without elements is there; no character of the names themselves.
      const text = await page.evaluate(() => document.body.innerText);
      if (/[\u202E\u200B]/.test(text)) wrong.push(`${name} has what is hidden`);
    }
    expect({ wrong, problems }).toEqual({ wrong: [], problems: [] });
    await close();
  });
});

test("a name is shown whole in lists, and in full beside the picture that cuts it", async () => {
  const { page, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: `demo/grants/${encodeURIComponent(hostile)}`,
    width: 360,
  });
  const detail = page.getByRole("region", { name: `Grant ${shown}` });
  await expect.poll(() => detail.getByRole("heading", { level: 2 }).textContent()).toBe(shown);
  const node = page.getByRole("treeitem", { name: `agent:${shown}` }).first();
  expect(await node.locator("title").textContent()).toContain(shown);
  await goTo(page, "/console/demo/grants?view=table");
  const row = page.getByRole("row").filter({ hasText: `agent:${shown}` });
  await row.first().waitFor();
  const may = await row.first().getByRole("cell").nth(4).textContent();
  // The command says the same: owner and approval included.
  expect(may).toContain(`of human:${shown} (needs approval)`);
  await close();
});

test("the page shows the cases of the shared table as the command does", async () => {
  await demo.operator.request("createGrant", {
    id: "cases",
    namespaceId: "demo",
    subject: { kind: "agent", agentId: "cases" },
    issuer: alice,
    capabilities: capabilityCases.map(({ capability }) => capability),
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
  });
  const purposes = nameCases.map(({ text }) => text).filter((text) => text.isWellFormed() && !text.includes("\n"));
  const { page, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: "demo/grants/cases",
  });
  const detail = page.getByRole("region", { name: "Grant cases" });
  await detail.locator(".may li").first().waitFor();
  expect(await detail.locator(".may li").allTextContents()).toEqual(capabilityCases.map((row) => row.shown));
  // Where a grant comes from, in the table and on Why, it says the same.
  const line = capabilityCases.map((row) => row.shown).join("; ");
  expect(await detail.locator(".chain .hint").first().textContent()).toBe(line);
  await goTo(page, "/console/demo/grants?view=table");
  await page.getByRole("cell", { name: line, exact: true }).waitFor();

  for (const text of purposes) {
    const { shown: expected } = nameCases.find((one) => one.text === text);
    await goTo(page, `/console/demo/trail/trace/${encodeURIComponent(text)}`);
    await expect.poll(() => page.getByRole("heading", { level: 1 }).locator("bdi").textContent()).toBe(expected);
  }
  await close();
});
