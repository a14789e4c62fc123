import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDemo } from "../scripts/start-host.js";
import { goTo, openBrowser, openConsole, seriousFindings } from "./browser.js";

const office = fileURLToPath(new URL("../docs/examples/office-server.js", import.meta.url));

let demo;
let browser;
beforeAll(async () => {
  const servers = { office: { command: [process.execPath, office] } };
  [demo, browser] = await Promise.all([startDemo({ mcp: { servers } }), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

test("the first review of a server is a table of names, descriptions and arguments, from which tools are accepted", async () => {
  const { page, problems, close } = await openConsole(browser, { url: demo.url, operator: demo.operator });
  await goTo(page, "/console/demo/tools/servers/office");
  const table = page.getByRole("region", { name: "New tools" });
  const row = table.getByRole("row").filter({ hasText: "pay" }).first();
  await row.waitFor();
  expect(await table.getByRole("columnheader").allTextContents()).toEqual([
    "Tool",
    "Description",
    "Arguments",
    "All of it",
    "Accept",
  ]);
  expect(await row.getByRole("cell").nth(2).textContent()).toContain("recipient");
  await row.locator("summary").click();
  await row.getByText("inputSchema.properties.recipient.type").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await row.getByRole("button", { name: "Accept this definition" }).click();
  await page.getByText("Accepted: pay.").waitFor();
  await row.waitFor({ state: "detached" });
  expect(problems).toEqual([]);
  await close();
});
