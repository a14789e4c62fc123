import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { ConfigError } from "../shared/config.ts";
import { environmentName } from "./config-variables.ts";
import { loadConfig, withoutSecrets } from "./config.ts";

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
      callerStreams: 100,
      held: 5000,
      eventStreams: 100,
      openEscalations: 100,
      openTurns: 1_000,
      openTurnBytes: 67_108_864,
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
    escalations: {
      expireHours: 24,
      permitMinutes: 15,
      maxPermitMinutes: 1440,
      refusalMinutes: 60,
      approvals: 1,
      answeredBy: ["authority", "reviewers"],
    },
    oauth: { enabled: true, accessTokenMinutes: 60, refreshDays: 30, dcr: true, clients: [] },
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
  { key: "database.directUrl", name: "TURNPIKE_DATABASE_DIRECT_URL" },
  { key: "jwt.claims.tenant", name: "TURNPIKE_JWT_CLAIMS_TENANT" },
]) {
  test(`${row.key} is ${row.name} in the environment`, () => {
    expect(environmentName(row.key)).toBe(row.name);
  });
}

describe("a database behind a pooler", () => {
  const [url, directUrl] = ["postgres://u:p@pooler/d", "postgres://u:p@server/d"];
  const behindPooler = { url, pooler: "transaction", directUrl };

  test("is one object in a file, and three variables in the environment", () => {
    const variables = { TURNPIKE_DATABASE_POOLER: "transaction", TURNPIKE_DATABASE_DIRECT_URL: directUrl };
    for (const [content, env] of [
      [{ database: behindPooler }, {}],
      [{}, { ...variables, TURNPIKE_DATABASE: url }],
      [{}, { ...variables, TURNPIKE_DATABASE_URL: url }],
      [{ database: url }, variables],
    ] as const)
      expect(loadConfig({ file: file(content), env, flags: {} }).database).toEqual(behindPooler);
  });

  test("is another one altogether when a flag names another", () => {
    const flags = { database: "postgres://elsewhere/d" };
    const config = loadConfig({ file: file({ database: behindPooler }), env: {}, flags });
    expect(config.database).toBe(flags.database);
  });

  test("is shown without its passwords", () => {
    const config = loadConfig({ file: file({ database: behindPooler }), env: {}, flags: {} });
    const [shown, shownDirect] = ["postgres://u:***@pooler/d", "postgres://u:***@server/d"];
    expect(withoutSecrets(config).database).toEqual({ url: shown, pooler: "transaction", directUrl: shownDirect });
  });
});

