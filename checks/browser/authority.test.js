import { expect, test } from "vitest";
import {
  assistantCredential,
  goTo,
  holdRequests,
  makeOperator,
  seriousFindings,
  settled,
  startTurn,
  waitForQuestion,
} from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, open } = useDemo();

test("grants are issued with a preview, derived and revoked with what falls with them, and the picture walks by keyboard", async () => {
  const { page, problems, close } = await open("demo/grants/issue");
  await page.getByLabel("To: who may act").fill("agent:assistant");
  await page.getByLabel("From: who grants it").fill("human:alice");
  await page.getByLabel("Id", { exact: true }).fill("team");
  await page.getByLabel("Actions").fill("read, list");
  await page.getByLabel("Resource").fill("files/team");
  await page.getByLabel("Ends (optional)").fill("7d");
  await page.getByLabel("Passing on (optional)").fill("2");
  const preview = page.getByRole("region", { name: "What it would change" });
  await preview.getByText("agent:assistant may").waitFor();
  await preview.getByText(/Nothing changes|The audit log has no decisions yet/).waitFor();
  await page.getByRole("button", { name: "Issue this grant" }).click();
  await page.getByRole("region", { name: "Grant team" }).getByText("live").first().waitFor();

  await page.getByRole("link", { name: "Derive…" }).click();
  await page.getByRole("heading", { name: "Derive from team" }).waitFor();
  await page.getByLabel("To: who may act").fill("agent:helper");
  await page.getByLabel("Id", { exact: true }).fill("team-helper");
  await page.getByLabel("Actions").fill("write");
  await page
    .getByRole("region", { name: "What it would change" })
    .getByText("It could not be issued like this")
    .waitFor();
  // What is left empty is the parent's, in the preview as in the grant.
  await page.getByLabel("Actions").fill("read");
  await page.getByLabel("Ends (optional)").fill("");
  await preview.getByText("Opened:").waitFor();
  await preview.getByText(/agent:helper may read files\/team\/\*\* .*, until /).waitFor();
  await page.getByRole("button", { name: "Derive this grant" }).click();
  await page.getByRole("region", { name: "Grant team-helper" }).waitFor();

  // One Tab stop for the whole picture; arrows walk in it, Enter chooses.
  const tree = page.getByRole("tree", { name: "Grants by who issued them" });
  const helper = tree.getByRole("treeitem", { name: /grant team-helper/ });
  await expect.poll(() => helper.getAttribute("aria-selected")).toBe("true");
  await helper.focus();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => page.evaluate(() => document.activeElement.ariaLabel)).toMatch(/grant team, 1 below/);
  await page.keyboard.press("Enter");
  await page.waitForURL(/grants\/team$/);

  await page.getByRole("link", { name: "Revoke…" }).click();
  const revoke = page.getByRole("region", { name: "Revoke team" });
  await revoke.getByText("1 grant falls with it").waitFor();
  await revoke.getByRole("link", { name: "team-helper" }).waitFor();
  await revoke.getByRole("button", { name: "Revoke it, from the next call on" }).click();
  await page.getByRole("region", { name: "Grant team" }).getByText("revoked").first().waitFor();
  const statesOfTeam = async () => {
    const { grants } = await demo.operator.request("listGrants", { namespaceId: "demo", limit: 200 });
    return grants.filter(({ grant }) => grant.id.startsWith("team")).map(({ state }) => state);
  };
  await expect.poll(statesOfTeam).not.toContain("live");
  expect(problems).toEqual([]);
  await close();
});

