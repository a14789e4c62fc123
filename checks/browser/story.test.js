import { expect, test } from "vitest";
import { goTo, makeOperator, waitForQuestion, startTurn } from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, open } = useDemo();

const h1 = (page, name) => page.getByRole("heading", { level: 1, name, exact: true });
/** The row of a batch with an amount. */
const rowIn = (page, amount) =>
  page.getByRole("row").filter({ has: page.getByRole("cell", { name: String(amount), exact: true }) });
/** One part of the story on the screen Now, by the button that plays it. */
const part = (page, title) => page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: title }) });

test("the whole story in the page alone: a turn asks, the question is counted and shown, a yes lets the turn go on, live", async () => {
  const { page, problems, close } = await open();
  const menu = page.getByRole("navigation", { name: "Screens" });
  await page.getByRole("button", { name: "Read the notes" }).click();
  await part(page, "What is allowed").getByText("succeeded").waitFor();
  await part(page, "What is allowed").getByText("water the plants").waitFor();

  await page.getByRole("button", { name: "Ask for the diary" }).click();
  await part(page, "What is denied").getByText("waiting").waitFor();
  await menu.getByRole("link", { name: "Questions 1 waiting" }).waitFor();
  await expect.poll(() => page.title()).toBe("(1) Now · demo · Turnpike");

  // A second window watches the turn, and no one touches it.
  const timeline = await part(page, "What is denied").getByRole("link", { name: "Its timeline" }).getAttribute("href");
  const watching = await page.context().newPage();
  await watching.goto(demo.url + timeline);
  await watching.getByText("agent:assistant, tried by service:demo").waitFor();
  await watching.getByText("It waits for an answer").waitFor();
  await watching.getByRole("listitem").filter({ hasText: "no_matching_grant" }).first().waitFor();

  await part(page, "What is denied").getByRole("link", { name: "Answer its question" }).click();
  await h1(page, "Questions").waitFor();
  const question = page.getByRole("article", { name: "The question" });
  await question
    .getByRole("heading", { name: /^agent:assistant wants to .*read files\/private\/diary\.md$/ })
    .waitFor();
  const opening = question.getByRole("region", { name: "What an approval allows" });
  await opening.getByText("files/private/diary.md").first().waitFor();
  await question.getByText("no_matching_grant").waitFor();
  await question.getByRole("button", { name: "Approve" }).click();
  await question.getByText(/^You approved it/).waitFor();
  await expect.poll(() => page.title()).toBe("Questions · demo · Turnpike");

  await watching.getByText("Nobody but Alice reads this.").waitFor();
  await watching.getByText("succeeded").first().waitFor();
  await watching.getByRole("listitem").filter({ hasText: "approved" }).first().waitFor();
  await expect.poll(() => watching.getByText("It waits for an answer").count()).toBe(0);
  // The bars of all steps are drawn on one scale.
  const bars = watching.getByRole("listitem").locator("svg");
  const edges = () => bars.evaluateAll((all) => all.map((bar) => Math.round(bar.getBoundingClientRect().left)));
  await expect.poll(async () => new Set(await edges()).size).toBe(1);
  expect(problems).toEqual([]);
  await close();
});

