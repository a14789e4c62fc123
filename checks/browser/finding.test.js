import { beforeAll, expect, test } from "vitest";
import { goTo, seriousFindings, settled, startTurn, waitForQuestion } from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, open } = useDemo();
/** A place of every screen, and of each list that one has. */
let lists;
let question;
beforeAll(async () => {
  await invoke("reads-1", "files.read", { path: "notes/todo.md" });
  await invoke("reads-2", "files.read", { path: "private/diary.md" });
  question = await waitForQuestion(demo, await startTurn(demo, { read: "private/letters.md" }));
  lists = [
    "now",
    "questions",
    "turns",
    `turns/${question.executionId}?of=agent%3Aassistant`,
    "grants",
    "grants?view=table",
    "grants/assistant-notes",
    "grants/who?resource=files%2Fnotes",
    "grants/reach?actor=agent%3Aassistant",
    "why",
    "trail",
    `trail/trace/${question.traceId}`,
    "access",
    "access/operators",
    "tools/namespaces?actor=agent%3Aassistant",
  ];
});

/** Calls a tool as the demo's assistant. */
async function invoke(id, tool, args) {
  await fetch(`${demo.url}/v1/tools/invoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${demo.tokens.assistant}`, "x-trace-id": `trace-${id}` },
    body: JSON.stringify({
      id,
      tool,
      arguments: args,
      requestedAt: new Date().toISOString(),
      traceId: `trace-${id}`,
    }),
  });
}

const linesOf = (page) => page.locator(".log-line .log-what").allTextContents();

test("a call is one line of the audit log, with its decision and its outcome, and tells both when it is opened", async () => {
  const { page, problems, close } = await open("demo/trail?traceId=trace-reads-1");
  await expect.poll(() => linesOf(page)).toEqual(["called files.read: may read files/notes/todo.md with files.read"]);
  await page.getByText("1 row shown, all that fit").waitFor();
  await page.locator(".log-line").click();
  const entry = page.locator(".log-rows li").first();
  await expect.poll(() => entry.getByText("authorization.checked", { exact: true }).count()).toBeGreaterThan(0);
  await expect.poll(() => entry.getByText("tool.invoked", { exact: true }).count()).toBeGreaterThan(0);
  expect(problems).toEqual([]);
  await close();
});

test("the audit log is searched by resource, tool, grant, reason and text, and each search has an address", async () => {
  const { page, close } = await open("demo/trail");
  await page.locator(".log-line").first().waitFor();
  // Of a call those rows are there that fit.
  const read = "may read files/notes/todo.md with files.read";
  const refused = "may not read files/private/diary.md with files.read";
  const has = async (text) => (await linesOf(page)).some((line) => line.includes(text));
  /** The fields that few need are folded away while none of them is used. */
  const fieldOf = async (label) => {
    const field = page.getByLabel(label, { exact: true });
    if (!(await field.isVisible())) await page.getByText("By what it is about").click();
    return field;
  };
  for (const { label, name, value, fits, fitsNot } of [
    { label: "Resource", name: "resource", value: "files/notes", fits: read, fitsNot: refused },
    { label: "Resource", name: "resource", value: "files/private", fits: refused, fitsNot: read },
    { label: "Grant", name: "grant", value: "assistant-notes", fits: read, fitsNot: refused },
    { label: "Reason", name: "reason", value: "no_matching_grant", fits: refused, fitsNot: read },
    { label: "Text", name: "text", value: "diary", fits: refused, fitsNot: read },
  ]) {
    await (await fieldOf(label)).fill(value);
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.searchParams.get(name) === value);
    await expect.poll(async () => [value, await has(fits), await has(fitsNot)]).toEqual([value, true, false]);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForURL((url) => url.search === "");
    await page.getByRole("button", { name: "Show all" }).waitFor({ state: "detached" });
  }
  await (await fieldOf("Tool")).fill("files.read");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("tool") === "files.read");
  await expect
    .poll(async () => {
      const lines = await linesOf(page);
      return [lines.length > 1, lines.every((line) => line.includes("files.read"))];
    })
    .toEqual([true, true]);
  // The same address is the same search.
  await page.reload();
  await expect.poll(() => has(read)).toBe(true);
  await expect.poll(() => page.getByLabel("Tool", { exact: true }).inputValue()).toBe("files.read");
  await close();
});

