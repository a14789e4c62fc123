import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testServer } from "../../packages/host/test/mcp/servers.ts";
import { makeFolder } from "../support/host-process.ts";
import { commandWith } from "../support/terminal.ts";

/** Runs `mcp suggest` in a folder with these servers in its configuration. */
async function suggest(server: string, servers: object, ...flags: string[]) {
  const folder = makeFolder();
  writeFileSync(join(folder, "turnpike.config.json"), JSON.stringify({ mcp: { servers } }));
  writeFileSync(join(folder, "empty.json"), "{}");
  return commandWith(folder, ["mcp", "suggest", server, ...flags]);
}

test("prints rules that can be configured as they are, and says which tools have none", async () => {
  // It is there for one owner alone, which is no reason to hide it from the operator.
  const configured = { command: testServer(), owners: ["human:bob"] };
  const { code, stdout, stderr } = await suggest("test", { test: configured, broken: { command: ["/nowhere"] } });
  expect(code).toBe(0);
  const rules = JSON.parse(stdout) as object;
  expect(rules).toEqual({
    issue: {
      paths: [
        ["org", "$org?"],
        ["repo", "$repo?"],
      ],
    },
  });
  expect(stderr).toContain("These rules are guesses from names and descriptions.");
  expect(stderr).toContain("No rule for echo: a grant for it is a grant for every call of it.\n");
  expect(stderr).not.toContain("No rule for issue");
  expect(await suggest("test", { test: { ...configured, rules } })).toMatchObject({ code: 0, stdout });
});

test("reads the configuration that is named", async () => {
  const printed = await suggest("test", { test: { command: testServer() } }, "--config", "empty.json");
  expect(printed).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "There is no MCP server test in the configuration. The configuration names no server. Name the file with --config.\n",
  });
});

for (const row of [
  {
    name: "a server that is not configured",
    server: "constructor",
    says: /^There is no MCP server constructor in the configuration. It has down, ends. Name the file with --config.\n$/,
  },
  {
    name: "a server that no one serves",
    server: "down",
    says: /^The MCP server down: no server answers at 127\.0\.0\.1:1 .*correct mcp\.servers\.down\.url\.\n$/,
  },
  {
    name: "a server that ends at once, in its own words",
    server: "ends",
    says: /^The MCP server ends: the program ended.*It last said on standard error: "no such module"\.\n$/,
  },
]) {
  test(`ends with 1 and one clear sentence for ${row.name}`, async () => {
    const servers = {
      down: { url: "http://127.0.0.1:1/mcp" },
      ends: { command: [process.execPath, "-e", "console.error('no such module'); process.exitCode = 3"] },
    };
    const { code, stdout, stderr } = await suggest(row.server, servers);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(row.says);
  });
}

test("ends with 1 when the server is configured wrongly, and says what to correct", async () => {
  const servers = { test: { url: "https://x.test", headersEnv: { authorization: "UNSET_TOKEN" } } };
  expect(await suggest("test", servers)).toEqual({
    code: 1,
    stdout: "",
    stderr: "The MCP server test: mcp.servers.test.headersEnv.authorization: the variable UNSET_TOKEN is not set.\n",
  });
});
