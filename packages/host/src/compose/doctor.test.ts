import { chmodSync, existsSync, statSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, newLocation, openHost, temporaryFolder } from "../../../../tests/support/databases.ts";
import { opening, otherProcess } from "../../../../tests/support/host/other-process.ts";
import { examine, type Finding } from "./doctor.ts";

function ask(flags: Record<string, string>, env: NodeJS.ProcessEnv = {}): Promise<Finding[]> {
  const file = join(temporaryFolder(), "turnpike.config.json");
  writeFileSync(file, "{}");
  return examine({ file, env, flags: { "listen.port": "0", ...flags } });
}

function said(findings: readonly Finding[], check: string): string[] {
  return findings.filter((finding) => finding.check === check && !finding.isOk).map(({ says }) => says);
}

describe.each(databaseKinds)("the doctor on %s", (kind) => {
  test("finds nothing wrong where nothing is, and says what was looked at", async () => {
    const findings = await ask({ database: await newLocation(kind) });
    expect(findings.filter(({ isOk }) => !isOk)).toEqual([]);
    const checks = new Set(findings.map(({ check }) => check));
    expect([...checks].toSorted()).toEqual(["clock", "configuration", "database", "port", "secrets"]);
  });

  test("can be asked twice, and leaves the database to the host", async () => {
    const database = await newLocation(kind);
    expect(said(await ask({ database }), "database")).toEqual([]);
    expect(said(await ask({ database }), "database")).toEqual([]);
    await expect(openHost(database)).resolves.toMatchObject({ kind });
  });
});

test("a configuration that does not fit is the only finding, with what to do", async () => {
  expect(await ask({ "limits.burst": "0" })).toEqual([
    {
      check: "configuration",
      isOk: false,
      says: "limits.burst: found 0, expected 1 or more. Correct it and ask again.",
    },
  ]);
});

test("a port that somebody listens on is found; every other check still runs", async () => {
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

test("a database file that a host uses is found", async () => {
  const database = await newLocation("sqlite");
  await otherProcess(opening(database));
  expect(said(await ask({ database }), "database")).toEqual([
    `The database ${database} is in use by another process, or cannot be written. ` +
      "Check `database`, and that no other host uses the same file.",
  ]);
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

test("asking makes no secret readable", async () => {
  const database = join(temporaryFolder(), "new/turnpike.db");
  await ask({ database });
  expect(existsSync(database) ? statSync(database).mode & 0o077 : 0).toBe(0);
});

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
  { name: "no key", flags: local, env: {}, finding: { isOk: true, says: "asks a model without a key" } },
];
for (const { name, flags, env, finding } of runtimes) {
  test(`a model with ${name} is looked at, and the key is not shown`, async () => {
    const findings = await ask({ database: await newLocation("sqlite"), ...flags }, env);
    expect(findings.filter(({ check }) => check === "runtime")).toEqual([{ check: "runtime", ...finding }]);
    expect(JSON.stringify(findings)).not.toContain("hidden");
  });
}
