import { expect, test } from "vitest";
import { makeOperator, startTurn, waitForQuestion } from "./browser.js";
import { useDemo } from "./use-demo.js";

const { demo, open } = useDemo();

const namespaceId = "demo";
const ends = [
  {
    name: "turn is cancelled",
    end: ({ executionId }) =>
      demo.operator.request("cancelAnyTurn", { namespaceId, executionId, actor: "agent:assistant" }),
    amount: 7,
    says: /^Closed at .*: its turn was cancelled\. It cannot be answered any more\.$/,
  },
  {
    name: "credential is revoked",
    amount: 9,
    end: (_question, { id }) => demo.operator.request("revokeCredential", { id }),
    says: /^Closed at .*: the credential .* that it was asked with was revoked\. It cannot be answered any more\.$/,
  },
  {
    name: "grant is revoked",
    amount: 8,
    end: ({ approval }) => demo.operator.request("revokeGrant", { namespaceId, id: approval.grantId }),
    says: /^Closed at .*: its grant assistant-payments was revoked\. It cannot be answered any more\.$/,
  },
];

test.each(ends)(
  "a question whose $name is closed in the page that shows it, and says so",
  async ({ end, says, amount }) => {
    const [assistant, alice] = [
      { kind: "agent", agentId: "assistant" },
      { kind: "human", userId: "alice" },
    ];
    const access = { actor: assistant, owner: alice, authority: alice, purposes: ["demo"] };
    const credential = await demo.operator.request("createCredential", { namespaceId, access });
    const asker = { ...demo, tokens: { assistant: credential.token } };
    const payload = { pay: { to: "bob", amount, reference: "Tea" } };
    const question = await waitForQuestion(demo, await startTurn(asker, payload));
    const dora = await makeOperator(demo, `dora-${question.id}`, { role: "reviewer" });
    // Who is told of no audit log sees it as well as who is.
    const pages = [];
    for (const { operator } of [demo, dora]) {
      const opened = await open(`demo/questions/${question.id}`, { operator });
      const shown = opened.page.getByRole("article", { name: "The question" });
      const menu = opened.page.getByRole("navigation", { name: "Screens" });
      await shown.getByRole("button", { name: "Approve" }).waitFor();
      await menu.getByRole("link", { name: "Questions 1 waiting" }).waitFor();
      pages.push({ ...opened, shown, menu });
    }
    await end(question, credential);
    for (const { page, shown, menu, problems, close } of pages) {
      await shown.getByText(says).waitFor();
      await shown.getByText("closed", { exact: true }).waitFor();
      await expect.poll(() => shown.getByRole("button", { name: "Approve" }).count()).toBe(0);
      await menu.getByRole("link", { name: "Questions", exact: true }).waitFor();
      await page.getByText("Nothing waits for an answer.").waitFor();
      expect(problems).toEqual([]);
      await close();
    }
  },
);
