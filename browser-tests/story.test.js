import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemo } from "../scripts/start-host.js";
import { makeOperator, openBrowser, openConsole, waitForQuestion, startTurn } from "./browser.js";

let demo;
let browser;
beforeAll(async () => {
  [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

const h1 = (page, name) => page.getByRole("heading", { level: 1, name, exact: true });
/** One part of the story on the screen Now, by the button that plays it. */
const part = (page, title) => page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: title }) });

test("the whole story in the page alone: a turn asks, the question is counted and shown, a yes lets the turn go on, live", async () => {
  const { page, problems, close } = await openConsole(browser, { url: demo.url, operator: demo.operator });
  const menu = page.getByRole("navigation", { name: "Screens" });
  await page.getByRole("button", { name: "Read the notes" }).click();
  await part(page, "What is allowed").getByText("succeeded").waitFor();
  await part(page, "What is allowed").getByText("water the plants").waitFor();

  await page.getByRole("button", { name: "Ask for the diary" }).click();
  await part(page, "What is denied").getByText("waiting").waitFor();
  await menu.getByRole("link", { name: "Questions 1 waiting" }).waitFor();
  await expect.poll(() => page.title()).toBe("(1) Now · demo · Turnpike");

  // A second window watches the turn, and nobody touches it.
  const timeline = await part(page, "What is denied").getByRole("link", { name: "Its timeline" }).getAttribute("href");
  const watching = await page.context().newPage();
  await watching.goto(demo.url + timeline);
  await watching.getByText("It waits for an answer").waitFor();
  await watching.getByRole("listitem").filter({ hasText: "no_matching_grant" }).first().waitFor();

  await part(page, "What is denied").getByRole("link", { name: "Answer its question" }).click();
  await h1(page, "Questions").waitFor();
  const question = page.getByRole("article", { name: "The question" });
  await question
    .getByRole("heading", { name: /^agent:assistant wants to .*read files\/private\/diary\.md$/ })
    .waitFor();
  const opening = question.getByRole("region", { name: "What a yes opens the way to" });
  await opening.getByText("files/private/diary.md").first().waitFor();
  await question.getByText("no_matching_grant").waitFor();
  await question.getByRole("button", { name: "Approve" }).click();
  await question.getByText(/^You approved it/).waitFor();
  await expect.poll(() => page.title()).toBe("Questions · demo · Turnpike");

  await watching.getByText("Nobody but Alice reads this.").waitFor();
  await watching.getByText("succeeded").first().waitFor();
  await watching.getByRole("listitem").filter({ hasText: "approved" }).first().waitFor();
  expect(await watching.getByText("It waits for an answer").count()).toBe(0);
  // The bars of all steps are drawn on one scale.
  const bars = watching.getByRole("listitem").locator("svg");
  const edges = await bars.evaluateAll((all) => all.map((bar) => Math.round(bar.getBoundingClientRect().left)));
  expect(new Set(edges).size).toBe(1);
  expect(problems).toEqual([]);
  await close();
});

test("paying shows the exact act, and a yes is for that act once", async () => {
  const { page, problems, close } = await openConsole(browser, { url: demo.url, operator: demo.operator });
  await page.getByRole("button", { name: "Pay Bob 20" }).click();
  await part(page, "What needs a yes").getByRole("link", { name: "Answer its question" }).click();
  const act = page.getByRole("region", { name: "A yes is for exactly this, once" });
  for (const [name, value] of [
    ["to", "bob"],
    ["amount", "20"],
    ["reference", "The book"],
  ]) {
    await act.getByText(name, { exact: true }).waitFor();
    await act.getByText(value, { exact: true }).waitFor();
  }
  await act.getByRole("link", { name: "assistant-payments" }).waitFor();
  // By the keyboard: Enter in the form of the answer sends it.
  await page.getByRole("button", { name: "Approve" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText(/^You approved it/).waitFor();
  await page.getByRole("link", { name: "The whole turn" }).click();
  await page.getByRole("heading", { name: "What it came to" }).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("a no needs a reason, and the turn goes on without", async () => {
  const executionId = await startTurn(demo, { read: "private/letters.md" });
  const { id } = await waitForQuestion(demo, executionId);
  const { page, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: `demo/questions/${id}`,
  });
  await page.getByRole("button", { name: "Deny" }).click();
  // Nothing was sent without a reason.
  const reason = page.getByLabel("Why not? The agent reads this");
  expect(await reason.evaluate((field) => field.validity.valueMissing)).toBe(true);
  await reason.fill("Letters are nobody's business.");
  await page.keyboard.press("Enter");
  await page.getByText(/You denied it .*: Letters are nobody's business\./).waitFor();
  await page.getByRole("link", { name: "The whole turn" }).click();
  await page.getByRole("listitem").filter({ hasText: "escalation_denied" }).waitFor();
  await close();
});

test("a stale click says who was first and what they said, and keeps what was typed", async () => {
  const executionId = await startTurn(demo, { pay: { to: "bob", amount: 7, reference: "Tea" } });
  const { id, ask } = await waitForQuestion(demo, executionId);
  const dora = await makeOperator(demo, "dora", { role: "reviewer" });
  const { page, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: `demo/questions/${id}`,
  });
  await page.getByLabel("Why not? The agent reads this").fill("Too much tea.");
  // The page hears of nothing any more until it has sent its own answer, so that it still shows the question as open.
  let isAnswered = false;
  page.on("request", (request) => (isAnswered ||= request.url().endsWith("/escalations/deny")));
  await page.route(/\/admin\/v1\/(events|escalations\/demo)/, (route) =>
    isAnswered ? route.continue() : route.abort(),
  );
  await dora.operator.request("denyEscalation", { namespaceId: "demo", id, ask, reason: "No tea today." });
  await page.getByRole("button", { name: "Deny" }).click();
  const outcome = page.getByRole("alert").filter({ hasText: "Somebody was first" });
  await outcome.getByText(`The operator with credential ${dora.id} denied it`).waitFor();
  await outcome.getByText("No tea today.").waitFor();
  await outcome.getByText("You had typed: Too much tea.").waitFor();
  expect(await page.getByRole("button", { name: "Deny" }).count()).toBe(0);
  await close();
});

test("cancelling a turn asks once more, and its timeline says that it ended", async () => {
  const executionId = await startTurn(demo, { read: "private/plans.md" });
  const { page, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    place: "demo/turns?status=waiting",
  });
  await page.getByRole("link", { name: executionId }).click();
  await page.getByRole("button", { name: "Cancel the turn" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel this turn?" });
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Cancel the turn" }).click();
  await dialog.getByRole("button", { name: "Cancel the turn" }).click();
  await page.getByText("cancelled").first().waitFor();
  await page.goBack();
  await h1(page, "Turns").waitFor();
  expect(page.url()).toContain("status=waiting");
  await close();
});
