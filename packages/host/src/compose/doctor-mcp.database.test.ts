import { execFile } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, newLocation, temporaryFolder } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import { isAlive, startHttpServer, testServer } from "../../test/mcp/servers.ts";
import { openDatabase } from "../storage/open-database.ts";
import { McpConfigSchema, tryServers } from "../mcp-servers/index.ts";
import { examine } from "./doctor.ts";
import { openStores } from "./stores.ts";

/** What the doctor says of one server: a letter for how it is, and the words behind its name. */
async function says(server: object, database?: string, env: NodeJS.ProcessEnv = {}): Promise<string[]> {
  const file = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(file, JSON.stringify({ mcp: { servers: { notes: server } } }));
  const flags = { "listen.port": "0", database: database ?? (await newLocation("sqlite")) };
  const findings = (await examine({ file, env, flags })).filter(({ check }) => check === "mcp server");
  return findings.map(({ isOk, isWarning, says: text }) => `${isOk ? (isWarning ? "warn" : "ok") : "bad"} ${text}`);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function answering(listener: RequestListener): Promise<{ url: string }> {
  return { url: `http://127.0.0.1:${await listen(createServer(listener))}/mcp` };
}

/** A program that speaks MCP until it is asked for its tools. */
const listsNothing = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const serverInfo = { name: "test", version: "1" };
  const started = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
  const result = method === "initialize" ? started : method === "tools/list" ? { tools: "none" } : undefined;
  const error = { code: -32601, message: "no such method" };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
})`;

const firstUse = "; none was accepted yet: the first use accepts them all";

describe("a server that answers", () => {
  for (const kind of ["stdio", "HTTP"] as const) {
    test(`over ${kind} is tried, and how many tools it has is said`, async () => {
      const server = kind === "stdio" ? { command: testServer() } : { url: (await startHttpServer()).url };
      expect(await says(server)).toEqual([`ok notes answers, and has 12 tools${firstUse}`]);
    });
  }

  test("is named with every tool that is left out, and why", async () => {
    const [first, ...others] = await says({ command: testServer("--odd") });
    expect(first).toBe(`ok notes answers, and has 14 tools${firstUse}`);
    expect(others).toHaveLength(8);
    expect(others[0]).toBe("warn notes: echo: its name is listed twice");
    expect(others.at(-1)).toBe("warn notes: deep: it is no tool with an input schema for an object");
  });

  test("is named with rules for a tool that it does not have, and for arguments that a tool does not have", async () => {
    const rules = {
      isue: { path: ["$org"] },
      issue: { path: ["repos", "$org", "$owner"] },
      echo: { path: ["$words"] },
    };
    expect((await says({ command: testServer(), rules })).slice(1)).toEqual([
      "warn notes: isue: it has a rule, and the server has no such tool",
      "warn notes: issue: its rule names the argument owner, and its input has none of this name",
    ]);
  });

  test("is ended afterwards", async () => {
    const file = join(temporaryFolder(), "pid");
    const command = ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', file, ...testServer()];
    expect(await says({ command })).toEqual([expect.stringMatching(/^ok notes answers/)]);
    const pid = Number(readFileSync(file, "utf8"));
    await eventually(() => expect(isAlive(pid)).toBe(false));
  });

  test("is not tried when its keys are owners'", async () => {
    const headers = { authorization: { file: "/nowhere/{tenant}/{owner}" } };
    expect(await says({ url: "http://127.0.0.1:1/mcp", headers })).toEqual([
      "ok notes takes the keys of owners: it is tried when the first of them uses it",
    ]);
  });
});

describe.each(databaseKinds)("what was accepted, on %s,", (kind) => {
  test("is compared with what there is, and nothing is pinned or changed", async () => {
    const location = await newLocation(kind);
    const open = await openDatabase(location);
    const definition = { hash: "0".repeat(64), definition: "{}" };
    await openStores(open).mcpPins.pin("notes", [{ tool: "echo", ...definition }], "human:oona");
    await open.close();
    const found = await says({ command: testServer() }, location);
    expect(found[0]).toBe("ok notes answers, and has 12 tools");
    expect(found).toContain(
      "warn notes: echo is not what was accepted, and withdrawn. While a host runs: turnpike mcp review notes",
    );
    expect(found).toContain("warn notes: sum is new, and withdrawn. While a host runs: turnpike mcp review notes");
    const again = await openDatabase(location);
    expect(await openStores(again).mcpPins.list("notes")).toMatchObject([{ tool: "echo", ...definition }]);
    await again.close();
  });

  test("cannot be compared before the tables are there", async () => {
    const location = await newLocation(kind);
    const cannot = "; what was accepted of them cannot be read now: turnpike mcp review compares them";
    expect(await says({ command: testServer() }, location)).toEqual([
      `ok notes answers, and has 12 tools${kind === "sqlite" ? firstUse : cannot}`,
    ]);
  });
});

describe("a server that fails is found, with what to do:", () => {
  const rows: { name: string; server(): object | Promise<object>; says: unknown }[] = [
    {
      name: "a program that is not there",
      server: () => ({ command: ["no-such-program"] }),
      says: "bad notes: the program no-such-program is not found. Install it, or correct mcp.servers.notes.command.",
    },
    {
      name: "a program that may not be started",
      server() {
        const program = join(temporaryFolder(), "program");
        writeFileSync(program, "");
        chmodSync(program, 0o600);
        return { command: [program] };
      },
      says: expect.stringMatching(
        /^bad notes: the program \S+ cannot be started by this user\. Check its permissions\.$/,
      ),
    },
    {
      name: "a folder that is not there",
      server: () => ({ command: testServer(), cwd: "/no/such/folder" }),
      says: "bad notes: the folder /no/such/folder is not there. Make it, or correct mcp.servers.notes.cwd.",
    },
    {
      name: "a program that ends at once, with its last words",
      server: () => ({
        command: [
          process.execPath,
          "-e",
          "console.error('first'); console.error('no \\u202elicence'); process.exit(3)",
        ],
      }),
      says: expect.stringMatching(
        /^bad notes: the program ended, or closed its standard output\. It last said on standard error: "no licence"\.$/,
      ),
    },
    {
      name: "a program that ends at once and says nothing",
      server: () => ({ command: [process.execPath, "-e", "0"] }),
      says: expect.stringMatching(
        /the program ended, .+\. It said nothing on standard error: run the command by hand to see why\.$/,
      ),
    },
    {
      name: "a list that is none",
      server: () => ({ command: [process.execPath, "-e", listsNothing] }),
      says: "bad notes: its answer is not what MCP says it should be. Try another version of it.",
    },
    {
      name: "a list that is too long",
      server: () => ({ command: testServer("--entries", "1025") }),
      says: "bad notes: its list of tools is not used. A list of tools has at most 1024 entries on 64 pages.",
    },
    {
      name: "a key that the server refuses",
      server: () => answering((_, outgoing) => void outgoing.writeHead(401).end()),
      says:
        "bad notes: it refuses the credentials (401). Check the key, and mcp.servers.notes.headersEnv or " +
        "mcp.servers.notes.headers.",
    },
    {
      name: "an address of something else",
      server: () => answering((_, outgoing) => void outgoing.writeHead(404).end()),
      says: "bad notes: there is no MCP server at this address (404). Correct mcp.servers.notes.url.",
    },
    {
      name: "an address where no server is",
      async server() {
        const { url, kill } = await startHttpServer();
        await kill();
        return { url };
      },
      says: expect.stringMatching(
        /^bad notes: no server answers at 127\.0\.0\.1:\d+ \(ECONNREFUSED\)\. Start the server, or correct mcp\.servers/,
      ),
    },
    {
      name: "a certificate that is not trusted",
      server: async () => ({ url: `https://127.0.0.1:${await listen(createSecureServer(await selfSigned()))}/mcp` }),
      says: expect.stringMatching(
        /^bad notes: the certificate of 127\.0\.0\.1:\d+ is not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. Correct mcp/,
      ),
    },
    {
      name: "a variable that is not set",
      server: () => ({ url: "http://127.0.0.1:1/mcp", headersEnv: { authorization: "WIKI_TOKEN" } }),
      says: "bad notes: mcp.servers.notes.headersEnv.authorization: the variable WIKI_TOKEN is not set.",
    },
    {
      name: "a key file that is not there",
      server: () => ({ url: "http://127.0.0.1:1/mcp", headers: { authorization: { file: "/nowhere" } } }),
      says: "bad notes: authorization: the file cannot be read (ENOENT). Correct mcp.servers.notes.headers.",
    },
  ];
  for (const row of rows) {
    test(row.name, async () => {
      expect(await says(await row.server())).toEqual([row.says]);
    });
  }
});

