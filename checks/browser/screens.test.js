import { beforeAll, describe, expect, test } from "vitest";
import {
  assistantCredential,
  goTo,
  makeOperator,
  picture,
  waitForQuestion,
  seriousFindings,
  settled,
  startTurn,
} from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, open } = useDemo();
/** Every screen with something on it, and a text that is there once it has been read. */
let places;
beforeAll(async () => {
  const done = await startTurn(demo, { read: "notes/todo.md" });
  const asking = await startTurn(demo, { read: "private/diary.md" });
  const paying = await startTurn(demo, { pay: { to: "bob", amount: 20, reference: "The book" } });
  const [ask, pay] = [await waitForQuestion(demo, asking), await waitForQuestion(demo, paying)];
  const why = "actor=agent%3Aassistant&authority=human%3Aalice&owner=human%3Aalice&action=read&purpose=demo";
  const credential = await assistantCredential(demo);
  places = {
    now: ["now", /files\/private\/diary\.md/],
    questions: [`questions/${ask.id}`, "What an approval allows"],
    act: [`questions/${pay.id}`, "An approval is for exactly this, once"],
    turns: ["turns", asking],
    turn: [`turns/${asking}?of=agent%3Aassistant`, "no_matching_grant"],
    "turn-done": [`turns/${done}?of=agent%3Aassistant`, "What it came to"],
    grants: ["grants", "human:bob"],
    grant: ["grants/assistant-notes", "Where it comes from"],
    "grants-table": ["grants?view=table", "alice-files"],
    issue: ["grants/issue", "What it would change"],
    revoke: ["grants/assistant-notes/revoke", "it falls alone"],
    who: ["grants/who?resource=files%2Fnotes", "human:alice"],
    reach: ["grants/reach?actor=agent%3Aassistant", "files"],
    ever: ["grants/ever?actor=agent%3Aassistant", "As the grants are"],
    why: [`why?${why}&resource=files%2Fprivate%2Fdiary.md`, "This one grant would allow exactly this"],
    "why-allowed": [`why?${why}&resource=files%2Fnotes%2Ftodo.md`, "It is carried by the grant"],
    "what-if": ["why/what-if/revoke?grant=assistant-notes", "What would change"],
    trail: ["trail", /rows shown/],
    trace: [`trail/trace/${ask.traceId}`, /rows/],
    access: ["access", "agent:assistant"],
    operators: ["access/operators", "you"],
    tools: ["tools/namespaces?actor=agent%3Aassistant", "messages on"],
    servers: ["tools/servers", "The configuration of the host names them, under mcp.servers."],
    try: [`tools/try?credential=${credential}&tool=files.read`, "Call it"],
  };
});

const visit = async (page, name) => {
  const [place, text] = places[name];
  await goTo(page, `/console/demo/${place}`);
  const main = page.locator(`main[data-screen="${place.split(/[/?]/)[0]}"]`);
  await main.getByText(text).filter({ visible: true }).first().waitFor();
  await settled(page);
};

