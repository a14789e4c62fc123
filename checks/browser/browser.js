import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { createAdminClient } from "turnpike-host/admin-contract";

/** Where the pictures of a run are kept for looking at. */
const pictures = join(import.meta.dirname, "../../.build/screens");

/** Starts Debian's chromium, or the one that CHROMIUM names. */
export async function openBrowser() {
  const paths = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const executablePath = paths.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined)
    throw new Error("There is no chromium. Install it (apt-get install chromium), or name it in CHROMIUM.");
  // Chromium's own sandbox does not work for root, which is who tests run as in many containers.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath, args });
}

/**
 * Opens the console as an operator, by a one-time code, and watches it: what the page complains about, and whatever it asks
 * of another server, is in `problems`.
 */
export async function openConsole(browser, { operator, place = "demo/now", ...options }) {
  const { code } = await operator.request("createCode", {});
  const opened = await openPage(browser, { ...options, place: `console/${place}#code=${code}` });
  await opened.page.getByRole("heading", { level: 1 }).waitFor();
  // What a page does once it is drawn, such as taking keys, begins together with its title.
  await opened.page.waitForFunction(() => document.title.endsWith("· Turnpike"));
  return opened;
}

/** Waits until the console has read everything that it shows: what is still read has a placeholder. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector(".loading, [aria-busy=true]") === null);
}

/** Holds what a page asks of the host, until the function that this resolves with is called. */
export async function holdRequests(page, pattern = "**/admin/v1/**") {
  let release = () => {};
  const released = new Promise((resolve) => {
    release = resolve;
  });
  await page.route(pattern, async (route) => {
    await released;
    await route.fallback();
  });
  return release;
}

/** Opens a page of a host in a browser that knows nothing yet, and watches it. */
export async function openPage(browser, { url, place, width = 1280, scheme = "light", ...options }) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, ...options });
  // What is not there fails a test soon, and says what it waited for.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => {
    // Of a page that was opened from a folder, everything else in that folder is its own.
    if (!request.url().startsWith(`${url}/`)) problems.push(`asked ${request.url()}`);
  });
  await page.goto(`${url}/${place}`);
  return { page, problems, close: () => context.close() };
}

/** Goes to another screen of the console without a new page, as the browser's Back and a followed link do. */
export async function goTo(page, address) {
  await page.evaluate((to) => {
    history.pushState(undefined, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
  }, address);
}

/** Makes an operator, and returns the client with its token and the id of its credential. */
export async function makeOperator(host, name, access) {
  const actor = { kind: "human", userId: name };
  const { id, token } = await host.operator.request("createCredential", {
    namespaceId: "operators",
    access: { actor, owner: actor, purposes: ["operate"], admin: true, ...access },
  });
  return { id, token, operator: createAdminClient({ url: host.url, token }) };
}

/** Starts a turn as the demo's assistant does it, and resolves with its name. */
export async function startTurn({ url, tokens }, payload, executionId = `turn-${crypto.randomUUID()}`) {
  const traceId = `trace-${executionId}`;
  const assistant = { kind: "agent", agentId: "assistant" };
  const message = {
    version: 1,
    id: `message-${executionId}`,
    createdAt: new Date().toISOString(),
    traceId,
    purpose: "demo",
    sender: { kind: "human", userId: "alice" },
    receiver: assistant,
    payload,
  };
  const response = await fetch(`${url}/v1/turns`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokens.assistant}`,
      "content-type": "application/json",
      prefer: "respond-async",
      "x-trace-id": traceId,
    },
    body: JSON.stringify({ version: 1, executionId, agent: assistant, message }),
  });
  if (!response.ok) throw new Error(`The turn ${executionId} was not started: ${await response.text()}`);
  return executionId;
}

/** The id of the credential that the demo's assistant acts with. */
export async function assistantCredential({ operator }) {
  const { credentials } = await operator.request("listCredentials", { namespaceId: "demo", limit: 500 });
  return credentials.find(({ access }) => access.actor.agentId === "assistant").id;
}

/** The question that a turn waits with, as soon as it does. */
export async function waitForQuestion({ operator }, executionId) {
  for (const end = Date.now() + 60_000; Date.now() < end; await setTimeout(50)) {
    const { escalations } = await operator.request("listEscalations", { namespaceId: "demo", status: "pending" });
    const question = escalations.find((one) => one.executionId === executionId);
    if (question !== undefined) return question;
  }
  throw new Error(`The turn ${executionId} asked nothing.`);
}

/** What axe finds that is serious, as lines. The page's policy lets no script in, so it comes through the debugger. */
export async function seriousFindings(page) {
  const debug = await page.context().newCDPSession(page);
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await debug.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  if (!(await evaluate("'axe' in globalThis"))) await evaluate(axe.source);
  const { violations } = await evaluate('axe.run({ resultTypes: ["violations"] })');
  await debug.detach();
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

/** Keeps a picture of the whole page, and says whether the page is wider than its window. */
export async function picture(page, name) {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  return page.evaluate(() => ({ isTooWide: document.documentElement.scrollWidth > window.innerWidth }));
}
