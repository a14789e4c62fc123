import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { ConfigError } from "../shared/config.ts";
import { loadConfig, withoutSecrets, type Config } from "../compose/config.ts";
import { prepareMcpPool } from "./mcp-pool.ts";
import { silentLog } from "../../test/mcp/servers.ts";

function load(servers: unknown, sources: Partial<Parameters<typeof loadConfig>[0]> = {}): Config {
  const file = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(file, JSON.stringify({ mcp: { servers } }));
  return loadConfig({ file, env: {}, flags: {}, ...sources });
}

test("a command or an address is enough; the limits have defaults", () => {
  const limits = { start: "eager", startTimeoutMs: 30_000, timeoutMs: 30_000, maxOutputBytes: 1_048_576 };
  const config = load({ notes: { command: ["node", "notes.js"] }, wiki: { url: "https://wiki.example.com/mcp" } });
  expect(config.mcp).toEqual({
    servers: {
      notes: { command: ["node", "notes.js"], ...limits },
      wiki: { url: "https://wiki.example.com/mcp", ...limits },
    },
  });
});

test("without servers there is nothing about them in the configuration", () => {
  const file = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(file, "{}");
  expect(loadConfig({ file, env: {}, flags: {} })).not.toHaveProperty("mcp");
});

for (const url of ["https://example.com/mcp", "http://127.0.0.1:1/mcp", "http://localhost/mcp", "http://[::1]:1/mcp"]) {
  test(`${url} is an address`, () => {
    expect(load({ wiki: { url } }).mcp?.servers["wiki"]?.url).toBe(url);
  });
}

/** A mistake in these words, where `something` is the kind of what was found, and never its value. */
function saying(words: string): RegExp {
  const kinds = "(a text|a number|a list|an object|true|false|nothing)";
  return new RegExp(
    words.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace("found something", `found ${kinds}`),
  );
}

