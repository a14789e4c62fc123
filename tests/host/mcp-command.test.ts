import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "../support/host-process.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { testServer } from "../../packages/host/test/mcp/servers.ts";
import { makeGrant, makeTenant } from "../support/host-world.ts";

let host: HostProcess;
let token: string;
beforeAll(async () => {
  host = await startHostProcess({ folder: makeFolder() });
  token = await makeTenant(host);
});

/** Runs `turnpike mcp` with these lines on its standard input, to its end. */
async function run(
  lines: readonly unknown[],
  { args = ["--url", host.url], env = {} }: { args?: readonly string[]; env?: Record<string, string> } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [turnpike, "mcp", ...args], { env: { PATH, ...env } });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  child.stdin.on("error", () => {});
  child.stdin.end(lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join(""));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

const request = (id: number, method: string, params: object = {}) => ({ jsonrpc: "2.0", id, method, params });
const list = (id: number, path: string) => request(id, "tools/call", { name: "files.list", arguments: { path } });

for (const mode of ["legacy", "auto"] as const) {
  test(`a client of the ${mode === "legacy" ? "older" : "newer"} protocol talks to the host through it`, async () => {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    onTestFinished(() => client.close());
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [turnpike, "mcp", "--url", host.url],
        env: { TURNPIKE_TOKEN: token },
      }),
    );
    expect(client.getProtocolEra()).toBe(mode === "legacy" ? "legacy" : "modern");
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["files_list", "files_read"]);
    expect(await client.callTool({ name: "files_list", arguments: { path: "notes" } })).toMatchObject({
      structuredContent: { entries: [] },
    });
    expect(await client.callTool({ name: "files_list", arguments: { path: "private" } })).toMatchObject({
      isError: true,
      _meta: { "turnpike/error": { code: "no_matching_grant" } },
    });
  });
}

for (const mode of ["legacy", "auto"] as const) {
  test(`a client of the ${mode === "legacy" ? "older" : "newer"} protocol hears through it that a list changed`, async () => {
    const folder = makeFolder();
    const servers = { notes: { command: testServer() } };
    writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ mcp: { servers } }));
    const governing = await startHostProcess({ folder });
    const bearer = await makeTenant(governing);
    await makeGrant(governing, { id: "mcp", resource: "mcp.notes", actions: ["call"] });
    await ask(governing.url, "/v1/tools/namespaces", { token: bearer, method: "PUT", body: { enable: ["mcp.notes"] } });
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    onTestFinished(() => client.close());
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [turnpike, "mcp", "--url", governing.url],
        env: { TURNPIKE_TOKEN: bearer },
      }),
    );
    let told = 0;
    client.setNotificationHandler("notifications/tools/list_changed", () => void (told += 1));
    if (mode === "auto") await client.listen({ toolsListChanged: true });
    await eventually(async () => {
      // The stream of the older protocol is opened in the background, so the list changes until the client hears it.
      await client.callTool({ name: "mcp_notes_change", arguments: {} });
      expect(told).toBeGreaterThan(0);
    });
  });
}

describe("the command", () => {
  test("answers every line that is a request, writes nothing else, and ends with its input", async () => {
    const lines = [list(1, "notes"), { jsonrpc: "2.0", method: "notifications/initialized" }, "", list(2, "private")];
    const { code, stdout, stderr } = await run(lines, { env: { TURNPIKE_TOKEN: token } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const answers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: number });
    expect(answers.toSorted((one, other) => one.id - other.id)).toMatchObject([
      { id: 1, result: { structuredContent: { entries: [] } } },
      { id: 2, result: { isError: true } },
    ]);
  });

  test("takes its token from a file as well", async () => {
    const file = join(makeFolder(), "token");
    writeFileSync(file, `${token}\n`);
    const { code, stdout } = await run([list(1, "notes")], { args: ["--url", `${host.url}/`, "--token-file", file] });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { structuredContent: { entries: [] } } });
  });

  test("says that a line is no message, and continues", async () => {
    const { code, stdout } = await run(["garbage", '{"jsonrpc":"1.0"}', "[]"], { env: { TURNPIKE_TOKEN: token } });
    expect(code).toBe(0);
    const error = { code: -32_700, message: "This line is no JSON-RPC message." };
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(Array.from({ length: 3 }, () => ({ jsonrpc: "2.0", id: null, error })));
  });

  test("ends with 1 when the host does not admit it, in the host's words", async () => {
    const words = "Refused (unauthenticated): Send a valid credential: authorization: Bearer <token>.";
    const { code, stdout, stderr } = await run([list(1, "notes")], { env: { TURNPIKE_TOKEN: "tp_bad" } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${words}\n` });
    expect(JSON.parse(stdout)).toEqual({ jsonrpc: "2.0", id: 1, error: { code: -32_603, message: words } });
  });

  test("ends with 1 when no host is there, and tells the client", async () => {
    const args = ["--url", "http://127.0.0.1:1"];
    const { code, stdout, stderr } = await run([list(1, "notes")], { args, env: { TURNPIKE_TOKEN: token } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: "No host answers at http://127.0.0.1:1.\n" });
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, error: { message: "No host answers at http://127.0.0.1:1." } });
  });

  const noToken =
    "This acts with a credential: set TURNPIKE_TOKEN, or sign in with its token: turnpike login\n" +
    "An operator makes one: turnpike credential create --help\n";
  const badToken = "TURNPIKE_TOKEN: expected a token alone, such as tp_..., without white space.\n";
  const rows: { name: string; args: string[]; env?: Record<string, string>; says: string }[] = [
    { name: "no token", args: [], says: noToken },
    { name: "an empty token", args: [], env: { TURNPIKE_TOKEN: "" }, says: badToken },
    { name: "a token of two lines", args: [], env: { TURNPIKE_TOKEN: "a\nb" }, says: badToken },
    {
      name: "a token file that is not there",
      args: ["--token-file", "/nowhere/token"],
      says: "--token-file /nowhere/token: the file cannot be read.\n",
    },
    {
      name: "a url that is none",
      args: ["--url", "localhost"],
      says: "--url localhost: expected an address such as http://127.0.0.1:8787.\n",
    },
    {
      name: "an unknown flag",
      args: ["--prot", "1"],
      says: "error: unknown option '--prot'\nAdd --help to see how it is used.\n",
    },
  ];
  for (const { name, args, env = {}, says } of rows) {
    test(`ends with 2 for ${name}`, async () => {
      expect(await run([], { args, env })).toEqual({ code: 2, stdout: "", stderr: says });
    });
  }
});
