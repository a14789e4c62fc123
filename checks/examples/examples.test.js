import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createServiceClient } from "turnpike/client";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startDemo } from "../../scripts/start-host.js";
import { readBlocks } from "../../tests/support/markdown.ts";
import { copy, makeCopy, run, serve } from "./copy.js";

const folder = join(import.meta.dirname, "../../examples");
const examples = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);
const read = (...path) => readFileSync(join(folder, ...path), "utf8");
const packageOf = (name) => JSON.parse(read(name, "package.json"));

/** What the page shows to be pasted, and what it shows to come of it. */
const page = readBlocks("docs/guide/quickstarts.md");
const commands = page.flatMap(({ info, text }, index) => {
  const output = page[index + 1]?.info === "text output" ? page[index + 1].text : undefined;
  return info === "sh examples" ? [{ text, output }] : [];
});
const [exportToken, exportAppToken] = commands.filter(({ text }) => text.startsWith("export "));
const ask = commands.find(({ text }) => text.includes("http://127.0.0.1:3000/"));
const commandOf = (name) => commands.find(({ text }) => text.includes(`examples/${name}`));

/** What asks a host, and its program, which can be run again without an installation or a build. */
const programs = {
  curl: "bash examples/curl/quickstart.sh",
  "typescript-client": "node examples/typescript-client/dist/quickstart.js",
  python: "python3 examples/python/quickstart.py",
  "ai-sdk-mcp": "node examples/ai-sdk-mcp/agent.js",
};
const callers = Object.keys(programs);
const governed = ["govern-ai-sdk", "govern-openai-agents", "govern-langchain", "govern-mastra"];
const apps = ["hono", "express", "next"];

let demo;
beforeAll(async () => {
  demo = await startDemo();
  makeCopy(demo.folder);
});
afterAll(() => demo?.stop());

test("every example is on the page, and every command of the page is run here", () => {
  expect(examples.toSorted()).toEqual([...callers, ...governed, ...apps].toSorted());
  expect(new Set(commands)).toEqual(new Set([exportToken, exportAppToken, ask, ...examples.map(commandOf)]));
});

for (const name of examples) {
  test(`the README of ${name} shows the commands of the page`, () => {
    const shown = readBlocks(`examples/${name}/README.md`).filter(({ info }) => info === "sh examples");
    expect(shown.map(({ text }) => text)).toContain(commandOf(name).text);
    expect(commands.map(({ text }) => text)).toEqual(expect.arrayContaining(shown.map(({ text }) => text)));
  });
}

test("what an example depends on is what is installed here", () => {
  const { dependencies: installed } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  const { devDependencies } = JSON.parse(readFileSync(join(folder, "../package.json"), "utf8"));
  const known = {
    ...installed,
    ...devDependencies,
    turnpike: "file:../../packages/turnpike",
    "turnpike-agents": "file:../../packages/agents",
  };
  const needed = examples
    .filter((name) => existsSync(join(folder, name, "package.json")))
    .map((name) => ({ ...packageOf(name).dependencies, ...packageOf(name).devDependencies }));
  for (const dependencies of needed) expect(known).toMatchObject(dependencies);
});

