import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemo } from "../scripts/start-host.js";
import { makeOperator, openBrowser, openConsole, seriousFindings, startTurn, waitForQuestion } from "./browser.js";

let demo;
let browser;
let turn;
let question;
beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
  turn = await startTurn(demo, { read: "private/diary.md" });
  question = await waitForQuestion(demo, turn);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const open = (place, options = {}) =>
  openConsole(browser, { url: demo.url, operator: demo.operator, place, ...options });
const h1 = (page, name) => page.getByRole("heading", { level: 1, name, exact: true });
const options = (page) => page.getByRole("listbox", { name: "What was found" }).getByRole("option");
const field = (page) => page.getByRole("combobox", { name: "A name, an id, or a part of one" });
const focused = (page) => page.evaluate(() => document.activeElement.textContent);

test("/ and Ctrl-K find anything on every screen, arrows walk, and Enter goes there", async () => {
  const { page, problems, close } = await open("demo/now");
  await page.keyboard.press("/");
  await field(page).fill("assistant-notes");
  await options(page).first().waitFor();
  expect(await options(page).first().textContent()).toMatch(/^grantassistant-notes/);
  expect(await seriousFindings(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${demo.url}/console/demo/grants/assistant-notes`);
  await page.keyboard.press("Control+k");
  await field(page).fill("ASSISTANT");
  await expect.poll(() => options(page).count()).toBeGreaterThan(2);
  await page.keyboard.press("ArrowDown");
  expect(await options(page).nth(1).getAttribute("aria-selected")).toBe("true");
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
  expect(await options(page).count()).toBe(1);
  await close();
});

test("j and k walk every list, Enter opens, ? lists the keys, and nothing takes letters from a field", async () => {
  const { page, close } = await open("demo/grants?view=table");
  await page.getByRole("row").nth(1).waitFor();
  await page.keyboard.press("j");
  const first = await focused(page);
  await page.keyboard.press("j");
  expect(await focused(page)).not.toBe(first);
  await page.keyboard.press("k");
  expect(await focused(page)).toBe(first);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname === `/console/demo/grants/${first}`);

  await page.goto(`${demo.url}/console/demo/trail`);
  await page.locator(".trail-line").nth(1).waitFor();
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
  expect(await page.getByLabel("Actor or id").inputValue()).toBe("j/k?");
  expect(await page.getByRole("dialog").count()).toBe(0);
  await close();
});

test("a tenant, a screen or an address that does not exist says so", async () => {
  const { page, close } = await open("dmeo/now");
  await h1(page, "No such tenant").waitFor();
  await page.getByRole("link", { name: "demo", exact: true }).click();
  await h1(page, "Now").waitFor();
  for (const place of ["demo/nowhere", "demo/now/else", "demo/turns/a/b/c"]) {
    await page.goto(`${demo.url}/console/${place}`);
    await h1(page, "No such screen").waitFor();
  }
  for (const place of ["grants/no-such-grant", "turns/no-such-turn", "questions/no-such-question"]) {
    await page.goto(`${demo.url}/console/demo/${place}`);
    await page
      .getByText(/There is no/)
      .first()
      .waitFor();
  }
  // A tenant begins with its first credential, which is made where it is not yet.
  await page.goto(`${demo.url}/console/brand-new/access`);
  await page.getByText("it begins with its first credential").waitFor();
  expect(await page.getByRole("button", { name: "Make a credential" }).isEnabled()).toBe(true);
  await close();
});

test("Back goes back through what was chosen, and does not leave the console before that", async () => {
  const { page, close } = await open("demo/trail");
  await page.locator(".trail-line").first().waitFor();
  await page.getByLabel("Outcome").selectOption("denied");
  await page.waitForURL(/outcome=denied/);
  await page.locator(".trail-line").first().click();
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
  expect(await page.getByLabel("Outcome").inputValue()).toBe("");
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
  const asked = page.getByText("Have you kept the token?");
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
    expect(await token.textContent()).toMatch(/^tp_/);
    await page.getByRole("button", { name: "Stay" }).click();
    await asked.waitFor({ state: "hidden" });
  }
  expect(page.url()).toBe(`${demo.url}/console/demo/access`);
  const asking = page.waitForEvent("dialog");
  const reloading = page.reload({ timeout: 5000 }).catch(() => {});
  const dialog = await asking;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  await reloading;
  expect(await token.textContent()).toMatch(/^tp_/);
  await page.getByRole("button", { name: "I have it, close" }).click();
  await token.waitFor({ state: "hidden" });
  await page.goBack();
  await h1(page, "Now").waitFor();
  await close();
});
