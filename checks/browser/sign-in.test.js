import { expect, test } from "vitest";
import { holdRequests, makeOperator, openPage } from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, browser, open } = useDemo();

const h1 = (page, name) => page.getByRole("heading", { level: 1, name, exact: true });
const signIn = async (where, token) => {
  await where.getByLabel("Operator's token").fill(token);
  await where.getByRole("button", { name: "Sign in" }).click();
};

test("a token signs in and keeps the address, a wrong one says so, a reload stays signed in, and signing out ends it", async () => {
  const { page, close } = await openPage(browser, { url: demo.url, place: "console/demo/trail?outcome=denied" });
  await h1(page, "Turnpike").waitFor();
  await signIn(page, "tp_wrong");
  await page.getByRole("alert").waitFor();
  await signIn(page, demo.token);
  await h1(page, "Audit log").waitFor();
  await page.waitForURL(`${demo.url}/console/demo/trail?outcome=denied`);
  await page.reload();
  await h1(page, "Audit log").waitFor();
  // The token is a session now, of which the page has its half and no script can read the other.
  const kept = () => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  await expect.poll(kept).toMatch(/^\[\{"turnpike-session":"[0-9a-f]{64}"\},\{\},""\]$/);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Operator's token").waitFor();
  await page.reload();
  await page.getByLabel("Operator's token").waitFor();
  await close();
});

test("all tabs share a session; a browser that has its cookie alone signs in, and so do its other tabs", async () => {
  const { page, close } = await open();
  const other = await page.context().newPage();
  await other.goto(`${demo.url}/console/demo/grants`);
  await h1(other, "Grants").waitFor();
  await other.getByText(/^Live/).waitFor();
  // What a server on another port of this host name has: browsers send it the cookie.
  await page.evaluate(() => localStorage.clear());
  await other.reload();
  await signIn(other, demo.token);
  await h1(other, "Grants").waitFor();
  // The first tab heard of it, and goes on with the new session.
  await page.getByRole("link", { name: "Grants" }).click();
  await h1(page, "Grants").waitFor();
  await page.getByText("human:bob").filter({ visible: true }).first().waitFor();
  await other.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
  await expect.poll(() => page.evaluate(() => localStorage.getItem("turnpike-session"))).toBe("");
  await close();
});

test("the link that the demo prints signs in once: its code leaves the address, and used again it says so", async () => {
  const [link] = /http:\S+\/console\S+/.exec(demo.screen);
  const place = link.slice(demo.url.length + 1);
  const first = await openPage(browser, { url: demo.url, place });
  await h1(first.page, "Now").waitFor();
  await first.page.waitForURL(`${demo.url}/console/demo/now`);
  expect(first.problems).toEqual([]);
  // Opened again by who is signed in already, it goes on.
  await first.page.goto(link);
  await first.page.reload();
  await h1(first.page, "Now").waitFor();
  await first.close();
  const second = await openPage(browser, { url: demo.url, place });
  await expect.poll(() => second.page.getByRole("alert").textContent()).toMatch(/code/);
  await second.page.getByLabel("Operator's token").waitFor();
  expect(second.page.url()).not.toContain("code=");
  await second.close();
});

test("a revoked credential: the next click asks for a sign-in on top, and what was typed goes on behind it", async () => {
  const { id, operator } = await makeOperator(demo, "carol");
  const { page, close } = await open("demo/grants/issue", { operator });
  await page.getByLabel("Actions").fill("read");
  await page.getByLabel("Resource").fill("files/notes");
  await page.getByLabel("From: who grants it").fill("human:alice");
  // As soon as the dialog is there, nothing behind it can be typed: it does not come before the last thing is.
  const ask = await holdRequests(page);
  await demo.operator.request("revokeCredential", { id });
  await page.getByLabel("To: who may act").fill("human:bob");
  ask();
  const dialog = page.getByRole("dialog", { name: "Sign in again" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await signIn(dialog, demo.token);
  await dialog.waitFor({ state: "hidden" });
  await page.waitForURL(`${demo.url}/console/demo/grants/issue`);
  await expect.poll(() => page.getByLabel("Resource").inputValue()).toBe("files/notes");
  await page.getByLabel("Id", { exact: true }).fill("bob-notes");
  await page.getByRole("button", { name: "Issue this grant" }).click();
  await page.getByRole("heading", { name: "bob-notes" }).waitFor();
  await close();
});

test("a refusal that comes after the sign-in is not about it, and what was refused is read again", async () => {
  const { id, operator } = await makeOperator(demo, "dave");
  const { page, close } = await open("demo/grants/issue", { operator });
  const preview = page.getByText(/^The audit log has no decisions yet|in the last \d+ decisions?/);
  await page.getByLabel("Actions").fill("read");
  await page.getByLabel("Resource").fill("files/notes");
  await page.getByLabel("From: who grants it").fill("human:alice");
  await page.getByLabel("To: who may act").fill("human:bob");
  await preview.waitFor();
  const late = [];
  await page.route("**/admin/v1/grants/preview", async (route) => {
    const response = await route.fetch();
    if (response.status() === 401) late.push(() => route.fulfill({ response }));
    else await route.fulfill({ response });
  });
  const ask = await holdRequests(page);
  await demo.operator.request("revokeCredential", { id });
  // Suggestions and a preview are asked for at once; it is the suggestions that bring the dialog.
  await page.getByLabel("To: who may act").fill("human:carol");
  ask();
  const dialog = page.getByRole("dialog", { name: "Sign in again" });
  await dialog.waitFor();
  await expect.poll(() => late.length).toBeGreaterThan(0);
  await signIn(dialog, demo.token);
  await dialog.waitFor({ state: "hidden" });
  const refusal = page.waitForResponse((response) => response.status() === 401);
  for (const answer of late) await answer();
  await refusal;
  await preview.waitFor();
  await expect.poll(() => page.getByRole("main").textContent()).not.toContain("This session has ended");
  await page.getByLabel("Id", { exact: true }).fill("carol-notes");
  await page.getByRole("button", { name: "Issue this grant" }).click();
  await page.getByRole("heading", { name: "carol-notes" }).waitFor();
  await close();
});

test("without its event stream the page says so, loses nothing that was typed, and is live again when the host is back", async () => {
  const { page, close } = await open("demo/why");
  await page.getByText(/^Live/).waitFor();
  await page.getByLabel("May", { exact: true }).fill("agent:assistant");
  await demo.pause();
  await page.getByText("Not live: the event stream is not open.").waitFor();
  await page.getByLabel("do", { exact: true }).fill("read");
  await page.getByLabel("with", { exact: true }).fill("files/notes/todo.md");
  await page.getByLabel("for", { exact: true }).fill("demo");
  await page.getByRole("button", { name: "Why?" }).click();
  await page.getByText("The host does not answer.").waitFor();
  await demo.resume();
  await page.getByText(/^Live/).waitFor();
  await page.getByText("Not live: the event stream is not open.").waitFor({ state: "hidden" });
  await expect.poll(() => page.getByLabel("May", { exact: true }).inputValue()).toBe("agent:assistant");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("region", { name: "The decision" }).waitFor();
  await close();
});
