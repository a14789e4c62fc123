import { programName } from "../shared/index.ts";
import { randomBytes } from "node:crypto";
import type { DemoTokens } from "./demo-world.ts";

/** Where a demo runs, and the link that opens its console. */
interface DemoLinks {
  url: string;
  console: string;
  /** Whether people can sign in, with the provider of the demo. */
  hasPeople: boolean;
}

/** What the demo prints when it has started: a link to the console, and commands that work as they are pasted. */
export function demoScreen(links: DemoLinks, operatorFlags: string, { assistant }: DemoTokens): string {
  const { url } = links;
  const run = randomBytes(3).toString("hex");
  const now = new Date().toISOString();
  const curl = (path: string, options = ""): string =>
    `curl -s ${url}${path} -H 'authorization: Bearer ${assistant}' -H 'x-trace-id: ${run}'${options}`;
  const send = (method: string, path: string, body: unknown): string =>
    curl(path, ` -X ${method} -d '${JSON.stringify(body)}'`);
  const read = (id: string, path: string) => ({
    id: `${id}-${run}`,
    tool: "files.read",
    arguments: { path },
    requestedAt: now,
    traceId: run,
  });
  const agent = { kind: "agent", agentId: "assistant" };
  const message = {
    version: 1,
    id: `message-${run}`,
    createdAt: now,
    traceId: run,
    purpose: "demo",
    sender: { kind: "human", userId: "alice" },
    receiver: agent,
    payload: { read: "notes/todo.md" },
  };
  const lines = [
    ["The tools that Alice's assistant may use", curl("/v1/tools")],
    ["An allowed call", send("POST", "/v1/tools/invoke", read("allowed", "notes/todo.md"))],
    ["A denied call, and why", send("POST", "/v1/tools/invoke", read("denied", "private/diary.md"))],
    ["A tool namespace switched off", send("PUT", "/v1/tools/namespaces", { disable: ["messages"] })],
    ["A whole turn", send("POST", "/v1/turns", { version: 1, executionId: `turn-${run}`, agent, message })],
  ];
  const wish = JSON.stringify({ read: "private/diary.md" });
  const asking = `diary-${run}`;
  const payment = JSON.stringify({ pay: { to: "bob", amount: 20, reference: "The book" } });
  const paying = `pay-${run}`;
  const turnOf = (id: string, wants: string): string =>
    `${programName()} turn start --url ${url} --id ${id} --agent assistant --from human:alice --purpose demo --message '${wants}'`;
  return [
    `Turnpike runs at ${url}`,
    `  console ${links.console}`,
    "    This link signs you in as the operator, once, for 10 minutes. Another one:",
    `    ${programName()} console ${operatorFlags}`,
    ...(links.hasPeople
      ? [
          `  people  ${url}/me`,
          "    Sign in as Alice, Bob or Carol, and see what agents do for you. There are no passwords.",
        ]
      : []),
    `  health ${url}/health   ready ${url}/ready   api ${url}/docs`,
    "",
    ...lines.map(([title, line]) => `# ${title}\n${line}\n`),
    "# What is denied can be requested: this turn waits for an answer, one command approves it, and the turn goes on",
    `export TURNPIKE_TOKEN=${assistant}`,
    turnOf(asking, wish),
    `${programName()} escalation approve ${operatorFlags} --tenant demo --wants 'read files/private/diary.md' --expires 10m --uses 1`,
    `${programName()} turn follow ${asking} --url ${url}`,
    "",
    "# What is allowed may need approval each time: paying does. This is what a person reads, and approves",
    turnOf(paying, payment),
    `${programName()} escalation show ${operatorFlags} --tenant demo --turn ${paying}`,
    `${programName()} escalation approve ${operatorFlags} --tenant demo --turn ${paying}`,
    `${programName()} turn follow ${paying} --url ${url}`,
    "",
    "Ctrl-C stops it; the data stays.",
  ].join("\n");
}
