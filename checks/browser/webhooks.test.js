import { createServer } from "node:http";
import { once } from "node:events";
import { afterAll, expect, test } from "vitest";
import { makeOperator, seriousFindings, startTurn, waitForQuestion } from "./browser.js";
import { useDemo } from "./use-demo.js";

let receiver;
/** What the receiver answers, and the ids of the messages that it was sent. */
const hook = { status: 200, ids: [] };
const { demo, open } = useDemo(async () => {
  receiver = createServer((request, response) => {
    request.resume().on("end", () => {
      hook.ids.push(request.headers["webhook-id"]);
      response.writeHead(hook.status).end();
    });
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${receiver.address().port}/hook`;
  const notify = { webhooks: [{ url, secretEnv: "HOOK_SECRET", events: ["escalation.opened"] }] };
  return { notify, env: { HOOK_SECRET: "a secret that is long enough for this" } };
});
afterAll(() => receiver?.close());

const ask = async (path) => waitForQuestion(demo, await startTurn(demo, { read: `private/${path}` }));

test("what was sent, what failed and why, and again on request", async () => {
  const { page, problems, close } = await open("demo/webhooks");
  await page.getByText("No webhook was told of anything yet.").waitFor();
  const table = page.getByRole("region", { name: "Messages to webhooks" });
  const rows = table.locator("tbody tr");
  const again = page.getByRole("button", { name: "Read again" });
  /** Looks until the newest message is in a state: when it is sent is no event of the tenant. */
  const newestIs = async (state) => {
    await expect
      .poll(async () => {
        await again.click();
        return rows.first().getByRole("cell").first().textContent();
      })
      .toBe(state);
  };

  await ask("a.md");
  await newestIs("delivered");
  await expect.poll(() => rows.first().textContent()).toMatch(/escalation\.opened.*http:\/\/127\.0\.0\.1/);
  await rows.first().getByRole("button", { name: "Send again" }).click();
  await expect.poll(() => hook.ids.length).toBe(2);
  expect(hook.ids[0]).toBe(hook.ids[1]);

  hook.status = 500;
  await ask("b.md");
  await newestIs("retrying");
  // While a message is sent it is already counted as tried; why it failed is there with the answer.
  await expect
    .poll(async () => {
      await again.click();
      return rows.first().textContent();
    })
    .toContain("500");
  const failing = hook.ids.at(-1);
  // It fails until it is asked for: otherwise it could be delivered before by itself.
  await page.route("**/retry", async (route) => {
    hook.status = 200;
    await route.continue();
  });
  await rows.first().getByRole("button", { name: "Try now" }).click();
  await newestIs("delivered");
  expect(hook.ids.at(-1)).toBe(failing);

  // A receiver that is gone for good is sent nothing more.
  hook.status = 410;
  await ask("c.md");
  await newestIs("failed");
  expect(await seriousFindings(page)).toEqual([]);
  await page.getByLabel("State").selectOption("failed");
  await page.waitForURL(/state=failed/);
  await expect.poll(() => rows.count()).toBe(1);
  await page.getByLabel("State").selectOption("waiting");
  await page.getByText("No message is in this state.").waitFor();
  expect(problems).toEqual([]);
  await close();

  const { operator } = await makeOperator(demo, "audrey", { role: "auditor" });
  const auditor = await open("demo/webhooks", { operator });
  await auditor.page.getByRole("region", { name: "Messages to webhooks" }).locator("tbody tr").first().waitFor();
  await expect.poll(() => auditor.page.getByRole("button", { name: /Send again|Try now/ }).count()).toBe(0);
  await auditor.close();
});
