import { execFile } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { newLocation, temporaryFolder } from "../../test/databases.ts";

const client = "@modelcontextprotocol/client";
const server = "@modelcontextprotocol/server";

interface Row {
  name: string;
  kind?: "postgres";
  path?: string;
  config?: object;
  loaded: string[];
}

const rows: Row[] = [
  {
    name: "a host on SQLite without MCP loads neither PostgreSQL's driver nor the libraries of MCP and of models",
    loaded: [],
  },
  { name: "PostgreSQL's driver is loaded for a PostgreSQL", kind: "postgres", loaded: ["pg"] },
  { name: "MCP's library for servers is loaded for the first MCP client", path: "/mcp", loaded: [server] },
  {
    name: "MCP's library for clients is loaded for an MCP server",
    config: { mcp: { servers: { notes: { command: ["true"] } } } },
    loaded: [client],
  },
];

for (const { name, kind = "sqlite", path = "/health", config, loaded } of rows) {
  test(name, async () => {
    const folder = temporaryFolder();
    const database = await newLocation(kind, folder);
    const file = join(folder, "turnpike.config.json");
    writeFileSync(file, JSON.stringify({ database, listen: { port: 0 }, ...config }));
    const script = `
      import { loadConfig, startHost } from "turnpike-host";
      const log = { info() {}, warn() {}, error() {} };
      const runtime = { manifest: { id: "none", version: "1" }, run: () => Promise.reject(new Error("none")) };
      const host = await startHost(loadConfig({ file: ${JSON.stringify(file)}, env: {}, flags: {} }), { log, runtime });
      await fetch(host.url + ${JSON.stringify(path)});
      await host.close();
    `;
    // The coverage of a process names every file that it loaded.
    const coverage = join(folder, "coverage");
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      env: { PATH: process.env["PATH"], NODE_V8_COVERAGE: coverage },
      cwd: import.meta.dirname,
    });
    const files = readdirSync(coverage).map((report) => readFileSync(join(coverage, report), "utf8"));
    const isLoaded = (library: string) => files.some((text) => text.includes(`/node_modules/${library}/`));
    expect([client, server, "pg", "ai"].filter(isLoaded)).toEqual(loaded);
  });
}
