// A host, and an agent that may send mail to bob, and to carol when a person approves it.
import { existsSync, readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startHost } from "../../scripts/start-host.js";
import { packed } from "./packed.js";

const namespaceId = "acme";
const mailer = { kind: "agent", agentId: "mailer" };
const alice = { kind: "human", userId: "alice" };

const sending = (to, approval) => ({
  resource: { namespace: "mail", path: [to] },
  actions: ["send"],
  scope: "exact",
  ...(approval && { approval }),
});

export async function startWorld() {
  const { url, operator, stop } = await startHost(() => ({}));
  const access = { actor: mailer, owner: alice, authority: alice, purposes: ["work"] };
  const { token } = await operator.request("createCredential", { namespaceId, access });
  const grant = { id: "mail", constraints: {}, issuedAt: new Date().toISOString(), namespaceId, subject: mailer };
  const capabilities = [sending("bob"), sending("carol", "each")];
  await operator.request("createGrant", { ...grant, issuer: alice, capabilities });
  return {
    url,
    token,
    stop,
    /** The questions that are open. */
    questions: async () => (await operator.request("listEscalations", { namespaceId, status: "pending" })).escalations,
    approve: ({ id, ask }) => operator.request("approveEscalation", { namespaceId, id, ask }),
    /** What the audit log says of a trace, the oldest first. */
    async outcomes(traceId) {
      const { events } = await operator.request("listAudit", { namespaceId, traceId });
      return events.map(({ event }) => `${event.type} ${event.outcome}`).toReversed();
    },
  };
}

export function linesOf(diary) {
  return existsSync(diary) ? readFileSync(diary, "utf8").split("\n").filter(Boolean) : [];
}

/** An agent's process: answers one scenario after the other. */
export async function startAgent(node, framework, version) {
  const args = [join(packed, "programs/serve.js"), framework, ...(version === undefined ? [] : [version])];
  const child = spawn(node, args, { stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(child, "close");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  /** The next line that the harness prints; frameworks print lines of their own. */
  const next = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`The agent ended.\n${errors}`);
      if (value.startsWith("{")) return JSON.parse(value);
    }
  };
  await next();
  const send = (scenario) => child.stdin.write(`${JSON.stringify(scenario)}\n`);
  return {
    send,
    next,
    async play(scenario) {
      send(scenario);
      return next();
    },
    async kill() {
      process.off("exit", kill);
      kill();
      await ended;
    },
  };
}