describe("a mistake is named, with what is expected and without what was found", () => {
  const command = ["secret-program"];
  const url = "https://secret.example.com/mcp";
  for (const row of [
    {
      name: "neither command nor url",
      server: {},
      says: "wiki.command: found something, expected either a command or a url",
    },
    {
      name: "both",
      server: { command, url },
      says: "wiki.command: found something, expected either a command or a url",
    },
    {
      name: "a command that is a text",
      server: { command: "secret" },
      says: "wiki.command: found something, expected a list",
    },
    {
      name: "a command of nothing",
      server: { command: [] },
      says: "wiki.command: found something, expected 1 or more",
    },
    {
      name: "variables for a url",
      server: { url, env: { A: "secret" } },
      says: "wiki.env: found something, expected only together with a command",
    },
    {
      name: "headers for a command",
      server: { command, headersEnv: { a: "B" } },
      says: "wiki.headersEnv: found something, expected only together with a url",
    },
    {
      name: "a variable that is a list",
      server: { command, env: { KEY: ["secret"] } },
      says: "wiki.env.KEY: found something, expected a text",
    },
    {
      name: "a url without TLS",
      server: { url: "http://secret.example.com" },
      says: "wiki.url: found something, expected https beyond this machine, or insecure: true",
    },
    {
      name: "a url with a password",
      server: { url: "https://u:secret@x.test" },
      says: "wiki.url: found something, expected no credentials in a URL",
    },
    {
      name: "a url of a file",
      server: { url: "file:///secret" },
      says: "wiki.url: found something, expected an http or https URL",
    },
    {
      name: "no url at all",
      server: { url: "secret" },
      says: "wiki.url: found something, expected an http or https URL",
    },
    {
      name: "an owner without a kind",
      server: { command, owners: ["secret"] },
      says: "wiki.owners.0: found something, expected kind:id",
    },
    {
      name: "a rule without steps",
      server: { command, rules: { t: { path: [] } } },
      says: "wiki.rules.t.path: found something, expected 1 or more",
    },
    {
      name: "a rule for an argument without a name",
      server: { command, rules: { t: { path: ["$"] } } },
      says: "expected the name of an argument behind $",
    },
    {
      name: "a rule for a nested argument without a name",
      server: { command, rules: { t: { path: ["$event."] } } },
      says: "wiki.rules.t.path.0: found something, expected the name of an argument behind $",
    },
    {
      name: "a rule for an argument with a broken escape",
      server: { command, rules: { t: { path: ["$a%"] } } },
      says: "wiki.rules.t.path.0: found something, expected the name of an argument behind $",
    },
    {
      name: "a rule with an argument behind an optional one",
      server: { command, rules: { t: { path: ["$cc?", "$to"] } } },
      says: "wiki.rules.t.path: found something, expected only optional arguments behind an optional one",
    },
    {
      name: "a rule with a path and several paths",
      server: { command, rules: { t: { path: ["$to"], paths: [["$cc?"]] } } },
      says: "wiki.rules.t: found something, expected either path or paths",
    },
    {
      name: "a rule without a path",
      server: { command, rules: { t: {} } },
      says: "wiki.rules.t: found something, expected either path or paths",
    },
    {
      name: "a rule with no paths",
      server: { command, rules: { t: { paths: [] } } },
      says: "wiki.rules.t.paths: found something, expected 1 or more",
    },
    {
      name: "a rule with two steps in one",
      server: { command, rules: { t: { path: ["a/b"] } } },
      says: "wiki.rules.t.path.0: found something, expected one step of a path",
    },
    {
      name: "a key that is unknown",
      server: { command, shell: "secret" },
      says: "wiki.shell: there is no such key.",
    },
    {
      name: "a header from a program that needs one",
      server: { command, headers: { a: { file: "key" } } },
      says: "wiki.headers: found something, expected only together with a url",
    },
    {
      name: "a header with no name",
      server: { url, headers: { "a b": { file: "key" } } },
      says: "wiki.headers: found something, expected names of headers",
    },
    {
      name: "one header from two places",
      server: { url, headersEnv: { Authorization: "KEY" }, headers: { authorization: { file: "key" } } },
      says: "wiki.headers: found something, expected each header once",
    },
    {
      name: "a header from a command and a file",
      server: { url, headers: { a: { command: ["key"], file: "key" } } },
      says: "wiki.headers.a: found something, expected either a command or a file",
    },
    {
      name: "a header from nothing",
      server: { url, headers: { a: {} } },
      says: "wiki.headers.a: found something, expected either a command or a file",
    },
    {
      name: "a header with a place that is unknown",
      server: { url, headers: { a: { file: "/keys/{user}" } } },
      says: "wiki.headers.a.file: found something, expected no other braces than {owner} and {tenant}",
    },
    {
      name: "a program that an owner could choose",
      server: { url, headers: { a: { command: ["{tenant}"] } } },
      says: "wiki.headers.a.command: found something, expected a program whose name has no braces",
    },
    ...[{ file: "/keys/{owner}" }, { command: ["key", "{owner}"] }].map((secret) => ({
      name: "a key that owners of one name in two tenants would share",
      server: { url, headers: { a: secret }, tenants: ["acme", "other"] },
      says: "wiki.headers: found something, expected {tenant} beside {owner}, or one tenant alone in `tenants`",
    })),
    ...[
      { file: "/keys/{owner}-{tenant}" },
      { file: "/keys/{tenant}{owner}" },
      { command: ["key", "{owner}@x.{tenant}"] },
    ].map((secret) => ({
      name: `a key that owners of two tenants could share, ${JSON.stringify(secret)}`,
      server: { url, headers: { a: secret }, tenants: ["prod", "eu-prod"] },
      says: "wiki.headers: found something, expected a / or another character between {tenant} and {owner}",
    })),
    {
      name: "a header with a space in its name",
      server: { url, headersEnv: { "a b": "C" } },
      says: "wiki.headersEnv: found something, expected names of headers",
    },
    {
      name: "a user for a url",
      server: { url, uid: 1000, gid: 1000 },
      says: "wiki.uid: found something, expected only together with a command",
    },
    {
      name: "root",
      server: { command, uid: 0, gid: 1000 },
      says: "wiki.uid: found something, expected a number above 0, which is root's",
    },
    {
      name: "root's group",
      server: { command, uid: 1000, gid: 0 },
      says: "wiki.gid: found something, expected a number above 0, which is root's",
    },
    {
      name: "a user without a group, who would keep the host's",
      server: { command, uid: 1000 },
      says: "wiki.uid: found something, expected uid and gid together",
    },
    {
      name: "a group without a user",
      server: { command, gid: 1000 },
      says: "wiki.gid: found something, expected uid and gid together",
    },
    { name: "no time", server: { command, timeoutMs: 0 }, says: "wiki.timeoutMs: found something, expected 1 or more" },
  ]) {
    test(row.name, () => {
      const attempt = (): unknown => load({ wiki: row.server });
      expect(attempt).toThrow(ConfigError);
      expect(attempt).toThrow(saying(`mcp.servers.${row.says}`.replace(/^mcp\.servers\.expected/, "expected")));
      expect(attempt).not.toThrow("secret");
    });
  }

  for (const name of ["", "a.b", "Wiki", "a b", "-a", "x".repeat(64)]) {
    test(`a server named ${JSON.stringify(name)}`, () => {
      const says = `mcp.servers.${name}: found something, expected a name of 1 to 63 lower-case letters, digits, _ and -.`;
      expect(() => load({ [name]: { command } })).toThrow(ConfigError);
      expect(() => load({ [name]: { command } })).toThrow(saying(says));
    });
  }
});