test("no key is shown, whatever the server says with it", async () => {
  const server = await answering(
    ({ headers }, outgoing) => void outgoing.writeHead(500, String(headers["x-key"])).end(),
  );
  const found = await says({ ...server, headersEnv: { "x-key": "KEY" } }, undefined, { KEY: "hidden-key" });
  expect(found).toEqual(["bad notes: it answers with status 500. Read its log."]);
});

/** A key and a certificate that is self-signed. */
async function selfSigned(): Promise<{ key: Buffer; cert: Buffer }> {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=127.0.0.1"];
  await promisify(execFile)("openssl", ["req", "-x509", "-nodes", "-days", "1", ...made, "-keyout", key, "-out", cert]);
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

test("a server that does not answer in time is given up, with its last words", async () => {
  const gate = join(temporaryFolder(), "never");
  const command = ["/bin/sh", "-c", 'echo waiting >&2; exec "$@"', "sh", ...testServer("--start-after", gate)];
  const { servers } = McpConfigSchema.parse({ servers: { notes: { command } } });
  const why =
    'it did not answer within 1 s. It last said on standard error: "waiting". ' +
    "Check that it runs, and what it waits for.";
  // On a busy machine it may not even say that within the time.
  await expect
    .poll(() => tryServers({ servers }, { env: {}, timeoutMs: 1000 }))
    .toEqual([{ server: "notes", kind: "fails", why }]);
});
