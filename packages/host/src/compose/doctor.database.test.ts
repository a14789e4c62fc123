import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { sql } from "kysely";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { databaseKinds, newLocation, openHost, temporaryFolder } from "../../test/databases.ts";
import { opening, otherProcess } from "../../test/other-process.ts";
import { openDatabase } from "../storage/open-database.ts";
import { examine } from "./doctor.ts";
import type { Finding } from "./finding.ts";

function ask(flags: Record<string, string>, env: NodeJS.ProcessEnv = {}): Promise<Finding[]> {
  const file = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(file, "{}");
  return examine({ file, env, flags: { "listen.port": "0", ...flags } });
}

function said(findings: readonly Finding[], check: string): string[] {
  return findings.filter((finding) => finding.check === check && !finding.isOk).map(({ says }) => says);
}

function databaseFinding(findings: readonly Finding[]): string | undefined {
  return findings.find(({ check, isOk }) => check === "database" && isOk)?.says;
}

describe.each(databaseKinds)("the doctor on %s", (kind) => {
  test("finds nothing wrong where nothing is, and says what was checked", async () => {
    const findings = await ask({ database: await newLocation(kind) });
    expect(findings.filter(({ isOk }) => !isOk)).toEqual([]);
    const checks = [...new Set(findings.map(({ check }) => check))].filter((check) => check !== "clock");
    // The server of the tests does without fsync, which is a warning.
    const durability = kind === "postgres" ? ["durability"] : [];
    expect(checks.toSorted()).toEqual(["configuration", "database", ...durability, "port", "secrets"]);
    expect(findings.some(({ check }) => check === "clock")).toBe(kind === "postgres");
  });

  test("can be asked twice, and leaves the database to the host", async () => {
    const database = await newLocation(kind);
    expect(said(await ask({ database }), "database")).toEqual([]);
    expect(said(await ask({ database }), "database")).toEqual([]);
    await expect(openHost(database)).resolves.toMatchObject({ kind, hostId: 1 });
  });

  test("says what serve would run, and does not run it", async () => {
    const location = await newLocation(kind);
    const { db, close } = await openDatabase(location);
    const newest = await sql<{ name: string }>`select max(name) as name from kysely_migration`.execute(db);
    const name = newest.rows[0]?.name ?? "";
    await sql`delete from kysely_migration where name = ${name}`.execute(db);
    await close();
    for (let time = 0; time < 2; time += 1)
      expect(databaseFinding(await ask({ database: location }))).toBe(`${kind} answers, and serve would run ${name}`);
  });

  test("says that the tables are up to date, and refuses those of a newer version", async () => {
    const location = await newLocation(kind);
    const { close } = await openDatabase(location);
    await close();
    expect(databaseFinding(await ask({ database: location }))).toBe(`${kind} answers, and its tables are up to date`);
    const again = await openDatabase(location);
    await again.db.updateTable("schema_epoch").set({ epoch: 9999, lowest: 9998 }).execute();
    expect(again.hostId).toBe(2);
    await again.close();
    expect(said(await ask({ database: location }), "database")).toEqual([
      expect.stringContaining("versions from epoch 9998 on may serve it"),
    ]);
  });
});

test("a configuration that does not fit is the only finding, with what to do", async () => {
  expect(await ask({ "limits.burst": "0" })).toEqual([
    {
      check: "configuration",
      isOk: false,
      says: "--set (limits.burst): found 0, expected a whole number from 1 to 10000000. Correct it and try again.",
    },
  ]);
});

test("a port that is taken is found; every other check still runs", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const findings = await ask({ "listen.port": String(port), database: await newLocation("sqlite") });
  expect(said(findings, "port")).toEqual([
    expect.stringMatching(new RegExp(`^127.0.0.1:${port} cannot be used .*EADDRINUSE.*set listen.port`)),
  ]);
  expect(findings.find(({ check }) => check === "database")?.isOk).toBe(true);
});

