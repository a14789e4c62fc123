import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { ConfigError } from "../base/config.ts";
import { environmentName, loadConfig, withoutSecrets } from "./config.ts";

function file(content: unknown): string {
  const path = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const nothing = (): Parameters<typeof loadConfig>[0] => ({ file: file({}), env: {}, flags: {} });

test("with nothing said, everything has the value that is written down", () => {
  expect(loadConfig(nothing())).toEqual({
    listen: { host: "127.0.0.1", port: 8787, insecure: false },
    database: ".turnpike/turnpike.db",
    admin: { tokenFile: true },
    limits: {
      bodyBytes: 1_048_576,
      headers: 100,
      requestsPerSecond: 50,
      burst: 100,
      concurrentTurns: 64,
      openEscalations: 100,
      unreadMessages: 10_000,
      headersMs: 10_000,
      bodyMs: 60_000,
      idleMs: 65_000,
      sockets: 10_000,
      shutdownMs: 30_000,
    },
    turns: {},
    tools: { timeoutMs: 120_000, outputBytes: 1_048_576 },
    runtime: { kind: "none" },
    replay: { keepResultsDays: 7, keepReadsHours: 1 },
    retention: { turnsDays: 30, endedGrantsDays: 365, messagesDays: 90, escalationsDays: 365 },
    escalations: { expireHours: 24, permitMinutes: 15, refusalMinutes: 60, approvals: 1 },
    notify: { webhooks: [] },
    audit: { checkpointSeconds: 60 },
    log: { level: "info" },
  });
});

describe("the later wins", () => {
  for (const row of [
    { name: "a file over the default", file: 1, env: undefined, flag: undefined, port: 1 },
    { name: "the environment over a file", file: 1, env: "2", flag: undefined, port: 2 },
    { name: "a flag over the environment", file: 1, env: "2", flag: "3", port: 3 },
    { name: "a flag over a file", file: 1, env: undefined, flag: "3", port: 3 },
  ]) {
    test(row.name, () => {
      const config = loadConfig({
        file: file({ listen: { port: row.file, host: "localhost" } }),
        env: row.env === undefined ? {} : { TURNPIKE_LISTEN_PORT: row.env },
        flags: row.flag === undefined ? {} : { "listen.port": row.flag },
      });
      expect(config.listen).toEqual({ host: "localhost", port: row.port, insecure: false });
    });
  }
});

describe("a text from the environment or a flag is read as what the setting is", () => {
  const jwt = { jwks: "keys.json", issuer: "i", audience: "a" };
  for (const row of [
    { key: "limits.burst", text: "200", at: { limits: { burst: 200 } } },
    { key: "listen.insecure", text: "true", at: { listen: { insecure: true } } },
    { key: "database", text: "postgres://u:p@h/d", at: { database: "postgres://u:p@h/d" } },
    { key: "database", text: "12345", at: { database: "12345" } },
    { key: "listen.host", text: "[::1]", at: { listen: { host: "[::1]" } } },
    { key: "log.level", text: "warn", at: { log: { level: "warn" } } },
    { key: "turns.maxSteps", text: "5", at: { turns: { maxSteps: 5 } } },
    { key: "jwt.audience", text: "1234567890", at: { jwt: { ...jwt, audience: "1234567890" } } },
    { key: "jwt.issuer", text: "true", at: { jwt: { ...jwt, issuer: "true" } } },
    { key: "jwt.algorithms", text: '["ES256"]', at: { jwt: { algorithms: ["ES256"] } } },
    { key: "jwt.claims.kind", text: "human", at: { jwt: { claims: { kind: "human", tenant: "tenant" } } } },
  ]) {
    for (const source of ["flag", "environment"]) {
      test(`${row.key}=${row.text} as a ${source}`, () => {
        const config = loadConfig({
          file: file({ jwt }),
          env: source === "environment" ? { [environmentName(row.key)]: row.text } : {},
          flags: source === "flag" ? { [row.key]: row.text } : {},
        });
        expect(config).toMatchObject(row.at);
      });
    }
  }
});

for (const row of [
  { key: "listen.port", name: "TURNPIKE_LISTEN_PORT" },
  { key: "limits.requestsPerSecond", name: "TURNPIKE_LIMITS_REQUESTS_PER_SECOND" },
  { key: "tls.certFile", name: "TURNPIKE_TLS_CERT_FILE" },
  { key: "database", name: "TURNPIKE_DATABASE" },
  { key: "jwt.claims.tenant", name: "TURNPIKE_JWT_CLAIMS_TENANT" },
]) {
  test(`${row.key} is ${row.name} in the environment`, () => {
    expect(environmentName(row.key)).toBe(row.name);
  });
}

describe("a mistake is named, with what is expected", () => {
  const rows: {
    name: string;
    source: Partial<Parameters<typeof loadConfig>[0]> & { content?: unknown };
    says: string[];
  }[] = [
    { name: "a port too high", source: { flags: { "listen.port": "65536" } }, says: ["listen.port", "at most 65535"] },
    {
      name: "a port that is a word",
      source: { env: { TURNPIKE_LISTEN_PORT: "http" } },
      says: ["listen.port", "number"],
    },
    { name: "a port with a leading zero", source: { env: { TURNPIKE_LISTEN_PORT: "08787" } }, says: ["listen.port"] },
    { name: "a list that is none", source: { flags: { "jwt.algorithms": "[ES256]" } }, says: ["jwt"] },
    { name: "a limit of none", source: { flags: { "limits.burst": "0" } }, says: ["limits.burst", "1 or more"] },
    {
      name: "an unknown level",
      source: { content: { log: { level: "loud" } } },
      says: ["log.level", '"debug" or "info"'],
    },
    {
      name: "an unknown key in a file",
      source: { content: { lissen: {} } },
      says: ["lissen", "no such key", "mean listen?"],
    },
    {
      name: "an unknown flag",
      source: { flags: { "limits.brust": "5" } },
      says: ["limits.brust", "no such key", "mean limits.burst?"],
    },
    {
      name: "a flag into what is no object",
      source: { content: { listen: 5 }, flags: { "listen.port": "1" } },
      says: ["listen"],
    },
    { name: "a flag below a single value", source: { flags: { "database.url": "x" } }, says: ["database", "string"] },
    { name: "half a certificate", source: { flags: { "tls.certFile": "a.pem" } }, says: ["tls.keyFile", "string"] },
    { name: "an empty value", source: { env: { TURNPIKE_DATABASE: "" } }, says: ["database"] },
    { name: "a file that is a list", source: { content: [] }, says: ["object"] },
    {
      name: "a file that is null, with a flag",
      source: { content: null, flags: { "listen.port": "1" } },
      says: ["object"],
    },
    { name: "a file that is no JSON", source: { content: "{port: 1}" }, says: ["turnpike.config.json", "JSON"] },
    {
      name: "a file that is not there",
      source: { file: "/nowhere/turnpike.json" },
      says: ["/nowhere/turnpike.json does not exist."],
    },
    {
      name: "an unknown variable",
      source: { env: { TURNPIKE_LISTEN_PROT: "1" } },
      says: ["TURNPIKE_LISTEN_PROT", "TURNPIKE_LISTEN_PORT"],
    },
    {
      name: "a variable of somebody's own",
      source: { env: { TURNPIKE_HOOK_SECRET: "1" } },
      says: ["TURNPIKE_HOOK_SECRET is not a setting", "choose another"],
    },
    {
      name: "three mistakes at once",
      source: { flags: { "listen.port": "-1", "limits.burst": "0", "log.level": "loud" } },
      says: ["listen.port", "limits.burst", "log.level"],
    },
    {
      name: "five mistakes at once",
      source: {
        flags: {
          "listen.port": "-1",
          "limits.burst": "0",
          "limits.sockets": "0",
          "turns.maxSteps": "0",
          "log.level": "loud",
        },
      },
      says: ["listen.port", "limits.burst", "limits.sockets", "turns.maxSteps", "log.level"],
    },
  ];
  for (const { name, source, says } of rows) {
    test(name, () => {
      const { content = {}, ...sources } = source;
      const load = (): unknown => loadConfig({ file: file(content), env: {}, flags: {}, ...sources });
      expect(load).toThrow(ConfigError);
      for (const words of says) expect(load).toThrow(words);
    });
  }
});

test("a mistake is named together with what was found", () => {
  const env = { TURNPIKE_LISTEN_PORT: "http" };
  expect(() => loadConfig({ ...nothing(), env })).toThrow('listen.port: found "http", expected number.');
});

describe("a mistake shows no secret", () => {
  const secret = "postgres://u:hunter2@h/x";
  const rows: { name: string; content?: unknown; flags?: Record<string, string> }[] = [
    { name: "below an unknown key", content: { Database: secret } },
    { name: "below an unknown key of a part", content: { log: { database: secret } } },
    { name: "in a list", content: { database: [secret] } },
    { name: "in a list behind another address", content: { database: ["postgres://u@h/x", secret] } },
    { name: "in an object", content: { database: { url: secret } } },
    { name: "as the value of another key", content: { log: { level: secret } } },
    { name: "in a query", content: { log: { level: "postgres://h/x?password=hunter2" } } },
    { name: "in the way of a flag", content: { listen: secret }, flags: { "listen.port": "1" } },
    { name: "as an unknown flag", flags: { Database: secret } },
  ];
  for (const { name, content = {}, flags = {} } of rows) {
    test(name, () => {
      const load = (): unknown => loadConfig({ file: file(content), env: {}, flags });
      expect(load).toThrow(ConfigError);
      expect(load).not.toThrow("hunter2");
    });
  }
});

describe("listening beyond this machine needs TLS or somebody who insists", () => {
  for (const host of ["0.0.0.0", "::", "192.168.0.1", "127.0.0.1.evil.test"]) {
    test(`${host} alone is a mistake`, () => {
      expect(() => loadConfig({ ...nothing(), flags: { "listen.host": host } })).toThrow(ConfigError);
    });
  }

  const rows: { host: string; more?: Record<string, string> }[] = [
    { host: "0.0.0.0", more: { "tls.certFile": "cert.pem", "tls.keyFile": "key.pem" } },
    { host: "0.0.0.0", more: { "listen.insecure": "true" } },
    { host: "127.0.0.2" },
    { host: "::1" },
    { host: "[::1]" },
    { host: "localhost" },
  ];
  for (const { host, more = {} } of rows) {
    test(`${[host, ...Object.keys(more)].join(" with ")} is fine`, () => {
      expect(loadConfig({ ...nothing(), flags: { "listen.host": host, ...more } }).listen.host).toBe(host);
    });
  }
});

for (const key of ["__proto__.polluted", "listen.__proto__.polluted", "constructor.prototype.polluted"]) {
  test(`a flag ${key} is a mistake, and changes nothing else`, () => {
    onTestFinished(() => void Reflect.deleteProperty(Object.prototype, "polluted"));
    expect(() => loadConfig({ ...nothing(), flags: { [key]: "1" } })).toThrow(ConfigError);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
}

test("other programs' variables and the command's own are none of its business", () => {
  const env = { PATH: "/bin", TURNPIKEX: "1", TURNPIKE_ADMIN_TOKEN: "tp_secret" };
  expect(loadConfig({ ...nothing(), env })).toEqual(loadConfig(nothing()));
});

describe("what may be shown has no secret in it", () => {
  for (const row of [
    { database: "postgres://user:hidden@host:5432/db", shown: "postgres://user:***@host:5432/db" },
    { database: "postgresql://user:hid%40den@host/db", shown: "postgresql://user:***@host/db" },
    { database: "postgres://:hidden@host/db", shown: "postgres://:***@host/db" },
    { database: "postgres://user@host/db", shown: "postgres://user@host/db" },
    { database: ".turnpike/turnpike.db", shown: ".turnpike/turnpike.db" },
  ]) {
    test(row.database, () => {
      expect(withoutSecrets({ ...loadConfig(nothing()), database: row.database }).database).toBe(row.shown);
    });
  }

  for (const database of [
    "postgres://user:hid@hidden@host/db",
    "postgres://user:hid:hidden@host/db",
    "postgres://user:hid/hidden@host/db",
    "postgres://host/db?user=me&password=hidden",
    "postgres://user:x@host/db?password=hidden&sslmode=require",
    "postgres://user@host/db?sslkey=client.key&sslpassword=hidden&sslmode=require",
  ]) {
    test(`${database}, where the password is written otherwise`, () => {
      const shown = JSON.stringify(withoutSecrets({ ...loadConfig(nothing()), database }));
      expect(shown).not.toContain("hidden");
      expect(shown).toContain("host");
    });
  }
});
