import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../packages/host/src/storage/open-database.ts";
import { checkBackup } from "../../packages/host/src/storage/check-backup.ts";
import { newLocation } from "../../packages/host/test/databases.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "../support/host-process.ts";
import { makeCredential, makeGrant } from "../support/host-world.ts";
import { command, commandJson, commandWith, words } from "../support/terminal.ts";

/** A host whose database is large enough that copying it takes a while. */
async function startLargeHost(): Promise<HostProcess> {
  const folder = makeFolder();
  mkdirSync(join(folder, ".turnpike"));
  const { db, close } = await openDatabase(join(folder, ".turnpike", "turnpike.db"));
  const row = { namespace_id: "large", subject: "agent:a", issuer: "human:alice", content: "x".repeat(100_000) };
  await db.transaction().execute(async (transaction) => {
    for (let place = 0; place < 300; place += 1)
      await transaction
        .insertInto("grants")
        .values({ ...row, id: `grant-${place}` })
        .execute();
  });
  await close();
  return startHostProcess({ folder });
}

/** Issues grants until the host is gone; collects the ids of those that were acknowledged. */
async function issueOn(host: HostProcess, issued: string[]): Promise<void> {
  for (let place = 0; ; place += 1) {
    try {
      await makeGrant(host, { id: `grant-${place}`, resource: "files", actions: ["read"] });
    } catch {
      return;
    }
    issued.push(`grant-${place}`);
  }
}

async function grantsIn(file: string, tenant = "acme"): Promise<Set<string>> {
  const database = await openDatabase(file);
  try {
    const rows = await database.db.selectFrom("grants").select("id").where("namespace_id", "=", tenant).execute();
    return new Set(rows.map(({ id }) => id));
  } finally {
    await database.close();
  }
}

/** Whatever has the final name is a whole backup; drafts may be left by a command that was killed. */
async function expectNothingHalf(folder: string): Promise<string[]> {
  const backups = readdirSync(folder).filter((name) => name.endsWith(".db"));
  for (const name of backups) await checkBackup(join(folder, name), "full");
  return backups;
}

/** The command in a process of its own, so that it can be killed. */
function startBackup(host: HostProcess, file: string, ...more: string[]) {
  const args = [turnpike, "backup", file, "--url", host.url, ...more];
  const child = spawn(process.execPath, args, { cwd: host.folder, stdio: "ignore" });
  const ended = once(child, "exit");
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, ended };
}

