// Makes the pictures of the guide again: a demo, played to a telling state, looked at as an operator does.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { startDemo } from "../../scripts/start-host.js";
import { goTo, openBrowser, openConsole, settled, startTurn, waitForQuestion } from "./browser.js";

const folder = join(import.meta.dirname, "../../docs/pictures");
const alice = { kind: "human", userId: "alice" };
const agent = (agentId) => ({ kind: "agent", agentId });

mkdirSync(folder, { recursive: true });
const [demo, browser] = await Promise.all([startDemo(), openBrowser()]);
try {
  const places = await play();
  await draw(places, {});
  await draw({ "now-dark": places.now }, { scheme: "dark" });
  await draw({ "question-narrow": places.question }, { width: 360, height: 740 });
} finally {
  await browser.close();
  await demo.stop();
}

/** Plays the story as far as it is worth looking at, and returns what to draw, with a text that is there when it is read. */
async function play() {
  await delegate();
  await start("read-the-notes", { read: "notes/todo.md" });
  await start("read-ideas", { read: "notes/ideas.md" });
  await approve(await start("pay-for-the-book", { pay: { to: "bob", amount: 20, reference: "The book" } }));
  await approve(await start("diary-of-monday", { read: "private/diary.md" }), { maxUses: 1 });
  await waitForQuestion(demo, await start("pay-again", { pay: { to: "bob", amount: 35, reference: "Another book" } }));
  const question = await waitForQuestion(demo, await start("diary-of-friday", { read: "private/diary.md" }));
  const why = new URLSearchParams({
    actor: "agent:assistant",
    authority: "human:alice",
    owner: "human:alice",
    action: "read",
    resource: "files/private/diary.md",
    purpose: "demo",
  });
  return {
    now: ["now", /files\/private\/diary\.md/],
    question: [`questions/${question.id}`, "What its turn did so far"],
    turn: ["turns/diary-of-monday?of=agent%3Aassistant", "What it came to"],
    grants: ["grants/research", "Where it comes from"],
    why: [`why?${why}`, "This one grant would allow exactly this"],
    trail: ["trail", /rows shown/],
  };
}

/** Starts a turn with a name that says what it is about. */
function start(executionId, payload) {
  return startTurn(demo, payload, executionId);
}

/** Says yes to the question of a turn. */
async function approve(executionId, terms = {}) {
  const { id, ask } = await waitForQuestion(demo, executionId);
  await demo.operator.request("approveEscalation", { namespaceId: "demo", id, ask, ...terms });
}

/** A small tree: Alice lets a researcher read, who passes narrower parts on. */
async function delegate() {
  const readers = (path, actions = ["read"]) => ({
    resource: { namespace: "files", path },
    actions,
    scope: "descendants",
  });
  await demo.operator.request("createGrant", {
    id: "research",
    namespaceId: "demo",
    subject: agent("researcher"),
    issuer: alice,
    capabilities: [readers(["papers"], ["read", "list"])],
    constraints: { delegationDepth: 1 },
    issuedAt: new Date().toISOString(),
  });
  const derive = (id, subject, path) =>
    demo.operator.request("deriveGrant", {
      namespaceId: "demo",
      parentId: "research",
      id,
      subject,
      capabilities: [readers(["papers", path])],
      constraints: {},
    });
  await derive("summaries", agent("writer"), "drafts");
  await derive("citations", agent("librarian"), "sources");
  await derive("proofs", agent("reader"), "final");
}

async function draw(places, { width = 1280, height = 800, scheme = "light" }) {
  const { page, close } = await openConsole(browser, {
    url: demo.url,
    operator: demo.operator,
    width,
    scheme,
    viewport: { width, height },
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  for (const [name, [place, text]] of Object.entries(places)) {
    await goTo(page, `/console/demo/${place}`);
    await page.getByRole("main").getByText(text).first().waitFor();
    await page.getByText(/^Live/).first().waitFor({ state: "attached" });
    await settled(page);
    const path = join(folder, `${name}.png`);
    await page.screenshot({ path, scale: "css", animations: "disabled" });
    process.stdout.write(`${name}.png ${Math.round(statSync(path).size / 1000)} kB\n`);
  }
  await close();
}