/** What a reader meets who walks through a page by its headings and controls. */
const outline = (page) =>
  page.evaluate(() => {
    const seen = (element) => element.checkVisibility({ visibilityProperty: true });
    const levels = [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")]
      .filter(seen)
      .map((one) => Number(one.tagName[1]));
    return {
      titles: levels.filter((level) => level === 1).length,
      jumps: levels.filter((level, at) => level - (levels[at - 1] ?? 0) > 1).length,
      mains: document.querySelectorAll("main").length,
      navigations: [...document.querySelectorAll("nav")].map((one) => one.ariaLabel),
    };
  });

// Axe takes longest. These two have both schemes, and both the menu and the drawer.
describe.each([
  { width: 360, scheme: "light" },
  { width: 360, scheme: "dark", isAxed: true },
  { width: 1280, scheme: "light", isAxed: true },
  { width: 1280, scheme: "dark" },
  { width: 1920, scheme: "light" },
  { width: 1920, scheme: "dark" },
])("at $width px, $scheme", ({ width, scheme, isAxed = false }) => {
  test("every screen opens with one title, fits its window, complains of nothing and asks no other server", async () => {
    const { page, problems, close } = await open("demo/now", { width, scheme, reducedMotion: "reduce" });
    const wrong = [];
    for (const name of Object.keys(places)) {
      await visit(page, name);
      const { isTooWide } = await picture(page, `${name}-${width}-${scheme}`);
      if (isTooWide) wrong.push(`${name} is wider than its window`);
      const findings = isAxed ? await seriousFindings(page) : [];
      wrong.push(...findings.map((finding) => `${name}: ${finding}`));
      const { titles, jumps, mains, navigations } = await outline(page);
      if (titles !== 1) wrong.push(`${name} has ${titles} titles`);
      if (jumps > 0) wrong.push(`${name} leaves out a level of its headings`);
      if (mains !== 1 || !navigations.includes("Screens")) wrong.push(`${name} lacks a landmark`);
      if (navigations.some((label) => !label)) wrong.push(`${name} has a navigation without a name`);
    }
    expect({ wrong, problems }).toEqual({ wrong: [], problems: [] });
    await close();
  });
});

test("every control of every screen has a name, and Tab leads past the menu to the content", async () => {
  const { page, close } = await open();
  for (const name of Object.keys(places)) {
    await visit(page, name);
    const tree = await page.getByRole("main").ariaSnapshot();
    const nameless = tree
      .split("\n")
      .filter((line) =>
        /^\s*- (button|link|textbox|combobox|checkbox|switch|radio|treeitem|searchbox)(:|$| \[)/.test(line),
      );
    expect({ name, nameless }).toEqual({ name, nameless: [] });
  }
  await page.reload();
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("Tab");
  await expect.poll(() => page.evaluate(() => document.activeElement.textContent)).toBe("Skip to the content");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate(() => document.activeElement.id)).toBe("content");
  await close();
});

/** Words of buttons and links that change something. */
const changes =
  /approve|deny|cancel|issue|derive|revoke|rotate|make|accept|call it|ask for|pay |read the notes|once more|go on and/i;

test("an auditor sees every screen and nothing on it that changes anything", async () => {
  const { operator } = await makeOperator(demo, "audrey", { role: "auditor" });
  const { page, problems, close } = await open("demo/now", { operator });
  const found = [];
  for (const name of Object.keys(places).filter((one) => !["issue", "revoke", "try"].includes(one))) {
    await visit(page, name);
    const controls = page
      .getByRole("main")
      .locator("button:enabled:not(.log-line), a.button, input[role=switch]:enabled");
    for (const text of await controls.allTextContents()) {
      // Their own token is the one thing that every operator may change.
      if (changes.test(text) && !/your own|credential of human:audrey/.test(text)) found.push(`${name}: ${text}`);
    }
  }
  await goTo(page, "/console/demo/grants/issue");
  await page.getByText("Your role may read grants, but not issue them.").waitFor();
  await goTo(page, "/console/demo/grants/assistant-notes/revoke");
  await page.getByText("Your role may read grants, but not revoke them.").waitFor();
  await goTo(page, `/console/demo/${places.try[0]}`);
  await page.getByText("Only admins call tools.").waitFor();
  expect({ found, problems }).toEqual({ found: [], problems: [] });
  await close();
});

test("a reviewer sees Now and Questions alone, and answers", async () => {
  const { operator } = await makeOperator(demo, "rita", { role: "reviewer" });
  const { page, problems, close } = await open("demo/now", { operator });
  const menu = page.getByRole("navigation", { name: "Screens" });
  await menu.getByRole("link", { name: /Questions/ }).waitFor();
  const titles = async () => (await menu.getByRole("link").allTextContents()).map((text) => text.replace(/\d.*/, ""));
  await expect.poll(titles).toEqual(["Now", "Questions"]);
  await goTo(page, "/console/demo/trail");
  await page.getByRole("heading", { level: 1, name: "Not for your role" }).waitFor();
  const executionId = await startTurn(demo, { pay: { to: "bob", amount: 3, reference: "Tea" } });
  const { id } = await waitForQuestion(demo, executionId);
  await goTo(page, `/console/demo/questions/${id}`);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText(/^You approved it/).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("an operator of one tenant sees that tenant alone", async () => {
  const bob = { kind: "human", userId: "bob" };
  const access = { actor: bob, owner: bob, purposes: ["other"] };
  await demo.operator.request("createCredential", { namespaceId: "other", access });
  const { operator } = await makeOperator(demo, "otto", { tenant: "other" });
  const { page, close } = await open("", { operator });
  // There is nothing to choose: the one tenant opens by itself.
  await page.getByRole("heading", { level: 1, name: "Now" }).waitFor();
  await page.waitForURL(`${demo.url}/console/other/now`);
  await settled(page);
  await expect.poll(() => page.getByLabel("Tenant").isEnabled()).toBe(false);
  await expect.poll(() => page.getByRole("heading", { name: "Hosts" }).count()).toBe(0);
  // Operators are not of a tenant. What is there is not shown as if they were.
  await goTo(page, "/console/other/access/operators");
  await page.getByText("You operate one tenant, and operators are not of a tenant.").waitFor();
  await expect.poll(() => page.getByText("human:bob").count()).toBe(0);
  await page.getByRole("link", { name: "Show the credentials of this tenant" }).click();
  await page.getByRole("main").getByText("human:bob").first().waitFor();
  await goTo(page, "/console/demo/grants");
  await page.getByRole("alert").first().waitFor();
  await settled(page);
  await expect.poll(() => page.getByText("assistant-notes").count()).toBe(0);
  await close();

  const all = await open();
  await all.page.getByLabel("Tenant").selectOption("other");
  await all.page.waitForURL(`${demo.url}/console/other/now`);
  await all.close();
});