test("an agent is governed by at most three of its lines, and has at most twenty-five", () => {
  for (const name of governed) {
    const lines = read(name, "agent.js").trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(25);
    expect(lines.filter((line) => /turnpike-agents|connectGate|govern\(/.test(line))).toHaveLength(3);
  }
});

test("the three apps have the same gate", () => {
  expect(read("express/gate.js")).toBe(read("hono/gate.js"));
  expect(read("next/gate.ts")).toBe(read("hono/gate.js"));
});

describe("against the demo", () => {
  for (const name of callers) {
    const pasted = `${exportToken.text}\n${commandOf(name).text}`;

    test(`${name} prints what the page shows, and leaves the shell where it was`, async () => {
      const ran = await run(`${pasted}\npwd`, { TURNPIKE_URL: demo.url });
      expect(ran).toEqual({ exit: 0, stdout: `${commandOf(name).output}\n${copy}\n`, stderr: "" });
    });

    test(`${name} fails without a token, with one that no one knows and without a host, and says so`, async () => {
      const [url, token] = [{ TURNPIKE_URL: demo.url }, { TURNPIKE_TOKEN: "tp_unknown" }];
      const unreachable = { TURNPIKE_URL: "http://127.0.0.1:1" };
      const failures = await Promise.all(
        [url, { ...url, ...token }, { ...unreachable, ...token }].map((env) => run(programs[name], env)),
      );
      const said = failures.map(({ stdout, stderr }) => stdout + stderr);
      expect(said).toEqual([
        expect.stringContaining("TURNPIKE_TOKEN"),
        expect.stringContaining("unauthenticated"),
        expect.stringMatching(/could not be reached|no host answers|failed to connect|fetch failed/i),
      ]);
      expect(failures.map(({ exit }) => exit)).not.toContain(0);
      expect(said.join("\n")).not.toMatch(/^ +at |Traceback/m);
    });
  }
});

describe("an agent that is governed where it runs", () => {
  for (const name of governed)
    test(`${name} prints what the page shows, and says so without a host`, async () => {
      const pasted = `${exportToken.text}\n${commandOf(name).text}`;
      const ran = await run(pasted, { TURNPIKE_URL: demo.url });
      expect(ran).toMatchObject({ exit: 0, stdout: `${commandOf(name).output}\n` });
      const program = `node examples/${name}/agent.js`;
      const away = await run(program, { TURNPIKE_URL: "http://127.0.0.1:1", TURNPIKE_TOKEN: "tp_unknown" });
      expect(away.stdout).toMatch(/^(Denied \(request_failed\): .+\n){2}$/);
    });
});

describe("inside an app", () => {
  const env = async () => ({ APP_TOKEN: (await run(`${exportAppToken.text}\necho $APP_TOKEN`)).stdout.trim() });
  /** The page starts it in the background; here it is in the foreground of a process that ends with the test. */
  const startOf = (name) => commandOf(name).text.replace(/^\((.*)\) &$/, "$1");

  for (const name of apps) {
    test(`${name} answers what the page shows, streams, and links below its base path`, async () => {
      const { APP_TOKEN: token } = await env();
      expect(token).toMatch(/^[0-9a-f-]{36}$/);
      const { origin, stop } = await serve(startOf(name), { APP_TOKEN: token, PORT: "0" });
      onTestFinished(stop);
      const asked = await run(ask.text.replace("http://127.0.0.1:3000", origin), { APP_TOKEN: token });
      expect(asked).toEqual({ exit: 0, stdout: `${ask.output}\n`, stderr: "" });

      const baseUrl = `${origin}/api/turnpike`;
      const client = createServiceClient({ baseUrl, token });
      expect(await client.health()).toMatchObject({ status: "ok" });
      expect((await client.listTools()).map((tool) => tool.name)).toEqual(["notes.read"]);
      const types = [];
      for await (const { type } of client.streamTurn(turn("streamed"))) types.push(type);
      expect(types).toEqual(["turn.started", "tool.requested", "tool.completed", "turn.completed"]);

      const id = "a/b?c%2F ä";
      const started = await fetch(`${baseUrl}/v1/turns`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, prefer: "respond-async", "x-trace-id": "trace-1" },
        body: JSON.stringify(turn(id)),
      });
      const location = started.headers.get("location");
      expect([started.status, location]).toEqual([202, "/api/turnpike/v1/turns/a%2Fb%3Fc%252F%20%C3%A4"]);
      const found = await fetch(new URL(location, origin), { headers: { authorization: `Bearer ${token}` } });
      expect(await found.json()).toMatchObject({ executionId: id });

      const stranger = createServiceClient({ baseUrl, token: "another" });
      await expect(stranger.listTools()).rejects.toMatchObject({ status: 401, code: "unauthenticated" });
      const nothing = createServiceClient({ baseUrl: `${baseUrl}/nothing`, token });
      await expect(nothing.listTools()).rejects.toMatchObject({ status: 404, code: "not_found" });
    });
  }

  test("a gate that no one gave a token lets no one in, and says what to set", async () => {
    const { origin, stop, printed } = await serve(startOf("hono"), { PORT: "0" });
    onTestFinished(stop);
    const client = createServiceClient({ baseUrl: `${origin}/api/turnpike`, token: "undefined" });
    await expect(client.listTools()).rejects.toMatchObject({ status: 500, code: "internal_error" });
    await expect.poll(() => printed.join("")).toContain("Set APP_TOKEN");
  });
});

function turn(executionId) {
  const agent = { kind: "agent", agentId: "helper" };
  const alice = { kind: "human", userId: "alice" };
  const about = { createdAt: "2026-01-01T00:00:00Z", traceId: "trace-1", purpose: "help", payload: null };
  const message = { version: 1, id: `message-${executionId}`, ...about, sender: alice, receiver: agent };
  return { version: 1, executionId, agent, message };
}

test("the route handler and the gate fit the types of Next and of the library", async () => {
  expect(await run("npx tsc -p examples/next")).toMatchObject({ exit: 0, stdout: "" });
});