test("what became of a grant: who issued it, who used it, and who took it back", async () => {
  const issue = (id) =>
    demo.operator.request("createGrant", {
      id,
      namespaceId: "demo",
      subject: { kind: "agent", agentId: "assistant" },
      issuer: { kind: "human", userId: "alice" },
      capabilities: [{ resource: { namespace: "files", path: ["history"] }, actions: ["read"], scope: "descendants" }],
      constraints: {},
      issuedAt: "2026-01-01T00:00:00Z",
    });
  await issue("with-history");
  await issue("without-history");
  await invoke("history-1", "files.read", { path: "history/a.md" });
  await demo.operator.request("revokeGrant", { namespaceId: "demo", id: "with-history" });
  const { page, problems, close } = await open("demo/grants/with-history");
  const history = page.getByRole("region", { name: "What became of it" });
  await expect
    .poll(() => history.getByRole("listitem").allTextContents())
    .toEqual([
      expect.stringContaining("did grant.revoke"),
      expect.stringMatching(/agent:assistant (called|may|was)/),
      expect.stringContaining("did grant.create"),
    ]);
  expect(await seriousFindings(page)).toEqual([]);
  await history.getByRole("link", { name: "In the audit log" }).click();
  await page.waitForURL((url) => url.pathname === "/console/demo/trail" && url.search === "?grant=with-history");
  await expect.poll(() => page.locator(".log-line").count()).toBe(3);
  // Of another grant it says nothing of this one.
  await goTo(page, "/console/demo/grants/without-history");
  await expect.poll(() => history.getByRole("listitem").count()).toBe(1);
  expect(problems).toEqual([]);
  await close();
});

test("the suggested grant is directly below the verdict of Why, above everything that was considered", async () => {
  const { page, close } = await open(
    "demo/why?actor=agent%3Aassistant&authority=human%3Aalice&owner=human%3Aalice&action=read&purpose=demo&resource=files%2Fprivate%2Fdiary.md",
    { width: 360 },
  );
  const suggestion = page.getByRole("region", { name: "The grant that would allow it" });
  await suggestion.waitFor();
  const parts = () =>
    page
      .locator(".answer > *")
      .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label") ?? one.querySelector("h2")?.textContent));
  await expect.poll(parts).toEqual([expect.anything(), "The grant that would allow it", expect.anything()]);
  await suggestion.getByRole("button", { name: "Issue this grant" }).waitFor();
  await close();
});

test("/ and Ctrl-K open the search on every screen, and Escape gives the screen back", async () => {
  const { page, problems, close } = await open("demo/now");
  const field = page.getByRole("combobox", { name: "A name, an id, or a part of one" });
  for (const place of [...lists, "webhooks", "tools/servers", "tools/try", "why/what-if", "nowhere"]) {
    await goTo(page, `/console/demo/${place}`);
    await page
      .locator(`main[data-screen="${place.split(/[/?]/)[0]}"] h1`)
      .first()
      .waitFor();
    for (const key of ["/", "Control+k"]) {
      await page.evaluate(() => document.activeElement?.blur());
      await page.keyboard.press(key);
      await field.waitFor();
      await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true);
      await page.keyboard.press("Escape");
      await field.waitFor({ state: "detached" });
    }
  }
  expect(problems).toEqual([]);
  await close();
});

/** What of the page has the focus: its row in the order of the page. */
const focusedRow = (page) =>
  page.evaluate(() => {
    const rows = [...document.querySelectorAll("main :is(tbody > tr, ul > li, ol > li, [role=treeitem], button.more)")];
    return rows.findLastIndex((row) => row.contains(document.activeElement));
  });

test("j walks every list to its end, and k back", async () => {
  const { page, problems, close } = await open("demo/now");
  for (const place of lists) {
    await goTo(page, `/console/demo/${place}`);
    await page
      .locator(`main[data-screen="${place.split(/[/?]/)[0]}"] h1`)
      .first()
      .waitFor();
    await page.evaluate(() => document.activeElement?.blur());
    // The list is there once there is a row to go to.
    await expect
      .poll(async () => {
        await page.keyboard.press("j");
        return { place, isOn: (await focusedRow(page)) >= 0 };
      })
      .toEqual({ place, isOn: true });
    await settled(page);
    for (let moves = 0; moves < 200; moves += 1) {
      const before = await focusedRow(page);
      await page.keyboard.press("j");
      if ((await focusedRow(page)) === before) break;
    }
    const isOnly = (await focusedRow(page)) === 0;
    const last = await page.evaluateHandle(() => document.activeElement);
    await page.keyboard.press("k");
    const isUp = () =>
      last.evaluate(
        (one) => (one.compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_PRECEDING) > 0,
      );
    await expect.poll(async () => ({ place, isUp: isOnly || (await isUp()) })).toEqual({ place, isUp: true });
  }
  expect(problems).toEqual([]);
  await close();
});