describe("a backup", () => {
  test("of a host under load has what was acknowledged before, is its owner's alone, and is in the audit log", async () => {
    const host = await startHostProcess({ folder: makeFolder() });
    const issued: string[] = [];
    const load = issueOn(host, issued);
    await eventually(() => expect(issued.length).toBeGreaterThan(5));
    const before = [...issued];
    const made = (await commandJson(host, words`backup saved.db`)) as { bytes: number; newestAt: string };
    const file = join(host.folder, "saved.db");
    expect(statSync(file)).toMatchObject({ size: made.bytes });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { events } = (await commandJson(host, words`audit list --tenant operators`)) as {
      events: { event: { action?: string; outcome: string } }[];
    };
    const backups = events.map(({ event }) => event).filter(({ action }) => action === "backup.create");
    expect(backups.map(({ outcome }) => outcome)).toEqual(["succeeded", "allowed"]);
    await host.stop("SIGKILL");
    await load;
    await checkBackup(file, "full");
    const saved = await grantsIn(file);
    expect(before.filter((id) => !saved.has(id))).toEqual([]);
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  test("is not written over another file, unless that is forced, and is refused for what is none", async () => {
    const host = await startHostProcess({ folder: makeFolder() });
    const file = join(host.folder, "saved.db");
    writeFileSync(file, "something else");
    expect(await command(host, words`backup saved.db`)).toEqual({
      code: 2,
      stdout: "",
      stderr: "saved.db is there already. Name another file, or add --force to replace it.\n",
    });
    expect(statSync(file).size).toBe(14);
    const forced = await command(host, words`backup saved.db --force`);
    expect([forced.code, forced.stderr]).toEqual([0, ""]);
    expect(forced.stdout).toMatch(/^Copied [\d.]+ [KM]iB to saved\.db\. The newest event in it is of \d{4}-\S+Z\.\n/);
    await checkBackup(file, "full");
    expect(readdirSync(host.folder).filter((name) => name.includes(".part"))).toEqual([]);
    await host.stop();
    const away = await command(host, words`backup other.db`);
    expect([away.code, away.stderr]).toEqual([
      1,
      `No host answers at ${host.url}. Start one with: turnpike serve\n` +
        "When the host is stopped, add --stopped and name its file with --database.\n",
    ]);
    expect((await commandWith(host.folder, words`backup other.db --stopped`)).code).toBe(0);
    expect(await expectNothingHalf(host.folder)).toEqual(["other.db", "saved.db"]);
  });

  test("is for admins of all tenants, and a PostgreSQL's is made by its own tools", async () => {
    const database = await newLocation("postgres");
    const args = ["serve", "--port", "0", "--database", database];
    const host = await startHostProcess({ folder: makeFolder(), args });
    const { code, stderr } = await command(host, words`backup saved.db`);
    expect([code, stderr]).toEqual([
      1,
      "Refused (conflict): This host's database is a PostgreSQL, which has tools of its own: use pg_dump, or its archive.\n" +
        "docs/guide/backup.md says more.\n",
    ]);
    const { token } = await makeCredential(host);
    expect((await ask(host.url, "/admin/v1/backup", { token, body: {} })).status).toBe(403);
    expect(existsSync(join(host.folder, "saved.db"))).toBe(false);
  });

  test("that breaks off, or is shorter than announced, or is no database, has no name", async () => {
    const folder = makeFolder();
    for (const { answer, says } of [
      {
        answer: "broken off",
        says: "The copy broke off before its end: no backup was made. Is the host still there?\n",
      },
      {
        answer: "no database",
        says: "What the host sent is no whole backup: the file is not a database.\n",
      },
    ]) {
      const server = createServer((_request, response) => {
        const isBroken = answer === "broken off";
        response.writeHead(200, { "content-length": isBroken ? 1000 : 200 });
        response.write("x".repeat(200), () => (isBroken ? response.destroy() : response.end()));
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as { port: number };
      const env = { TURNPIKE_ADMIN_TOKEN: "tp_0" };
      const printed = await commandWith(folder, words`backup saved.db --url http://127.0.0.1:${String(port)}`, env);
      server.close();
      expect(printed).toEqual({ code: 1, stdout: "", stderr: says });
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  test("whose host is killed while it is made leaves no file, and the host starts again", async () => {
    const host = await startLargeHost();
    for (const [round, isReady] of [
      () => readdirSync(join(host.folder, ".turnpike")).some((name) => name.includes("-copy-")),
      () => readdirSync(host.folder).some((name) => name.endsWith(".part")),
    ].entries()) {
      const current = round === 0 ? host : await startHostProcess({ folder: host.folder });
      const backup = startBackup(current, "saved.db");
      // One that was made before anyone saw it is whole.
      await eventually(() => expect(isReady() || backup.child.exitCode !== null).toBe(true));
      await current.stop("SIGKILL");
      await backup.ended;
      await expectNothingHalf(host.folder);
      expect(readdirSync(host.folder).filter((name) => name.endsWith(".part"))).toEqual([]);
    }
    const again = await startHostProcess({ folder: host.folder });
    expect(readdirSync(join(host.folder, ".turnpike")).filter((name) => name.includes("-copy-"))).toEqual([]);
    expect((await command(again, words`backup last.db`)).code).toBe(0);
    expect((await grantsIn(join(host.folder, "last.db"), "large")).size).toBe(300);
  });

  test("whose command is killed or interrupted leaves no file of its name, and the host continues", async () => {
    const host = await startLargeHost();
    for (const signal of ["SIGKILL", "SIGINT"] as const) {
      const { child, ended } = startBackup(host, `${signal}.db`);
      await eventually(() => expect(readdirSync(host.folder).some((name) => name.startsWith(signal))).toBe(true));
      child.kill(signal);
      await ended;
      await expectNothingHalf(host.folder);
    }
    expect(readdirSync(host.folder).filter((name) => name.startsWith("SIGINT.db."))).toEqual([]);
    await eventually(async () => expect((await command(host, words`backup later.db`)).code).toBe(0));
  });
});
