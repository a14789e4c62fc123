import { execFile, type ChildProcess } from "node:child_process";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { anyDatabase } from "../../packages/host/test/databases.ts";
import { placeFor, serveArgs } from "../support/effect-host.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, runTurnpike, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { command, paste, said, steady, words } from "../support/terminal.ts";

const run = promisify(execFile);

/** The lines of a screen that are commands. */
function commandsOn(host: HostProcess, name: string): string[] {
  return host
    .stdout()
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith(`${name} `));
}

/** Those of the story; the command that makes a link to the console has a test of its own. */
function storyOn(host: HostProcess): string[] {
  return commandsOn(host, "npx").filter((line) => !line.startsWith("npx turnpike console "));
}

/** The answer to a line of `curl`. */
async function curl(line = "false"): Promise<unknown> {
  return JSON.parse((await run("bash", ["-c", line])).stdout);
}

for (const kind of anyDatabase) {
  describe(`the demo on ${kind}`, () => {
    test("prints five lines that work as pasted, stops at Ctrl-C and keeps its data", async () => {
      const folder = makeFolder();
      const args = serveArgs(await placeFor(kind), "--demo");
      const host = await startHostProcess({ folder, args });
      const lines = commandsOn(host, "curl");
      expect(lines).toHaveLength(5);
      expect(host.stdout()).toContain(`\n  people  ${host.url}/me\n`);
      const [tools, allowed, denied, namespaces, turn] = lines;

      expect(await curl(tools)).toMatchObject([
        { name: "files.list" },
        { name: "files.read" },
        { name: "files.search" },
        { name: "messages.inbox" },
        { name: "messages.send" },
        { name: "payments.pay" },
        { name: "service.escalate" },
      ]);
      expect(await curl(allowed)).toMatchObject({
        status: "succeeded",
        output: { content: "- water the plants\n- call Bob\n", version: 1 },
      });
      expect(await curl(denied)).toMatchObject({
        status: "denied",
        error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
      });
      expect(await curl(namespaces)).toEqual({
        namespaces: [
          { namespace: "files", sources: ["host"], toolCount: 12, enabled: true },
          { namespace: "messages", sources: ["host"], toolCount: 2, enabled: false },
          { namespace: "payments", sources: ["demo"], toolCount: 1, enabled: true },
          { namespace: "service", sources: ["turnpike"], toolCount: 1, enabled: true },
        ],
        summary: { enabled: 3, disabled: 1, total: 4 },
      });
      const result = await curl(turn);
      expect(result).toMatchObject({
        status: "succeeded",
        output: [{ content: "- water the plants\n- call Bob\n", version: 1 }],
        events: [
          { sequence: 0, type: "turn.started" },
          { sequence: 1, type: "tool.requested", data: { tool: "files.read" } },
          { sequence: 2, type: "tool.completed", data: { tool: "files.read", status: "succeeded" } },
          { sequence: 3, type: "turn.completed" },
        ],
      });
      expect(await curl(turn)).toEqual(result);
      expect(await curl(tools)).toMatchObject([
        { name: "files.list" },
        { name: "files.read" },
        { name: "files.search" },
        { name: "payments.pay" },
        { name: "service.escalate" },
      ]);
      expect(await host.stop("SIGINT")).toEqual({ code: 0, signal: null });
      expect(host.stderr()).toBe("");

      const again = await startHostProcess({ folder, args });
      const moved = (line: string | undefined) => line?.replace(host.url, again.url);
      expect(await curl(moved(tools))).toHaveLength(5);
      expect(await curl(moved(turn))).toEqual(result);
      for (const line of commandsOn(again, "curl")) expect(await curl(line)).not.toHaveProperty("error.requestId");
      expect(tokensOn(again)).toEqual(tokensOn(host));
      expect(await again.stop("SIGINT")).toEqual({ code: 0, signal: null });
    });
  });

  describe(`an agent of the demo on ${kind}`, () => {
    test("starts a turn that waits, is approved with one command, resumes, and waits again after the one use", async () => {
      const folder = makeFolder();
      const host = await startHostProcess({ folder, args: serveArgs(await placeFor(kind), "--demo") });
      const [token] = commandsOn(host, "export");
      const [start = "", approve, follow, ...rest] = storyOn(host);
      expect(rest).toHaveLength(4);
      const [, id = ""] = / --id (diary-[0-9a-f]{6}) /.exec(start) ?? [];
      const type = async (line = "false") => steady(await paste(folder, `${token}\n${line}`));
      expect(await type(start)).toEqual(
        said(`Started ${id}.`, `Follow it: npx turnpike turn follow ${id} --url http://host`),
      );
      await eventually(() => isWaiting(host, id));
      expect(await type(approve)).toEqual(
        said(
          "Approved. agent:assistant may read files/private/diary.md of human:alice, for demo, until 2026-01-01T00:00:00.000Z, 1 use (approved-q0000000000000000).",
        ),
      );
      const followed = await type(follow);
      expect({ ...followed, stdout: followed.stdout.replaceAll(/^ +\S+s  /gm, "") }).toEqual(
        said(
          ".  turn started",
          ">  files.read",
          "x  files.read denied (no_matching_grant)",
          ">  service.escalate",
          "+  service.escalate succeeded",
          ">  files.read",
          "+  files.read succeeded",
          "+  turn completed",
          "[",
          "  {",
          '    "content": "Nobody but Alice reads this.\\n",',
          '    "version": 1',
          "  }",
          "]",
        ),
      );
      // npx takes its time, and finds what is on the path too.
      expect((await type(start.replace(/^npx /, "").replace(id, "once-more"))).stdout).toMatch(
        /^Started once-more\.\n/,
      );
      await eventually(() => isWaiting(host, "once-more"));
      expect((await command(host, words`audit verify --tenant demo`)).stdout).toMatch(
        /^The audit log of demo is whole: \d+ rows\.\n/,
      );
      expect(host.stderr()).toBe("");
    });

    test("pays after an approval of exactly that payment, which a person has read", async () => {
      const folder = makeFolder();
      const host = await startHostProcess({ folder, args: serveArgs(await placeFor(kind), "--demo") });
      const [token] = commandsOn(host, "export");
      const [start = "", show, approve, follow = ""] = storyOn(host)
        .slice(3)
        .map((line) => line.replace(/^npx /, ""));
      const [, id = ""] = / --id (pay-[0-9a-f]{6}) /.exec(start) ?? [];
      const type = async (line = "false") => steady(await paste(folder, `${token}\n${line}`));
      expect((await type(start)).stdout).toContain(`Started ${id}.`);
      await eventually(() => isWaiting(host, id));
      const shown = (await type(show)).stdout;
      expect(shown).toContain("agent:assistant wants to call payments.pay");
      expect(shown).toMatch(/ {2}to +bob\n {2}amount +20\n {2}reference +The book\n/);
      expect(shown).toContain("The grant assistant-payments of human:alice says: no other terms");
      expect(await type(approve)).toEqual(
        said(
          "Approved. agent:assistant may call payments.pay with exactly these arguments once, until 2026-01-01T00:00:00.000Z.",
          "  to         bob",
          "  amount     20",
          "  reference  The book",
        ),
      );
      const { stdout } = await type(follow);
      expect(stdout).toContain("payments.pay succeeded");
      expect(stdout).toContain(`"receipt": "payments/bob/${id}-pay.json"`);
      // The approval was for one payment: another turn that wants the same waits for its own.
      expect((await type(start.replaceAll(id, "once-more"))).code).toBe(0);
      await eventually(() => isWaiting(host, "once-more"));
      expect(host.stderr()).toBe("");
    });

    test("resumes a turn that waited when the host was killed, and answers once it is there again", async () => {
      const folder = makeFolder();
      const args = serveArgs(await placeFor(kind), "--demo");
      const first = await startHostProcess({ folder, args });
      const [token] = commandsOn(first, "export");
      const [start = "", approve = "", follow = ""] = storyOn(first).map((line) => line.replace(/^npx /, ""));
      const [, id = ""] = / --id (\S+) /.exec(start) ?? [];
      expect((await paste(folder, `${token}\n${start}`)).code).toBe(0);
      await eventually(() => isWaiting(first, id));
      await first.stop("SIGKILL");

      const second = await startHostProcess({ folder, args });
      const moved = (line: string) => line.replaceAll(first.url, second.url);
      const { code, stdout } = await paste(folder, ["set -e", token, moved(approve), moved(follow)].join("\n"));
      expect([code, stdout]).toEqual([0, expect.stringContaining("Nobody but Alice reads this.")]);
    });
  });

  describe(`an empty installation on ${kind}`, () => {
    test("says two commands that make a first call possible", async () => {
      const folder = makeFolder();
      const host = await startHostProcess({ folder, args: serveArgs(await placeFor(kind)) });
      const [link = "", credential, grant, ...rest] = commandsOn(host, "npx");
      expect(link).toMatch(/^npx turnpike console --url /);
      expect(rest).toEqual([]);
      const { stdout } = await paste(folder, credential ?? "false");
      const [, token = ""] = /^The token, shown this once:\n(tp_[0-9a-f]{16}_[0-9a-f]{64})\n$/.exec(stdout) ?? [];
      expect(token).not.toBe("");
      const invoke = (id: string) =>
        ask(host.url, "/v1/tools/invoke", {
          token,
          headers: { "x-trace-id": "first" },
          body: {
            id,
            tool: "files.list",
            arguments: { path: "notes" },
            requestedAt: "2026-01-01T00:00:00Z",
            traceId: "first",
          },
        });
      await ask(host.url, "/v1/tools/namespaces", { token, method: "PUT", body: { enable: ["files"] } });
      expect((await invoke("before")).body).toMatchObject({ status: "denied", error: { code: "tool_unavailable" } });

      expect((await paste(folder, grant ?? "false")).stdout).toMatch(/^Issued grant-[0-9a-f]{12}\.\n$/);
      expect((await invoke("after")).body).toMatchObject({ status: "succeeded", output: { entries: [] } });
      expect(await host.stop("SIGINT")).toEqual({ code: 0, signal: null });
    });
  });
}

