import { beforeAll, expect, test } from "vitest";
import { goTo, makeOperator, seriousFindings, startTurn, waitForQuestion } from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, open } = useDemo();
let turn;
let question;
beforeAll(async () => {
  turn = await startTurn(demo, { read: "private/diary.md" });
  question = await waitForQuestion(demo, turn);
});

const h1 = (page, name) => page.getByRole("heading", { level: 1, name, exact: true });
const options = (page) => page.getByRole("listbox", { name: "What was found" }).getByRole("option");
const field = (page) => page.getByRole("combobox", { name: "A name, an id, or a part of one" });
const focused = (page) => page.evaluate(() => document.activeElement.textContent);

test("/ and Ctrl-K find anything on every screen, arrows walk, and Enter goes there", async () => {
  const { page, problems, close } = await open("demo/now");
  await page.keyboard.press("/");
  await field(page).fill("assistant-notes");
  await options(page).first().waitFor();
  await expect.poll(() => options(page).first().textContent()).toMatch(/^grantassistant-notes/);
  expect(await seriousFindings(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${demo.url}/console/demo/grants/assistant-notes`);
  await page.keyboard.press("Control+k");
  await field(page).fill("ASSISTANT");
  await expect.poll(() => options(page).count()).toBeGreaterThan(2);
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => options(page).nth(1).getAttribute("aria-selected")).toBe("true");
  const href = await options(page).nth(1).getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForURL(demo.url + href);
  for (const [text, address] of [
    [turn, `turns/${turn}`],
    [question.id, `questions/${question.id}`],
    [question.traceId, `trail/trace/${question.traceId}`],
    ["files.read", "trail?tool=files.read"],
  ]) {
    await page.keyboard.press("/");
    await field(page).fill(text);
    await options(page).first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.href.startsWith(`${demo.url}/console/demo/${address}`));
  }
  await page.getByRole("button", { name: "Find" }).click();
  await field(page).fill("nothing-like-this");
  await page.getByText("Nothing is named so.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(problems).toEqual([]);
  await close();
});

test("a reviewer finds questions alone", async () => {
  const { operator } = await makeOperator(demo, "rosa", { role: "reviewer" });
  const { page, close } = await open("demo/now", { operator });
  await page.keyboard.press("/");
  await field(page).fill("assistant-notes");
  await page.getByText("Nothing is named so.").waitFor();
  await field(page).fill(question.id);
  await options(page).first().waitFor();
  await expect.poll(() => options(page).count()).toBe(1);
  await close();
});

test("j and k walk every list, Enter opens, ? lists the keys, and nothing takes letters from a field", async () => {
  const { page, close } = await open("demo/grants?view=table");
  await page.getByRole("row").nth(1).waitFor();
  await page.keyboard.press("j");
  await expect.poll(() => page.evaluate(() => document.activeElement.closest("tr") !== null)).toBe(true);
  const first = await focused(page);
  await page.keyboard.press("j");
  await expect.poll(() => focused(page)).not.toBe(first);
  await page.keyboard.press("k");
  await expect.poll(() => focused(page)).toBe(first);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname === `/console/demo/grants/${first}`);

  await page.goto(`${demo.url}/console/demo/trail`);
  await page.locator(".log-line").nth(1).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/open=/);

  for (const place of ["turns", "access", "questions", "tools/namespaces?actor=agent%3Aassistant"]) {
    await page.goto(`${demo.url}/console/demo/${place}`);
    await expect
      .poll(async () => {
        await page.keyboard.press("j");
        return page.evaluate(() => document.activeElement.closest("tr, li") !== null);
      })
      .toBe(true);
  }

  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.getByText("the next row of a list").waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "hidden" });

  await page.goto(`${demo.url}/console/demo/access`);
  await page.getByLabel("Actor or id").pressSequentially("j/k?");
  await expect.poll(() => page.getByLabel("Actor or id").inputValue()).toBe("j/k?");
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  await close();
});

test("a tenant, a screen or an address that does not exist says so", async () => {
  const { page, close } = await open("dmeo/now");
  await h1(page, "No such tenant").waitFor();
  await page.getByRole("link", { name: "demo", exact: true }).click();
  await h1(page, "Now").waitFor();
  for (const place of [
    "nowhere",
    "now/else",
    "questions/q/else",
    "questions/q/batch/else",
    "turns/a/b",
    "grants/g/else",
    "grants/who/derive",
    "why/else",
    "why/what-if/else",
    "trail/foo",
    "trail/trace",
    "trail/trace/t/else",
    "access/c/else",
    "webhooks/w",
    "tools/else",
    "tools/try/it",
  ]) {
    await goTo(page, `/console/demo/${place}`);
    await h1(page, "No such screen").waitFor();
    await goTo(page, "/console/demo/now");
    await h1(page, "Now").waitFor();
  }
  await page.goto(`${demo.url}/console/demo/trail/foo`);
  await h1(page, "No such screen").waitFor();
  await expect
    .poll(() => page.getByRole("main").textContent())
    .toBe("No such screenThe menu has those that there are.");
  await close();
});

test("an id or a choice in an address that does not exist is said to be none", async () => {
  const { page, close } = await open("demo/now");
  for (const [place, text] of [
    ["grants/no-such", "There is no grant no-such."],
    ["grants/no-such/derive", "There is no grant no-such."],
    ["grants/no-such/revoke", "There is no grant no-such."],
    ["turns/no-such", "There is no turn of this id in this tenant."],
    ["turns/no-such?of=agent%3Aassistant", "There is no turn of this id in this tenant."],
    ["turns/no-such?of=nobody", "/actor: expected kind:id"],
    ["questions/no-such", "There is no escalation of this id in this tenant."],
    ["questions/no-such/batch", "These questions wait no more."],
    [`questions/${question.id}/batch`, "This question is answered alone."],
    ["trail/trace/no-such", "Nothing in the audit log has this trace."],
    ["trail?open=9:9", "The row that this address opens is not among these"],
    ["trail?actor=nobody", "/actor: expected kind:id"],
    ["why?actor=nobody", "Write kind:id, such as agent:assistant."],
    ["why/what-if/revoke?grant=no-such", "There is no grant of this id in this tenant."],
    ["access?search=no-such", "No credential fits."],
    ["access/no-such", "There is no credential of this id."],
  ]) {
    await goTo(page, `/console/demo/${place}`);
    await page.getByRole("main").getByText(text).filter({ visible: true }).first().waitFor();
    // Nothing of it is left for the next.
    await goTo(page, "/console/demo/now");
    await h1(page, "Now").waitFor();
  }
  for (const [place, label] of [
    ["trail?outcome=wrong", "Outcome"],
    ["trail?type=wrong", "Type"],
    ["turns?status=wrong", "Status"],
    ["questions?status=wrong", "Show"],
    ["grants?state=wrong", "State"],
    ["webhooks?state=wrong", "State"],
    ["tools/try?credential=wrong", "As the bearer of"],
  ]) {
    await goTo(page, `/console/demo/${place}`);
    const chosen = page.getByLabel(label, { exact: true }).locator("option:checked");
    await expect.poll(() => chosen.textContent()).toBe("wrong: no such choice");
  }
  await close();
});

test("the current tab is in sight, short names are not broken, and an empty form complains of nothing", async () => {
  const narrow = await open("demo/grants/issue", { width: 360 });
  const tab = narrow.page.getByRole("link", { name: "Issue a grant" });
  await expect.poll(() => tab.evaluate((one) => one.getBoundingClientRect().right <= innerWidth)).toBe(true);
  await narrow.close();

  const { page, close } = await open("demo/grants?view=table");
  const name = page.getByRole("cell", { name: "agent:assistant" }).first().locator("bdi");
  await name.waitFor();
  await expect.poll(() => name.evaluate((one) => one.getClientRects().length)).toBe(1);
  await goTo(page, "/console/demo/why?actor=agent%3Aassistant");
  await page.getByText("Write an action, such as read.").waitFor();
  await goTo(page, "/console/demo/why");
  await page.getByText("Write an action, such as read.").waitFor({ state: "detached" });
  await close();
});

test("a tenant begins with its first credential, which is made where it is not yet", async () => {
  const { page, close } = await open("brand-new/access");
  await page.getByText("it begins with its first credential").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Make a credential" }).isEnabled()).toBe(true);
  await close();
});

test("Back goes back through what was chosen, and does not leave the console before that", async () => {
  const { page, close } = await open("demo/trail");
  await page.locator(".log-line").first().waitFor();
  await page.getByLabel("Outcome").selectOption("denied");
  await page.waitForURL(/outcome=denied/);
  // A row that goes with the filter cannot be opened.
  const outcomes = () => page.locator(".log-line .tag").allTextContents();
  await expect.poll(async () => new Set(await outcomes())).toEqual(new Set(["denied"]));
  await page.locator(".log-line").first().click();
  await page.waitForURL(/open=/);
  await page.getByRole("link", { name: "Turns" }).click();
  await h1(page, "Turns").waitFor();
  await page.getByRole("link", { name: "Turns" }).click();
  await page.goBack();
  await page.waitForURL(/outcome=denied&open=/);
  await page.goBack();
  await page.waitForURL((url) => url.search === "?outcome=denied");
  await page.goBack();
  await page.waitForURL((url) => url.search === "");
  await expect.poll(() => page.getByLabel("Outcome").inputValue()).toBe("");
  await close();
});

test("a token that is shown once asks before it is closed, left by Back, or reloaded", async () => {
  const { page, close } = await open("demo/now");
  await page.getByRole("link", { name: "Access" }).click();
  await page.getByRole("button", { name: "Make a credential" }).click();
  await page.getByLabel("Actor", { exact: true }).fill("agent:once");
  await page.getByLabel("Purposes").fill("demo");
  await page.getByRole("button", { name: "Make it and show the token" }).click();
  const token = page.locator("output.token");
  await token.waitFor();
  const asked = page.getByText("Have you stored the token?");
  for (const leave of [
    async () => {
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
    },
    () => page.evaluate(() => history.back()),
    () => page.getByRole("button", { name: "Close", exact: true }).click(),
  ]) {
    await leave();
    await asked.waitFor();
    await expect.poll(() => token.textContent()).toMatch(/^tp_/);
    await page.getByRole("button", { name: "Stay" }).click();
    await asked.waitFor({ state: "hidden" });
  }
  await expect.poll(() => page.url()).toBe(`${demo.url}/console/demo/access`);
  const asking = page.waitForEvent("dialog");
  // Nobody waits for the reload, which does not come.
  void page.evaluate(() => location.reload());
  const dialog = await asking;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  await expect.poll(() => token.textContent()).toMatch(/^tp_/);
  await page.getByRole("button", { name: "I have it, close" }).click();
  await token.waitFor({ state: "hidden" });
  await page.goBack();
  await h1(page, "Now").waitFor();
  await close();
});