test("HTTP beyond this machine is possible for an operator who insists", () => {
  const server = { url: "http://wiki.internal/mcp", insecure: true };
  expect(load({ wiki: server }).mcp?.servers["wiki"]).toMatchObject(server);
});

test("servers come from a file and not from a flag", () => {
  expect(() => load({}, { flags: { "mcp.servers": "{}" } })).toThrow("--set (mcp.servers): found a text");
});

test("servers come from a file and not from a variable", () => {
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  expect(load({}, { env: { TURNPIKE_MCP_SERVERS: '{"wiki":{}}' }, warn }).mcp).toEqual({ servers: {} });
  expect(warnings).toEqual(["TURNPIKE_MCP_SERVERS is not a setting, and is ignored."]);
});

test("the client's token is a variable of the command, and no setting", () => {
  expect(load({}, { env: { TURNPIKE_TOKEN: "tp_secret" } }).mcp).toEqual({ servers: {} });
});

test("what may be shown has neither the values of variables nor the query of an address", () => {
  const config = load({
    notes: { command: ["notes", "--fast"], env: { KEY: "hidden", OTHER: "hidden" }, cwd: "/srv" },
    wiki: { url: "https://wiki.example.com/mcp?key=hidden", headersEnv: { authorization: "WIKI_TOKEN" } },
    mail: { url: "https://mail.example.com", headers: { "x-key": { file: "/srv/keys/{tenant}/{owner}" } } },
  });
  const shown = withoutSecrets(config);
  expect(JSON.stringify(shown)).not.toContain("hidden");
  expect(shown.mcp?.servers).toMatchObject({
    notes: { command: ["notes", "--fast"], env: { KEY: "***", OTHER: "***" }, cwd: "/srv" },
    wiki: { url: "https://wiki.example.com/mcp?***", headersEnv: { authorization: "WIKI_TOKEN" } },
    mail: { url: "https://mail.example.com", headers: { "x-key": { file: "/srv/keys/{tenant}/{owner}" } } },
  });
});

test("a header whose variable is not set stops the host before it starts", () => {
  const { mcp } = load({ wiki: { url: "https://wiki.example.com", headersEnv: { authorization: "WIKI_TOKEN" } } });
  for (const env of [{}, { WIKI_TOKEN: "" }]) {
    expect(() => prepareMcpPool(mcp, silentLog(), env)).toThrow(
      new ConfigError("mcp.servers.wiki.headersEnv.authorization: the variable WIKI_TOKEN is not set."),
    );
  }
});

test("a user that no program can be started as stops the host before it starts", () => {
  const { mcp } = load({ notes: { command: ["notes"], uid: 2000, gid: 2000 } });
  const getuid = vi.spyOn(process, "getuid").mockReturnValue(1000);
  onTestFinished(() => getuid.mockRestore());
  expect(() => prepareMcpPool(mcp, silentLog())).toThrow(ConfigError);
  expect(() => prepareMcpPool(mcp, silentLog())).toThrow(
    "mcp.servers.notes.uid: a server cannot be started as user 2000",
  );
});
