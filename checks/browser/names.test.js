import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { capabilityCases, nameCases } from "../../packages/host/test/display-cases.ts";
import { goTo, picture, seriousFindings, startTurn, waitForQuestion } from "./browser.js";
import { useDemo } from "./use-demo.js";

/** A name of the longest kind: right to left, with what is hidden, and without a place to break it. */
const hostile = `\u202E\u05E9\u05DC\u05D5\u05DD\u200B${"w".repeat(200)}-\u0645\u0631\u062D\u0628\u0627`;
const shown = `<U+202E>\u05E9\u05DC\u05D5\u05DD<U+200B>${"w".repeat(200)}-\u0645\u0631\u062D\u0628\u0627`;
const own = encodeURIComponent(hostile);
const alice = { kind: "human", userId: "alice" };
const named = { kind: "agent", agentId: hostile };

// No server listens there: what the webhook is told fails, and says why.
const notify = { webhooks: [{ url: "http://127.0.0.1:9/hook", secretEnv: "HOOK_SECRET" }] };
const server = fileURLToPath(new URL("hostile-server.js", import.meta.url));
const mcp = { servers: { hostile: { command: [process.execPath, server] } } };
const { demo, open } = useDemo({ notify, mcp, env: { HOOK_SECRET: "a secret that is long enough for this" } });
/** Every screen with such names on it. */
let places;
beforeAll(async () => {
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
    searched: `demo/trail?text=${"w".repeat(200)}&grant=${id}`,
    webhooks: "demo/webhooks",
    review: "demo/tools/servers/hostile",
    access: "demo/access",
    tools: `demo/tools/namespaces?actor=${who}`,
    try: `demo/tools/try?credential=${credential}`,
    "now-of-tenant": `${own}/now`,
    "grants-of-tenant": `${own}/grants`,
    "access-of-tenant": `${own}/access`,
    tenants: "",
  };
});

describe.each([
  { width: 360, scheme: "light" },
  { width: 1280, scheme: "dark" },
])("at $width px", ({ width, scheme }) => {
  test("no screen is made wider than its window by a name, and nothing is hidden in any", async () => {
    const { page, problems, close } = await open("demo/now", { width, scheme, reducedMotion: "reduce" });
    const wrong = [];
    for (const [name, place] of Object.entries(places)) {
      await goTo(page, `/console/${place}`);
      const [, screen] = place.split(/[/?]/);
      if (screen !== undefined) await page.locator(`main[data-screen="${screen}"]`).waitFor();
      // Every one of them has such a name on it once it is read, but for the messages to webhooks: those name no one.
      const text = name === "webhooks" ? "escalation.opened" : "w".repeat(50);
      // The screens of the tenant of this name have it in the choice of the tenant.
      const where = place.startsWith(own) ? "body" : "main";
      await expect
        .poll(
          () =>
            page.locator(where).evaluate(
              (element, wanted) => ({
                isThere: element.textContent.includes(wanted),
                loading: document.querySelectorAll(".loading").length,
              }),
              text,
            ),
          { message: name },
        )
        .toEqual({ isThere: true, loading: 0 });
      const { isTooWide } = await picture(page, `names-${name}-${width}`);
      if (isTooWide) wrong.push(`${name} is wider than its window`);
      wrong.push(...(await seriousFindings(page)).map((finding) => `${name}: ${finding}`));
      // Only what isolates a name in a text without elements is there; no character of the names themselves.
      const all = await page.evaluate(() => document.body.innerText);
      if (/[\u202E\u200B]/.test(all)) wrong.push(`${name} has what is hidden`);
    }
    expect({ wrong, problems }).toEqual({ wrong: [], problems: [] });
    await close();
  });
});

test.each([360, 1280])(
  "what is found at %i px is no wider than the search, and nothing is hidden in it",
  async (width) => {
    const { page, problems, close } = await open("demo/now", { width });
    await page.getByRole("button", { name: "Find" }).click();
    const search = page.getByRole("dialog", { name: "Find" });
    await search.getByRole("combobox").fill("wwwwwwww");
    await search.getByRole("option").first().waitFor();
    const { isTooWide } = await picture(page, `names-search-${width}`);
    const isCut = await search.evaluate((dialog) => dialog.scrollWidth > dialog.clientWidth);
    expect({ isTooWide, isCut }).toEqual({ isTooWide: false, isCut: false });
    await expect.poll(() => search.innerText()).toContain("<U+202E>");
    await expect.poll(() => search.innerText()).not.toMatch(/[\u202E\u200B]/);
    expect(problems).toEqual([]);
    await close();
  },
);

test("the first review of a server shows hostile texts whole, with what is hidden in them", async () => {
  const { page, close } = await open("demo/tools/servers/hostile", { width: 360 });
  const table = page.getByRole("region", { name: "New tools" });
  await expect.poll(() => table.textContent()).toContain(shown);
  await close();
});

test("a name is shown whole in lists, and in full beside the picture that cuts it", async () => {
  const { page, close } = await open(`demo/grants/${encodeURIComponent(hostile)}`, { width: 360 });
  const detail = page.getByRole("region", { name: `Grant ${shown}` });
  await expect.poll(() => detail.getByRole("heading", { level: 2 }).textContent()).toBe(shown);
  const node = page.getByRole("treeitem", { name: `agent:${shown}` }).first();
  await expect.poll(() => node.locator("title").textContent()).toContain(shown);
  await goTo(page, "/console/demo/grants?view=table");
  const row = page.getByRole("row").filter({ hasText: `agent:${shown}` });
  await row.first().waitFor();
  const may = row.first().getByRole("cell").nth(4);
  // The command says the same: owner and approval included.
  await expect.poll(() => may.textContent()).toContain(`of human:${shown} (needs approval)`);
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
  const { page, close } = await open("demo/grants/cases");
  const detail = page.getByRole("region", { name: "Grant cases" });
  await detail.locator(".may li").first().waitFor();
  await expect.poll(() => detail.locator(".may li").allTextContents()).toEqual(capabilityCases.map((row) => row.shown));
  // Where a grant comes from, in the table and on Why, it says the same.
  const line = capabilityCases.map((row) => row.shown).join("; ");
  await expect.poll(() => detail.locator(".chain .hint").first().textContent()).toBe(line);
  await goTo(page, "/console/demo/grants?view=table");
  await page.getByRole("cell", { name: line, exact: true }).waitFor();

  for (const text of purposes) {
    const { shown: expected } = nameCases.find((one) => one.text === text);
    await goTo(page, `/console/demo/trail/trace/${encodeURIComponent(text)}`);
    await expect.poll(() => page.getByRole("heading", { level: 1 }).locator("bdi").textContent()).toBe(expected);
  }
  await close();
});
