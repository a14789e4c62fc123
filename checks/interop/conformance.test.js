import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startNamingProxy } from "./naming-proxy.js";
import { installed, node22, startWorld } from "./world.js";

const suite = join(installed, "@modelcontextprotocol/conformance/dist/index.js");

const asks =
  "a server's questions to the client (sampling, elicitation, roots) are not carried: a call is decided once";
const log = "what a server logs is for the operator";
const suggestions = "the gate does not decide about suggestions of arguments, so there are none";
const subscriptions = "the host tells no client that the content of a resource changed";

/** By revision: what the suite runs, and the checks of what the host does not offer, with the reason. All others pass. */
const revisions = {
  "2025-11-25": {
    args: ["--spec-version", "2025-11-25"],
    notOffered: {
      "logging-set-level": log,
      "tools-call-with-logging": log,
      "completion-complete": suggestions,
      "resources-subscribe": subscriptions,
      "resources-unsubscribe": subscriptions,
      "tools-call-sampling": asks,
      "tools-call-elicitation": asks,
      "elicitation-sep1034-general": asks,
      "elicitation-sep1330-general": asks,
    },
  },
  "2026-07-28": {
    args: ["--requirements", "2026-07-28"],
    notOffered: {
      "completion-complete": suggestions,
      "sep-2575-server-rejects-undeclared-capability": asks,
      "sep-2575-missing-capability-http-400": asks,
      "sep-2322-elicitation-incomplete": asks,
      "sep-2322-list-roots-incomplete": asks,
      "sep-2322-sampling-incomplete": asks,
      "sep-2322-respect-client-capabilities": asks,
      "sep-2322-multi-round-r1": asks,
      "sep-2322-multiple-inputs-incomplete": asks,
      "sep-2322-non-tool-incomplete": asks,
      "sep-2322-request-state-incomplete": asks,
      "sep-2322-result-type-included": asks,
      "sep-2322-reject-tampered-state": asks,
    },
  },
};

let world;
let proxy;
beforeAll(async () => {
  world = await startWorld();
  proxy = await startNamingProxy(world);
});
afterAll(async () => {
  await proxy?.stop();
  await world?.stop();
});

/** Runs the suite, and returns the checks of the scenarios that count for the revision. */
async function runSuite(args) {
  const results = mkdtempSync(join(tmpdir(), "turnpike-conformance-"));
  onTestFinished(() => rmSync(results, { recursive: true, force: true }));
  const output = await new Promise((resolve) => {
    const all = [suite, "server", "--url", `${proxy.url}/mcp`, "--output-dir", results, ...args];
    execFile(node22, all, (_error, stdout) => resolve(stdout));
  });
  // Extensions, and scenarios that the suite's own server does not pass, are run and not counted.
  const [, unscored = ""] = output.split("Not scored");
  const uncounted = new Set([...unscored.matchAll(/[✓✗] (\S+) \(/g)].map(([, name]) => name));
  const scenarios = readdirSync(results)
    .map((name) => ({ name: name.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, "$1"), file: join(results, name) }))
    .filter(({ name }) => !uncounted.has(name));
  const checks = scenarios.flatMap(({ file }) => JSON.parse(readFileSync(join(file, "checks.json"), "utf8")));
  return { scenarios, checks };
}

for (const [revision, { args, notOffered }] of Object.entries(revisions)) {
  test(`everything that is offered conforms to ${revision}`, async () => {
    const { scenarios, checks } = await runSuite(args);
    expect(scenarios.length).toBeGreaterThan(30);
    const failed = checks.filter(({ status }) => status === "FAILURE").map(({ id }) => id);
    // Both ways: what is on the list and passes has to leave it.
    expect(failed.toSorted()).toEqual(Object.keys(notOffered).toSorted());
  });
}