test("who could ever reach a resource, and what a principal could ever do, is shown with the grants that lead there", async () => {
  const { page, problems, close } = await open("demo/grants");
  await demo.operator.request("createGrant", {
    id: "handed",
    namespaceId: "demo",
    subject: { kind: "agent", agentId: "courier" },
    issuer: { kind: "human", userId: "alice" },
    capabilities: [{ resource: { namespace: "files", path: ["parcels"] }, actions: ["read"], scope: "descendants" }],
    constraints: { delegationDepth: 1 },
    issuedAt: new Date().toISOString(),
  });
  await page.getByRole("link", { name: "Who could ever…" }).click();
  await page.getByText("Name a principal or a resource.").waitFor();
  await page.getByLabel("Resource").fill("files/parcels/one");
  await page.keyboard.press("Enter");
  const held = page.getByRole("region", { name: "As the grants are" });
  await held.getByRole("listitem").filter({ hasText: "agent:courier may read files/parcels/one" }).waitFor();
  const handedOn = page.getByRole("region", { name: "When a holder hands it on" });
  await handedOn.getByText("any principal may read files/parcels/one").waitFor();
  // The address is the whole question.
  await page.reload();
  await handedOn.getByRole("link", { name: "handed" }).first().waitFor();

  await page.getByLabel("Who", { exact: true }).fill("agent:courier");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("Name a principal or a resource, and not both.").waitFor();
  await page.getByLabel("Resource").fill("");
  await page.keyboard.press("Enter");
  await held.getByText("agent:courier may read files/parcels/**").waitFor();
  await page.getByLabel("Action (optional)").fill("write");
  await page.keyboard.press("Enter");
  await page.getByText("As the grants are, this can never happen.").waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("a grant that is shown already stays when the grants around it are read", async () => {
  const { page, problems, close } = await open();
  const readList = await holdRequests(page, /\/grants\?.*limit=500/);
  await goTo(page, "/console/demo/grants/assistant-notes");
  const detail = page.getByRole("region", { name: "Grant assistant-notes" });
  const shown = await detail.getByRole("heading", { name: "Where it comes from" }).elementHandle();
  await expect.poll(() => page.getByRole("treeitem").count()).toBe(0);
  readList();
  await page.getByRole("treeitem").first().waitFor();
  await expect.poll(() => shown.evaluate((heading) => heading.isConnected)).toBe(true);
  expect(problems).toEqual([]);
  await close();
});

test("a denial is explained, the one grant that would allow exactly that is issued with a button, and then it is allowed", async () => {
  const { page, problems, close } = await open("demo/why");
  await page.getByLabel("May", { exact: true }).fill("agent:assistant");
  await page.getByLabel("do", { exact: true }).fill("read");
  await page.getByLabel("with", { exact: true }).fill("files/private/diary.md");
  await page.getByLabel("for", { exact: true }).fill("demo");
  await page.getByText("For another principal, or at another time").click();
  await page.getByLabel("Whose resources").fill("human:alice");
  await page.keyboard.press("Enter");
  const decision = page.getByRole("region", { name: "The decision" });
  await decision.getByText("no_matching_grant").waitFor();
  const offer = page.getByRole("region", { name: "The grant that would allow it" });
  await offer.getByText("files/private/diary.md").first().waitFor();
  await offer.getByRole("button", { name: "Issue this grant" }).click();
  await page.getByText("was issued. This is the decision now:").waitFor();
  await decision.getByText("It is carried by the grant").waitFor();
  // The address is the whole question: another caller sees the same answer.
  await page.reload();
  await decision.getByText("It is carried by the grant").waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("what if shows which decisions would change, and changes nothing", async () => {
  const executionId = await startTurn(demo, { read: "notes/todo.md" });
  const { page, close } = await open(`demo/turns/${executionId}?of=agent%3Aassistant`);
  await page.getByRole("heading", { name: "What it came to" }).waitFor();
  const read = (name, input) => demo.operator.request(name, { namespaceId: "demo", limit: 200, ...input });
  const recorded = async () => {
    const { events } = await read("listAudit", { traceId: `trace-${executionId}` });
    return events.map(({ event }) => event.type);
  };
  await expect.poll(recorded).toContain("turn.ended");
  const state = async () => [
    await read("listGrants"),
    await demo.operator.request("readAuditHeads", { namespaceId: "demo" }).then(({ heads }) => heads),
  ];
  const before = await state();
  await page.getByRole("link", { name: "Why", exact: true }).first().click();
  await page.getByRole("link", { name: "What if" }).click();
  await page.getByLabel("What if there were").selectOption({ label: "a revocation" });
  await page.getByLabel("The grant's id").fill("assistant-notes");
  const change = page.getByRole("region", { name: "What would change" });
  await change.getByText(/would be decided differently/).waitFor();
  await change.getByRole("region", { name: "Decisions that would change" }).getByText("files/notes").first().waitFor();
  await page.getByLabel("What if there were").selectOption({ label: "a new grant" });
  await page.getByLabel("To: who may act").fill("agent:assistant");
  await page.getByLabel("From: who grants it").fill("human:alice");
  await page.getByLabel("Actions").fill("*");
  await page.getByLabel("Resource").fill("files");
  await change.getByText(/Nothing changes|would be decided differently/).waitFor();
  await expect.poll(state).toEqual(before);
  await close();
});

test("the audit log keeps its filters in the address, grows by itself, verifies as whole and tells a trace as a story", async () => {
  const asking = await startTurn(demo, { read: "private/secret.md" });
  const { traceId } = await waitForQuestion(demo, asking);
  const { page, problems, close } = await open("demo/trail");
  await page.getByLabel("Outcome").selectOption("denied");
  await page.getByLabel("Actor").fill("agent:assistant");
  await page.keyboard.press("Enter");
  await page.waitForURL(/outcome=denied.*actor=agent%3Aassistant|actor=agent%3Aassistant.*outcome=denied/);
  const row = page.getByRole("button", { name: /private\/secret\.md/ });
  await row.first().waitFor();
  await page.reload();
  await row.first().waitFor();
  await expect.poll(() => page.getByLabel("Outcome").inputValue()).toBe("denied");
  await page.getByRole("button", { name: "Show all" }).click();
  // Rows under a pointer stay where they are.
  await page.mouse.move(0, 0);

  // What happens elsewhere comes by itself.
  await startTurn(demo, { read: "private/new.md" });
  await page
    .getByRole("button", { name: /private\/new\.md/ })
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText(/rows are what they were written as/).waitFor();

  await page.goto(`${demo.url}/console/demo/trail/trace/${traceId}`);
  await page.getByRole("heading", { level: 2, name: new RegExp(asking) }).waitFor();
  const step = page.getByRole("listitem").filter({ hasText: "no_matching_grant" }).first();
  await step.getByRole("link", { name: "Why?" }).click();
  await page
    .getByRole("region", { name: "The decision" })
    .getByText(/^In the audit log .*no_matching_grant/)
    .waitFor();
  expect(problems).toEqual([]);
  await close();
});

test("a credential's token is shown once and is nowhere afterwards; it is rotated and revoked", async () => {
  const { page, close } = await open("demo/access");
  await page.getByRole("button", { name: "Make a credential" }).click();
  const form = page.getByRole("dialog", { name: "Make a credential" });
  await form.getByLabel("Actor").fill("agent:courier");
  await form.getByLabel("Owner").fill("human:alice");
  await form.getByLabel("Purposes").fill("deliver");
  await form.getByRole("button", { name: "Make it and show the token" }).click();
  const once = page.getByRole("dialog", { name: "The token" });
  const token = await once.getByText(/^tp_/).textContent();
  const statusFor = async (bearer) => {
    const { status } = await fetch(`${demo.url}/v1/tools`, { headers: { authorization: `Bearer ${bearer}` } });
    return status;
  };
  await expect.poll(() => statusFor(token)).toBe(200);
  await once.getByRole("button", { name: "I have it, close" }).click();
  const everywhere = () =>
    page.evaluate(() =>
      JSON.stringify([document.documentElement.outerHTML, location.href, { ...localStorage }, { ...sessionStorage }]),
    );
  await expect.poll(() => everywhere()).not.toContain(token.slice(-20));

  await page.getByRole("button", { name: "Rotate the credential of agent:courier" }).click();
  // A session alone, which a stranger has who finds the page open, makes no other token.
  const rotate = page.getByRole("dialog", { name: "Another token" });
  await expect
    .poll(() => rotate.getByRole("button", { name: "Rotate and show the new token" }).isDisabled())
    .toBe(true);
  await rotate.getByLabel("Your own token").fill(token);
  await page.keyboard.press("Enter");
  await rotate.getByRole("alert").getByText("With a session this needs your own token as well").waitFor();
  await rotate.getByLabel("Your own token").fill(demo.token);
  await rotate.getByRole("button", { name: "Rotate and show the new token" }).click();
  const next = await page.getByRole("dialog", { name: "The new token" }).getByText(/^tp_/).textContent();
  // It asks before it is gone, also while nothing in it has the focus.
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Close it" }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await expect.poll(() => Promise.all([token, next].map(statusFor))).toEqual([401, 200]);
  await page.reload();
  await page.getByRole("link", { name: "agent:courier" }).waitFor();
  await expect.poll(() => everywhere()).not.toContain(next.slice(-20));
  await expect.poll(() => everywhere()).not.toContain(demo.token.slice(-20));

  await page.getByRole("button", { name: "Revoke the credential of agent:courier" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke it" }).click();
  await page.getByRole("link", { name: "agent:courier" }).waitFor({ state: "hidden" });
  await expect.poll(() => statusFor(next)).toBe(401);
  await page.getByLabel("Also revoked and expired").check();
  await page.getByRole("row", { name: /agent:courier.*revoked/ }).waitFor();
  await close();
});

test("a credential has a page with what it left behind, and one button ends all of it", async () => {
  const { id, operator } = await makeOperator(demo, "gone", { tenant: "demo" });
  const alice = { kind: "human", userId: "alice" };
  const assistant = { kind: "agent", agentId: "assistant" };
  const resource = { namespace: "files", path: ["left"] };
  await operator.request("createGrant", {
    id: "left-behind",
    namespaceId: "demo",
    subject: assistant,
    issuer: alice,
    capabilities: [{ resource, actions: ["read"], scope: "exact" }],
    constraints: {},
    issuedAt: new Date().toISOString(),
  });
  const theirs = await open("demo/now", { operator });

  const { page, problems, close } = await open("demo/access/operators");
  await page.getByRole("link", { name: id }).click();
  const left = page.getByRole("region", { name: "What it left behind" }).first();
  await left.getByRole("row", { name: /session of this page/ }).waitFor();
  await left.getByRole("row", { name: /grant.*left-behind.*demo.*agent:assistant/ }).waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await left.getByRole("link", { name: "left-behind" }).click();
  await page.getByRole("region", { name: "Grant left-behind" }).getByText("live").first().waitFor();
  await page.goBack();

  await page.getByRole("button", { name: "Revoke it and end all of it" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Keep it" }).click();
  await left.getByRole("row", { name: /left-behind/ }).waitFor();
  await page.getByRole("button", { name: "Revoke it and end all of it" }).click();
  await dialog.getByRole("button", { name: "End all of it" }).click();
  await dialog.getByRole("status").getByText("this ended: 1 session, 1 grant.").waitFor();
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  await left.getByText("Nothing.").waitFor();
  await expect.poll(() => page.getByRole("button", { name: /end all of it/i }).count()).toBe(0);
  const { grants } = await demo.operator.request("listGrants", { namespaceId: "demo", id: "left-behind" });
  expect(grants.map(({ state }) => state)).toEqual(["revoked"]);
  await theirs.page.reload();
  await theirs.page.getByLabel("Token").waitFor();
  expect(problems).toEqual([]);
  await theirs.close();
  await close();
});

test("an auditor sees what a credential left behind, and no button", async () => {
  const { operator } = await makeOperator(demo, "looker", { role: "auditor", tenant: "demo" });
  const place = `demo/access/${await assistantCredential(demo)}`;
  const { page, problems, close } = await open(place, { operator });
  await page.getByRole("heading", { name: "What it left behind" }).waitFor();
  await page.getByText("Last used").waitFor();
  await settled(page);
  await expect.poll(() => page.getByRole("button", { name: /end all of it/i }).count()).toBe(0);
  expect(problems).toEqual([]);
  await close();
});

test("a namespace is switched for an actor, and a tool tried as a credential is allowed or denied with the way to Why", async () => {
  const credential = await assistantCredential(demo);
  const { page, problems, close } = await open("demo/tools/namespaces?actor=agent%3Aassistant");
  const messages = page.getByRole("switch", { name: /^messages/ });
  await messages.click();
  await page.getByText("messages is off.").waitFor();
  await expect.poll(() => messages.isChecked()).toBe(false);
  await messages.click();
  await page.getByText("messages is on.").waitFor();

  await page.getByRole("link", { name: "Try a tool" }).click();
  await page.getByLabel("As the bearer of").selectOption(credential);
  await page.getByRole("button", { name: "files.read" }).click();
  await page.getByLabel("path").fill("notes/todo.md");
  await page.getByRole("button", { name: "Call it" }).click();
  await page.getByText("water the plants").waitFor();
  // The way to Why is not offered before the audit log has said what exactly was refused.
  const readAudit = await holdRequests(page, "**/admin/v1/audit*");
  await page.getByLabel("path").fill("private/nothing.md");
  await page.keyboard.press("Control+Enter");
  await page.getByText("no_matching_grant").first().waitFor();
  const why = page.getByRole("link", { name: "Why?" });
  await expect.poll(() => why.count()).toBe(0);
  readAudit();
  await why.click();
  const decision = page.getByRole("region", { name: "The decision" });
  await decision.getByText("files/private/nothing.md").first().waitFor();

  // Who asks nothing yet is offered what was denied last.
  await page.getByRole("link", { name: "Why", exact: true }).first().click();
  const lately = page.getByRole("region", { name: "Denied lately" });
  await lately.getByRole("link", { name: /read files\/private\/nothing\.md/ }).click();
  await decision.getByText("files/private/nothing.md").first().waitFor();
  expect(problems).toEqual([]);
  await close();
});
