import { expect, test } from "vitest";
import { openPage, picture, seriousFindings, settled, startTurn, waitForQuestion } from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, browser, open } = useDemo();

/** Opens a person's own page, and signs in there as a user of the demo's provider. */
async function signIn(name, options = {}) {
  const opened = await openPage(browser, { url: demo.url, place: "me", ...options });
  const { page } = opened;
  await page.getByRole("link", { name: "Continue with Demo" }).click();
  await page.getByRole("link", { name: `Sign in as ${name}` }).click();
  await page.getByRole("heading", { level: 1, name: "What acts for you" }).waitFor();
  await page.getByText(`human:${name.toLowerCase()}`).first().waitFor();
  await settled(page);
  return opened;
}

test("the whole story is played on the page of a person: Alice signs in, and allows what her assistant asks", async () => {
  const turn = await startTurn(demo, { read: "private/diary.md" });
  await waitForQuestion(demo, turn);
  const { page, problems, close } = await signIn("Alice");
  expect(page.url()).toBe(`${demo.url}/me`);
  const asked = page.getByRole("article", { name: "agent:assistant asks" });
  await asked.getByText("files/private/diary.md").first().waitFor();
  await asked.getByRole("button", { name: "Allow" }).click();
  await page.getByText("Nothing waits for your answer.").waitFor();
  const statusOf = async () => {
    const { turns } = await demo.operator.request("listAllTurns", { namespaceId: "demo", limit: 200 });
    return turns.find(({ state }) => state.executionId === turn)?.state.status;
  };
  await expect.poll(statusOf).toBe("succeeded");
  await page.reload();
  await page.getByRole("article", { name: "agent:assistant" }).first().waitFor();
  await settled(page);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Continue with Demo" }).waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("a person denies what an agent asks, reads that it was, and ends the session of another browser", async () => {
  const turn = await startTurn(demo, { read: "private/letters.md" });
  await waitForQuestion(demo, turn);
  const [phone, { page, problems, close }] = [await signIn("Alice", { width: 360 }), await signIn("Alice")];
  const asked = page.getByRole("article", { name: "agent:assistant asks" });
  await asked.getByText("files/private/letters.md").first().waitFor();
  await asked.getByRole("button", { name: "Deny" }).click();
  await page.getByText("Nothing waits for your answer.").waitFor();
  await page.reload();
  await page.getByRole("listitem").filter({ hasText: "escalation.deny" }).first().waitFor();
  const others = page.getByRole("article", { name: "Another browser" });
  const before = await others.count();
  // Sessions of other tests are there as well.
  for (let count = before; count > 0; count -= 1) {
    await others.first().getByRole("button", { name: "End" }).click();
    await expect.poll(() => others.count()).toBe(count - 1);
  }
  expect(before).toBeGreaterThan(0);
  await phone.page.reload();
  await phone.page.getByRole("link", { name: "Continue with Demo" }).waitFor();
  await page.getByRole("article", { name: "This browser" }).waitFor();
  expect(problems).toEqual([]);
  await Promise.all([close(), phone.close()]);
});

test("a person sees nothing of another's, and the console takes no session of a person", async () => {
  await waitForQuestion(demo, await startTurn(demo, { read: "private/bills.md" }));
  const { page, problems, close } = await signIn("Bob");
  await page.getByText("Nothing waits for your answer.").waitFor();
  await page.getByText("No one acts for you.").waitFor();
  expect(problems).toEqual([]);
  await page.goto(`${demo.url}/console/demo/now`);
  await page.getByLabel("Operator's token").waitFor();
  await close();
});

for (const scheme of ["light", "dark"]) {
  test(`on a phone in ${scheme} colours every page of signing in is accessible, and none is wider than its screen`, async () => {
    const { page, problems, close } = await openPage(browser, { url: demo.url, place: "me", width: 360, scheme });
    const check = async (name) => {
      await settled(page);
      expect(await seriousFindings(page)).toEqual([]);
      expect(await picture(page, `me-${name}-${scheme}`)).toEqual({ isTooWide: false });
    };
    await page.getByRole("link", { name: "Continue with Demo" }).waitFor();
    await check("entrance");
    await page.getByRole("link", { name: "Continue with Demo" }).click();
    await page.getByRole("heading", { level: 1, name: "Who are you?" }).waitFor();
    await check("provider");
    await page.getByRole("link", { name: "Sign in as Alice" }).click();
    await page.getByText("human:alice").first().waitFor();
    await check("page");
    // A link that is over.
    await page.goto(`${demo.url}/sign-in/callback?state=over`);
    await page.getByRole("heading", { level: 1, name: "This sign-in is over" }).waitFor();
    await check("over");
    expect(problems.filter((problem) => !problem.includes("400"))).toEqual([]);
    await close();
  });
}

test("the screen Access lists who has signed in, and shuts a person out until they are restored", async () => {
  const carol = await signIn("Carol");
  const { page, problems, close } = await open("demo/access/people");
  const row = page.getByRole("row").filter({ hasText: "human:carol" });
  await row.getByText("live").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await row.getByRole("button", { name: "Revoke" }).click();
  await row.getByText("revoked").waitFor();
  await carol.page.reload();
  await carol.page.getByRole("link", { name: "Continue with Demo" }).click();
  await carol.page.getByRole("link", { name: "Sign in as Carol" }).click();
  await carol.page.getByRole("heading", { level: 1, name: "You are not let in" }).waitFor();
  await row.getByRole("button", { name: "Restore" }).click();
  await row.getByText("live").waitFor();
  await carol.page.getByRole("link", { name: "Sign in again" }).click();
  await carol.page.getByRole("link", { name: "Sign in as Carol" }).click();
  await carol.page.getByText("human:carol").first().waitFor();
  expect(problems).toEqual([]);
  await carol.close();
  await close();
});