test("the printed commands work as they are when the database is elsewhere", async () => {
  const folder = makeFolder();
  const host = await startHostProcess({ folder, args: ["serve", "--port", "0", "--database", "data/elsewhere.db"] });
  const [, credential] = commandsOn(host, "npx");
  expect((await paste(folder, credential ?? "false")).stdout).toMatch(/^The token, shown this once:\n/);
});

test("the demo's commands work as they are when its database is elsewhere", async () => {
  const folder = makeFolder();
  const host = await startHostProcess({ folder, args: serveArgs({ database: "data/elsewhere.db" }, "--demo") });
  const [token] = commandsOn(host, "export");
  const [start = "", ...rest] = storyOn(host).map((line) => line.replace(/^npx /, ""));
  const pasteAll = (lines: readonly string[]) => paste(folder, ["set -e", token, ...lines].join("\n"));
  expect(await pasteAll([start])).toMatchObject({ code: 0, stderr: "" });
  await eventually(() => isWaiting(host, / --id (\S+) /.exec(start)?.[1] ?? ""));
  const { code, stdout, stderr } = await pasteAll(rest);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Nobody but Alice reads this.");
});

/** Throws unless a turn of the demo waits. */
async function isWaiting(host: HostProcess, id: string): Promise<void> {
  const { stdout } = await command(host, words`turn show ${id}`, tokensOn(host)[0]);
  if (!stdout.includes("is waiting")) throw new Error("The turn does not wait.");
}