test("a port on which a host answers is fine", async () => {
  const server = createHttpServer((request, response) => {
    response.end(request.url === "/health" ? '{"status":"ok","protocolVersion":"1"}' : "");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const findings = await ask({ "listen.port": String(port), database: await newLocation("sqlite") });
  expect(findings.find(({ check }) => check === "port")).toEqual({
    check: "port",
    isOk: true,
    says: `127.0.0.1:${port} is taken: a host answers there`,
  });
});

test("a port on which something else answers is found", async () => {
  const server = createHttpServer((_, response) => void response.end("hello")).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const findings = await ask({ "listen.port": String(port), database: await newLocation("sqlite") });
  expect(said(findings, "port")).toEqual([expect.stringContaining("EADDRINUSE")]);
});

test("a database file on which a host runs is fine", async () => {
  const database = await newLocation("sqlite");
  await otherProcess(opening(database));
  expect(databaseFinding(await ask({ database }))).toBe(`${database} is in use: a host runs on it`);
});

test("what a killed host left is read, and stays as it is to the byte", async () => {
  const database = join(temporaryFolder(), "odd ?#%20 name.db");
  await (await otherProcess(opening(database))).kill();
  const left = (): string[] =>
    readdirSync(dirname(database)).map((name) => `${name} ${readFileSync(join(dirname(database), name), "base64")}`);
  const before = left();
  expect(databaseFinding(await ask({ database }))).toBe("sqlite answers, and its tables are up to date");
  expect(left()).toEqual(before);
});

test("a database file that does not exist is not made, nor is its folder", async () => {
  const folder = temporaryFolder();
  const database = join(folder, "new/turnpike.db");
  expect(databaseFinding(await ask({ database }))).toBe(`${database} does not exist yet: serve makes it`);
  expect(readdirSync(folder)).toEqual([]);
});

test("a folder where the database file is expected is found", async () => {
  const database = temporaryFolder();
  expect(said(await ask({ database }), "database")).toEqual([expect.stringContaining("is a folder, expected a file")]);
});

test("a file that is no database is found", async () => {
  const database = await newLocation("sqlite");
  writeFileSync(database, "something else entirely".repeat(100), { mode: 0o600 });
  expect(said(await ask({ database }), "database")).toEqual([expect.stringContaining("file is not a database")]);
});

test("a PostgreSQL that does not answer is found, and its password is not shown", async () => {
  const findings = await ask({ database: "postgres://user:hidden@127.0.0.1:1/none" });
  expect(said(findings, "database")).toEqual([expect.stringContaining("ECONNREFUSED")]);
  expect(JSON.stringify(findings)).not.toContain("hidden");
});

for (const row of [
  {
    name: "its database file",
    flags: (folder: string) => ({ database: join(folder, "turnpike.db") }),
    path: "turnpike.db",
  },
  {
    name: "the tokens of the demo",
    flags: (folder: string) => ({ database: join(folder, "turnpike.db") }),
    path: "demo-tokens.json",
  },
  {
    name: "the operator's token",
    flags: (folder: string) => ({ database: join(folder, "turnpike.db") }),
    path: "admin-token",
  },
  {
    name: "the key of its audit checkpoints",
    flags: (folder: string) => ({ database: join(folder, "turnpike.db") }),
    path: "audit-key.pem",
  },
  {
    name: "a key of its audit checkpoints elsewhere",
    flags: (folder: string) => ({
      database: join(folder, "turnpike.db"),
      "audit.keyFile": join(folder, "elsewhere.pem"),
    }),
    path: "elsewhere.pem",
  },
  {
    name: "the key of its certificate",
    flags: (folder: string) => ({
      database: join(folder, "turnpike.db"),
      "tls.certFile": join(folder, "cert.pem"),
      "tls.keyFile": join(folder, "key.pem"),
    }),
    path: "key.pem",
  },
]) {
  for (const mode of [0o600, 0o640, 0o604]) {
    test(`${row.name} with mode ${mode.toString(8)} is ${mode === 0o600 ? "fine" : "found, with the command that helps"}`, async () => {
      const folder = temporaryFolder();
      const path = join(folder, row.path);
      writeFileSync(path, "");
      chmodSync(path, mode);
      const findings = said(await ask(row.flags(folder)), "secrets");
      expect(findings).toEqual(mode === 0o600 ? [] : [`${path} is readable by others. Run: chmod 600 ${path}`]);
    });
  }
}

const missingTls = { "tls.certFile": "/nowhere/cert.pem", "tls.keyFile": "/nowhere/key.pem" };
const missingKeys = { "jwt.jwks": "/nowhere/keys.json", "jwt.issuer": "i", "jwt.audience": "a" };
const mistakes: { name: string; flags: Record<string, string>; check: string; says: string[] }[] = [
  { name: "a key set that is not there", flags: missingKeys, check: "jwt", says: ["/nowhere/keys.json"] },
  {
    name: "a certificate that is not there",
    flags: missingTls,
    check: "tls",
    says: ["/nowhere/cert.pem", "/nowhere/key.pem"],
  },
  {
    name: "listening beyond this machine without TLS",
    flags: { "listen.host": "0.0.0.0" },
    check: "configuration",
    says: ["Listening on 0.0.0.0 without TLS"],
  },
];
for (const { name, flags, check, says } of mistakes) {
  test(`${name} is found`, async () => {
    const findings = await ask({ database: await newLocation("sqlite"), ...flags });
    expect(said(findings, check)).toEqual(says.map((words) => expect.stringContaining(words) as string));
  });
}

test("a certificate is checked: until when it is valid, and whether the key is its own", async () => {
  const folder = temporaryFolder();
  const [cert, key, otherKey] = ["cert.pem", "key.pem", "other.pem"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const program = "openssl";
  const words = (keyFile: string, days: string): string[] => [
    ..."req -x509 -newkey ed25519 -nodes -subj /CN=localhost -days".split(" "),
    days,
    "-keyout",
    keyFile,
    "-out",
    cert,
  ];
  const make = (keyFile: string, days: string): void =>
    void execFileSync(program, words(keyFile, days), { stdio: "ignore" });
  const inspect = async (keyFile: string): Promise<Finding | undefined> => {
    const flags = { database: join(folder, "turnpike.db"), "tls.certFile": cert, "tls.keyFile": keyFile };
    return (await ask(flags)).findLast(({ check }) => check === "tls");
  };
  make(otherKey, "90");
  make(key, "90");
  expect(await inspect(key)).toMatchObject({
    isOk: true,
    says: expect.stringContaining(`${cert} is valid until`) as string,
  });
  expect(await inspect(otherKey)).toMatchObject({
    isOk: false,
    says: `${otherKey} is not the key of ${cert}. Correct tls.certFile and tls.keyFile.`,
  });
  make(key, "3");
  expect(await inspect(key)).toMatchObject({ isOk: true, isWarning: true });
  vi.setSystemTime(Date.now() + 30 * 86_400_000);
  onTestFinished(() => void vi.useRealTimers());
  expect(await inspect(key)).toMatchObject({ isOk: false, says: expect.stringContaining("Renew it") as string });
});

test("a clock that is behind what a host wrote to an SQLite file is found", async () => {
  const location = await newLocation("sqlite");
  const { close } = await openDatabase(location);
  const clock = async (): Promise<Finding | undefined> =>
    (await ask({ database: location })).find(({ check }) => check === "clock");
  await close();
  expect(await clock()).toEqual({ check: "clock", isOk: true, says: "is not behind what hosts wrote" });
  const again = await openDatabase(location);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await again.db.updateTable("hosts").set({ started_at: later }).execute();
  await again.close();
  expect(await clock()).toMatchObject({
    isOk: false,
    says: expect.stringContaining(`what a host wrote (${later})`) as string,
  });
});

test("an SQLite file that was cut off is found, with what to do", async () => {
  const location = await newLocation("sqlite");
  await (await openDatabase(location)).close();
  truncateSync(location, statSync(location).size - 4096);
  expect(said(await ask({ database: location }), "database")).toEqual([
    expect.stringContaining("so it was cut off. Nothing was changed. Put a backup in its place: turnpike restore"),
  ]);
});

describe("commands that give the keys of MCP servers", () => {
  const inspect = async (program: string): Promise<string[]> => {
    const file = join(temporaryFolder(), "turnpike.config.json");
    const headers = { authorization: { command: [program, "{tenant}/{owner}"] } };
    writeFileSync(file, JSON.stringify({ mcp: { servers: { notes: { url: "https://notes.example.com", headers } } } }));
    const flags = { "listen.port": "0", database: await newLocation("sqlite") };
    return said(await examine({ file, env: { PATH: "/usr/bin:/bin" }, flags }), "mcp");
  };
  test("are found when they are not there, also of a server that is not tried", async () => {
    expect(await inspect("no-such-key-command")).toEqual([
      "mcp.servers.notes.headers.authorization.command: there is no program no-such-key-command. Install it, or name its path.",
    ]);
  });
  test("are fine by name and by path", async () => {
    expect([await inspect("cat"), await inspect(process.execPath)]).toEqual([[], []]);
  });
});

describe("the users of MCP servers", () => {
  const askAbout = async (server: object): Promise<Finding[]> => {
    const file = join(temporaryFolder(), "turnpike.config.json");
    writeFileSync(file, JSON.stringify({ mcp: { servers: { notes: server } } }));
    const flags = { "listen.port": "0", database: await newLocation("sqlite") };
    return (await examine({ file, env: {}, flags })).filter(({ check }) => check === "mcp");
  };
  const own = process.getuid?.() ?? 0;
  const command = ["notes"];

  test("are said to be the host's own for each server that is so, which is a warning", async () => {
    const says =
      "The MCP server notes runs as the host's own user: it could read the operator's token and the database. " +
      "Give it a uid and gid of its own, or run it in a container.";
    expect(await askAbout({ command })).toEqual([{ check: "mcp", isOk: true, isWarning: true, says }]);
  });

  test("are fine for a server elsewhere and for a container", async () => {
    expect(await askAbout({ url: "https://notes.example.com" })).toEqual([]);
    expect(await askAbout({ command: ["docker", "run", "-i", "notes"] })).toEqual([]);
  });

  test("can be others when the host is root, and are found to be impossible when it is not", async () => {
    const found = said(await askAbout({ command, uid: own + 1, gid: own + 1 }), "mcp");
    expect(found.map((says) => says.slice(0, says.indexOf(":")))).toEqual(own === 0 ? [] : ["mcp.servers.notes.uid"]);
  });
});

const model = { "runtime.kind": "model", "runtime.model": "model-1" };
const openai = { ...model, "runtime.provider": "openai", "runtime.apiKeyEnv": "MODEL_KEY" };
const local = { ...model, "runtime.provider": "openai-compatible", "runtime.baseUrl": "http://127.0.0.1:1/v1" };
const runtimes: { name: string; flags: Record<string, string>; env: NodeJS.ProcessEnv; finding: Partial<Finding> }[] = [
  {
    name: "a key that is set",
    flags: openai,
    env: { MODEL_KEY: "sk-hidden" },
    finding: { isOk: true, says: "MODEL_KEY is set" },
  },
  {
    name: "a key that is not set",
    flags: openai,
    env: {},
    finding: {
      isOk: false,
      says: "runtime.apiKeyEnv: the variable MODEL_KEY is not set. Put the key of the model there.",
    },
  },
  {
    name: "a key that is none",
    flags: openai,
    env: { MODEL_KEY: "sk-hidden\n" },
    finding: { isOk: false, says: "runtime.apiKeyEnv: the variable MODEL_KEY holds something that is no key." },
  },
  { name: "no key", flags: local, env: {}, finding: { isOk: true, says: "uses a model without a key" } },
];
for (const { name, flags, env, finding } of runtimes) {
  test(`a model with ${name} is checked, and the key is not shown`, async () => {
    const findings = await ask({ database: await newLocation("sqlite"), ...flags }, env);
    expect(findings.filter(({ check }) => check === "runtime")).toEqual([{ check: "runtime", ...finding }]);
    expect(JSON.stringify(findings)).not.toContain("hidden");
  });
}

for (const { name, env, finding } of [
  {
    name: "set",
    env: { HOOK: "hidden, and long enough to be one" },
    finding: { isOk: true, says: "secrets of 1 are set" },
  },
  {
    name: "not set",
    env: {},
    finding: {
      isOk: false,
      says: "notify.webhooks.0.secretEnv: the variable HOOK is not set. Put the webhook's secret there.",
    },
  },
]) {
  test(`a webhook whose secret is ${name} is checked, and the secret is not shown`, async () => {
    const webhooks = JSON.stringify([{ url: "https://example.com", secretEnv: "HOOK" }]);
    const findings = await ask({ database: await newLocation("sqlite"), "notify.webhooks": webhooks }, env);
    expect(findings.filter(({ check }) => check === "webhooks")).toEqual([{ check: "webhooks", ...finding }]);
    expect(JSON.stringify(findings)).not.toContain("hidden");
  });
}