test("paying shows the exact act, and a yes is for that act once", async () => {
  const { page, problems, close } = await open();
  await page.getByRole("button", { name: "Pay Bob 20" }).click();
  await part(page, "What needs an approval").getByRole("link", { name: "Answer its question" }).click();
  const act = page.getByRole("region", { name: "An approval is for exactly this, once" });
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

test("a no is one click, a reason may be added, and the turn goes on without", async () => {
  const first = await waitForQuestion(demo, await startTurn(demo, { read: "private/bills.md" }));
  const second = await waitForQuestion(demo, await startTurn(demo, { read: "private/letters.md" }));
  const { page, problems, close } = await open(`demo/questions/${first.id}`);
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText(/You denied it .*: No reason was given\./).waitFor();
  await goTo(page, `/console/demo/questions/${second.id}`);
  await page.getByLabel("Why not?").fill("Letters are nobody's business.");
  await page.keyboard.press("Enter");
  await page.getByText(/You denied it .*: Letters are nobody's business\./).waitFor();
  await page.getByRole("link", { name: "The whole turn" }).click();
  await page.getByRole("listitem").filter({ hasText: "escalation_denied" }).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("questions that differ in arguments alone are one table, and an answer is to the rows that are ticked", async () => {
  const asked = [];
  for (const amount of [31, 32, 33])
    asked.push(
      await waitForQuestion(demo, await startTurn(demo, { pay: { to: "carol", amount, reference: "Seats" } })),
    );
  const { page, problems, close } = await open(`demo/questions/${asked[0].id}/batch`);
  await rowIn(page, 33).waitFor();
  const approve = page.getByRole("button", { name: /^Approve/ });
  await expect.poll(() => approve.isDisabled()).toBe(true);
  await rowIn(page, 31).getByRole("checkbox").check();
  await rowIn(page, 33).getByRole("checkbox").check();
  await approve.click();
  await rowIn(page, 31).getByText("approved").waitFor();
  await rowIn(page, 33).getByText("approved").waitFor();
  const statusOf = async ({ id }) =>
    (await demo.operator.request("showEscalation", { namespaceId: "demo", id })).escalation.status;
  await expect.poll(() => Promise.all(asked.map(statusOf))).toEqual(["approved", "pending", "approved"]);
  await rowIn(page, 32).getByRole("checkbox").check();
  await page.getByRole("button", { name: "Deny 1" }).click();
  await rowIn(page, 32).getByText("denied").waitFor();
  await expect.poll(() => Promise.all(asked.map(statusOf))).toEqual(["approved", "denied", "approved"]);
  expect(problems).toEqual([]);
  await close();
});

test("a batch is denied with the keyboard alone, by one key behind an optional reason", async () => {
  const asked = [];
  for (const amount of [41, 42, 43])
    asked.push(await waitForQuestion(demo, await startTurn(demo, { pay: { to: "dave", amount, reference: "Hats" } })));
  const { page, problems, close } = await open(`demo/questions/${asked[0].id}/batch`);
  const answerOf = async ({ id }) => {
    const { status, answer } = (await demo.operator.request("showEscalation", { namespaceId: "demo", id })).escalation;
    return `${status} ${answer}`;
  };
  await rowIn(page, 43).waitFor();
  await rowIn(page, 41).getByRole("checkbox").focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Deny 1" }).focus();
  await page.keyboard.press("Enter");
  await rowIn(page, 41).getByText("denied").waitFor();
  await page.getByLabel("All 2 that wait").focus();
  await page.keyboard.press("Space");
  await page.getByLabel("Why not?").focus();
  await page.keyboard.type("No more hats.");
  await page.keyboard.press("Enter");
  await rowIn(page, 42).getByText("denied").waitFor();
  await rowIn(page, 43).getByText("denied").waitFor();
  await expect
    .poll(() => Promise.all(asked.map(answerOf)))
    .toEqual(["denied No reason was given.", "denied No more hats.", "denied No more hats."]);
  expect(problems).toEqual([]);
  await close();
});

test("an act of which not all is shown cannot be approved before it is", async () => {
  await demo.operator.request("createGrant", {
    id: "long-files",
    namespaceId: "demo",
    subject: { kind: "agent", agentId: "assistant" },
    issuer: { kind: "human", userId: "alice" },
    capabilities: [
      { resource: { namespace: "files", path: ["long"] }, actions: ["create"], scope: "descendants", approval: "each" },
    ],
    constraints: {},
    issuedAt: "2026-01-01T00:00:00Z",
  });
  const traceId = "long-act";
  const content = `${"x".repeat(3000)}the end of it`;
  const answer = await fetch(`${demo.url}/v1/tools/invoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${demo.tokens.assistant}`, "x-trace-id": traceId },
    body: JSON.stringify({
      id: "long-1",
      tool: "files.create",
      arguments: { path: "long/a.md", content },
      requestedAt: "2026-01-01T12:00:00Z",
      traceId,
    }),
  });
  const { error } = await answer.json();
  const { page, close } = await open(`demo/questions/${error.details.escalationId}`);
  await page.getByText("You can approve it once all of it is shown above.").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  await expect.poll(() => page.getByText("the end of it").count()).toBe(0);
  await page.getByRole("button", { name: /^Show all/ }).click();
  await page.getByText("the end of it").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText(/^You approved it/).waitFor();
  await close();
});

test("a stale click says who was first and what they said, and keeps what was typed", async () => {
  const executionId = await startTurn(demo, { pay: { to: "bob", amount: 7, reference: "Tea" } });
  const { id, ask } = await waitForQuestion(demo, executionId);
  const dora = await makeOperator(demo, "dora", { role: "reviewer" });
  const { page, close } = await open(`demo/questions/${id}`);
  await page.getByLabel("Why not?").fill("Too much tea.");
  // The other answer arrives while this one is on its way.
  await page.route("**/escalations/deny", async (route) => {
    await dora.operator.request("denyEscalation", { namespaceId: "demo", id, ask, reason: "No tea today." });
    await route.continue();
  });
  await page.getByRole("button", { name: "Deny" }).click();
  const outcome = page.getByRole("alert").filter({ hasText: "Another operator was first" });
  await outcome.getByText(`The operator with credential ${dora.id} denied it`).waitFor();
  await outcome.getByText("No tea today.").waitFor();
  await outcome.getByText("You had typed: Too much tea.").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Deny" }).count()).toBe(0);
  await close();
});

test("cancelling a turn asks once more, and its timeline says that it ended", async () => {
  const { executionId } = await waitForQuestion(demo, await startTurn(demo, { read: "private/plans.md" }));
  const { page, close } = await open("demo/turns?status=waiting");
  await page.getByRole("link", { name: executionId }).click();
  await page.getByRole("button", { name: "Cancel the turn" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel this turn?" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Cancel the turn" }).click();
  await dialog.getByRole("button", { name: "Cancel the turn" }).click();
  await page.getByText("cancelled").first().waitFor();
  await page.goBack();
  await h1(page, "Turns").waitFor();
  await expect.poll(() => page.url()).toContain("status=waiting");
  await close();
});