describe("a mistake is named, with what is expected", () => {
  const rows: {
    name: string;
    source: Partial<Parameters<typeof loadConfig>[0]> & { content?: unknown };
    says: string[];
  }[] = [
    {
      name: "a port too high",
      source: { flags: { "listen.port": "65536" } },
      says: ["--port (listen.port): found 65536, expected a whole number from 0 to 65535."],
    },
    {
      name: "a port that is a word",
      source: { env: { TURNPIKE_LISTEN_PORT: "http" } },
      says: ['TURNPIKE_LISTEN_PORT (listen.port): found "http", expected a whole number from 0 to 65535.'],
    },
    { name: "a port with a leading zero", source: { env: { TURNPIKE_LISTEN_PORT: "08787" } }, says: ["listen.port"] },
    { name: "a list that is none", source: { flags: { "jwt.algorithms": "[ES256]" } }, says: ["jwt"] },
    {
      name: "a limit of none",
      source: { flags: { "limits.burst": "0" } },
      says: ["--set (limits.burst): found 0, expected a whole number from 1 to 10000000."],
    },
    {
      name: "permits that last longer than permits may",
      source: { flags: { "escalations.permitMinutes": "60", "escalations.maxPermitMinutes": "30" } },
      says: [
        "--set (escalations.permitMinutes): found 60, expected no more than escalations.maxPermitMinutes: 60 is more than 30.",
      ],
    },
    {
      name: "permits that may not even last as long as they do by default",
      source: { flags: { "escalations.maxPermitMinutes": "5" } },
      says: [
        "escalations.permitMinutes: found nothing, expected no more than escalations.maxPermitMinutes: 15 is more than 5.",
      ],
    },
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
    {
      name: "a flag below a single value",
      source: { flags: { "publicUrl.host": "x" } },
      says: ["--set (publicUrl): found an object, expected a text."],
    },
    {
      name: "half a certificate",
      source: { flags: { "tls.certFile": "a.pem" } },
      says: ["tls.keyFile: found nothing, expected a text."],
    },
    {
      name: "the URL of another database",
      source: { flags: { database: "mysql://user:hidden@host/db" } },
      says: [
        '--database (database): found "mysql://user:***@host/db", expected a postgres:// URL, or a path of a file.',
      ],
    },
    {
      name: "a URL that lacks a slash",
      source: { flags: { database: "postgres:/user:hidden@host/db" } },
      says: [
        '--database (database): found "postgres:/user:***@host/db", expected a postgres:// URL, or a path of a file.',
      ],
    },
    { name: "an empty value", source: { env: { TURNPIKE_DATABASE: "" } }, says: ["database"] },
    { name: "a database that is a list", source: { content: { database: [] } }, says: ["database: found a list"] },
    {
      name: "an unknown key of a database",
      source: { content: { database: { url: "postgres://h/d", poolr: "session" } } },
      says: ["database.poolr", "no such key", "mean database.pooler?"],
    },
    {
      name: "an unknown mode of a pooler",
      source: { content: { database: { url: "postgres://h/d", pooler: "statement" } } },
      says: ['database.pooler: found "statement", expected "session" or "transaction".'],
    },
    {
      name: "a pooler in transaction mode without the address of the server",
      source: { env: { TURNPIKE_DATABASE: "postgres://h/d", TURNPIKE_DATABASE_POOLER: "transaction" } },
      says: ["database.directUrl: found nothing, expected the postgres:// URL of the server itself"],
    },
    {
      name: "a pooler in front of a file",
      source: { flags: { database: "a.db", "database.pooler": "session" } },
      says: ['database.url: found "a.db", expected a postgres:// URL.'],
    },
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
      name: "a variable that is almost a setting",
      source: { env: { TURNPIKE_LISTEN_PROT: "1" } },
      says: ["TURNPIKE_LISTEN_PROT is not a setting. Did you mean TURNPIKE_LISTEN_PORT?"],
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
  expect(() => loadConfig({ ...nothing(), env })).toThrow(
    'TURNPIKE_LISTEN_PORT (listen.port): found "http", expected a whole number from 0 to 65535.',
  );
});

describe("a mistake in the file is named with its line and column", () => {
  const rows: { name: string; text: string; says: string }[] = [
    {
      name: "what is no JSON",
      text: '{\n  "listen": { port: 1 }\n}',
      says: ":2:15: this is not JSON: found a word without quotes, expected a key in double quotes.",
    },
    {
      name: "a value that does not fit",
      text: '{\n  "listen": {\n    "port": "http"\n  }\n}',
      says: ':3:13: listen.port: found "http", expected a whole number from 0 to 65535.',
    },
    {
      name: "a number that does not fit",
      text: '{ "escalations": { "expireHours": 1.5 } }',
      says: ":1:35: escalations.expireHours: found 1.5, expected a whole number from 1.",
    },
    {
      name: "a value of another kind",
      text: '{ "admin": { "tokenFile": "no" } }',
      says: ':1:27: admin.tokenFile: found "no", expected true or false.',
    },
    {
      name: "a key that appears twice",
      text: '{\n  "listen": { "port": 1 },\n  "listen": {}\n}',
      says: ':3:3: the key "listen" appears twice in one object.',
    },
    {
      name: "an unknown key",
      text: '{\n  "lissen": {}\n}',
      says: ":2:3: lissen: there is no such key. Did you mean listen?",
    },
    {
      name: "something that is missing",
      text: '{\n  "tls": { "certFile": "a.pem" }\n}',
      says: ":2:10: tls.keyFile: found nothing, expected a text.",
    },
    { name: "a list", text: "\n[]", says: ":2:1: found a list, expected an object." },
    {
      name: "a schema that is no address",
      text: '{ "$schema": 1 }',
      says: ":1:14: $schema: found a number, expected the address of a JSON Schema.",
    },
    {
      name: "a secret of a part whose values are not shown",
      text: '{ "runtime": { "kind": "model", "provider": 5 } }',
      says: ":1:45: runtime.provider: found a number, expected",
    },
  ];
  for (const { name, text, says } of rows) {
    test(name, () => {
      const path = file(text);
      expect(() => loadConfig({ file: path, env: {}, flags: {} })).toThrow(`${path}${says}`);
    });
  }
});

test("the address of a schema is allowed in the file, and sets nothing", () => {
  const path = file({ $schema: "./node_modules/turnpike-host/turnpike.config.schema.json", listen: { port: 1 } });
  expect(loadConfig({ file: path, env: {}, flags: {} })).toEqual(
    loadConfig({ ...nothing(), flags: { "listen.port": "1" } }),
  );
});

describe("a mistake shows no secret", () => {
  const secret = "postgres://u:hunter2@h/x";
  const rows: { name: string; content?: unknown; flags?: Record<string, string> }[] = [
    { name: "below an unknown key", content: { Database: secret } },
    { name: "below an unknown key of a part", content: { log: { database: secret } } },
    { name: "in a list", content: { database: [secret] } },
    { name: "in a list behind another address", content: { database: ["postgres://u@h/x", secret] } },
    { name: "in an object", content: { database: { name: secret } } },
    { name: "beside a mistake", content: { database: { url: secret, pooler: "statement" } } },
    { name: "in the address of a server", content: { database: { url: "postgres://h", directUrl: `my${secret}` } } },
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

describe("listening beyond this machine needs TLS or an operator who insists", () => {
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

/** What is in force with these variables, and what was said about them. */
function loadWith(env: Record<string, string>): { config: unknown; warnings: string[] } {
  const warnings: string[] = [];
  return { config: loadConfig({ ...nothing(), env, warn: (message) => warnings.push(message) }), warnings };
}

test("other programs' variables and the command's own are none of its business", () => {
  const env = {
    PATH: "/bin",
    TURNPIKEX: "1",
    TURNPIKE_ADMIN_TOKEN: "tp_secret",
    TURNPIKE_TOKEN: "tp_secret",
    TURNPIKE_URL: "http://host",
  };
  expect(loadWith(env)).toEqual({ config: loadConfig(nothing()), warnings: [] });
});

for (const row of [
  { name: "TURNPIKE_HOOK_SECRET", says: "TURNPIKE_HOOK_SECRET is not a setting, and is ignored." },
  { name: "TURNPIKE_PORT", says: "TURNPIKE_PORT is not a setting, and is ignored." },
  { name: "TURNPIKE_URI", says: "TURNPIKE_URI is not a setting, and is ignored. Did you mean TURNPIKE_URL?" },
]) {
  test(`${row.name} is no setting: a warning says so, without its value, and the host starts`, () => {
    expect(loadWith({ [row.name]: "hunter2" })).toEqual({ config: loadConfig(nothing()), warnings: [row.says] });
  });
}

test("what Kubernetes says about services is ignored", () => {
  const env = {
    TURNPIKE_SERVICE_HOST: "10.0.0.1",
    TURNPIKE_SERVICE_PORT: "8787",
    TURNPIKE_SERVICE_PORT_HTTP: "8787",
    TURNPIKE_PORT: "tcp://10.0.0.1:8787",
    TURNPIKE_PORT_8787_TCP: "tcp://10.0.0.1:8787",
    TURNPIKE_PORT_8787_TCP_PROTO: "tcp",
    TURNPIKE_PORT_8787_TCP_PORT: "8787",
    TURNPIKE_PORT_8787_TCP_ADDR: "10.0.0.1",
    // Services called turnpike-postgres and turnpike-listen.
    TURNPIKE_POSTGRES_SERVICE_HOST: "10.0.0.2",
    TURNPIKE_POSTGRES_PORT_5432_TCP_ADDR: "10.0.0.2",
    TURNPIKE_LISTEN_PORT: "tcp://10.0.0.3:80",
    TURNPIKE_LISTEN_SERVICE_PORT: "80",
  };
  expect(loadWith(env)).toEqual({ config: loadConfig(nothing()), warnings: [] });
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

for (const key of ["tls.keyFile", "tls.certFile", "tls.clientCaFile", "audit.keyFile"])
  test(`${key} with a key in the place of its file is refused, and the key is not shown`, () => {
    const pasted = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----";
    const tls = { TURNPIKE_TLS_CERT_FILE: "cert.pem", TURNPIKE_TLS_KEY_FILE: "key.pem" };
    const name = environmentName(key);
    expect(() => loadConfig({ file: file({}), env: { ...tls, [name]: pasted }, flags: {} })).toThrow(
      `${name} (${key}): found a text, expected the name of a file, and not what is in it.`,
    );
  });