test("tokens of the demo that cannot be read end the command with 1", async () => {
  const folder = makeFolder();
  mkdirSync(join(folder, ".turnpike"));
  writeFileSync(join(folder, ".turnpike/demo-tokens.json"), "garbage");
  const { code, signal } = await runTurnpike({ folder, args: ["serve", "--port", "0", "--demo"] });
  expect({ code, signal }).toEqual({ code: 1, signal: null });
});

test("a second database in the same folder gets demo tokens that work on it", async () => {
  const folder = makeFolder();
  const shown: string[] = [];
  for (const database of ["data/one.db", "data/two.db"]) {
    const host = await startHostProcess({ folder, args: serveArgs({ database }, "--demo") });
    for (const line of commandsOn(host, "curl")) expect(await curl(line)).not.toHaveProperty("error.requestId");
    shown.push(...tokensOn(host));
    expect(await host.stop("SIGINT")).toEqual({ code: 0, signal: null });
  }
  expect(shown).toHaveLength(2);
  expect(shown[0]).not.toBe(shown[1]);
});

test("a stale operator's token that others could read is replaced by one they cannot", async () => {
  const folder = makeFolder();
  const file = join(folder, ".turnpike/admin-token");
  mkdirSync(join(folder, ".turnpike"));
  writeFileSync(file, "stale\n");
  chmodSync(file, 0o644);
  const host = await startHostProcess({ folder });
  expect(host.operatorToken()).toMatch(/^tp_/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a second host on one SQLite file is refused in words, and the first continues", async () => {
  const folder = makeFolder();
  const first = await startHostProcess({ folder });
  const second = await runTurnpike({ folder, args: ["serve", "--port", "0"] });
  expect(second).toEqual({
    code: 1,
    signal: null,
    stdout: "",
    stderr:
      "The database .turnpike/turnpike.db is in use by another process. Stop it, or name another file. The setting is database (--database, TURNPIKE_DATABASE).\n",
  });
  expect((await ask(first.url, "/ready")).status).toBe(200);
});

test("a signal that comes while the host still starts ends it with 0 as well", async () => {
  const folder = makeFolder();
  const onStart = (child: ChildProcess) => void stopOnce(child, join(folder, ".turnpike/turnpike.db"));
  const { code, signal } = await runTurnpike({ folder, args: ["serve", "--port", "0"], onStart });
  expect({ code, signal }).toEqual({ code: 0, signal: null });
});

/** Signals a process as soon as it made a file: long before its screen. */
async function stopOnce(child: ChildProcess, file: string): Promise<void> {
  await eventually(() => statSync(file));
  child.kill("SIGTERM");
}

function tokensOn(host: HostProcess): string[] {
  return [...new Set(host.stdout().match(/tp_[0-9a-f]{16}_[0-9a-f]{64}/g))];
}
