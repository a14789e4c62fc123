import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { expectedRow } from "../../packages/host/src/ledger/chain.ts";
import { openDatabase } from "../../packages/host/src/storage/open-database.ts";
import { checkBackup } from "../../packages/host/src/storage/check-backup.ts";
import { ask, eventually } from "../../packages/host/test/host-calls.ts";
import { startEffectHost, makeEffectTenant, effectsIn, openGate } from "../support/effect-host.ts";
import { makeFolder, startHostProcess, turnpike, type HostProcess } from "../support/host-process.ts";
import { makeCredential, makeGrant, turn } from "../support/host-world.ts";
import { command, commandJson, commandWith, words, type Printed } from "../support/terminal.ts";

const database = ".turnpike/turnpike.db";

let folder: string;
beforeEach(() => {
  folder = makeFolder();
});

const start = (): Promise<HostProcess> => startHostProcess({ folder });
const restore = (...more: string[]): Promise<Printed> =>
  commandWith(folder, [...words`restore saved.db --database ${database}`, ...more]);

async function issue(host: HostProcess, ...ids: string[]): Promise<void> {
  for (const id of ids) await makeGrant(host, { id, resource: "files", actions: ["read"] });
}

/** A host with a backup of two grants, and one grant that came later; it is stopped. Made once: each test has a copy of its folder. */
async function stoppedHost(): Promise<{ token: string; id: string }> {
  const { credential, folder: made } = await (stopped ??= makeStoppedHost());
  cpSync(made, folder, { recursive: true });
  return credential;
}

let stopped: ReturnType<typeof makeStoppedHost> | undefined;

async function makeStoppedHost() {
  const made = makeFolder();
  const host = await startHostProcess({ folder: made });
  await issue(host, "1", "2");
  const credential = await makeCredential(host);
  // So that the rows of the backup are signed, too.
  await command(host, words`audit checkpoint --out signed.jsonl`);
  expect((await command(host, words`backup saved.db`)).code).toBe(0);
  await issue(host, "3");
  await host.stop();
  return { credential, folder: made };
}

async function byHand(path: string, work: (db: Awaited<ReturnType<typeof openDatabase>>["db"]) => Promise<unknown>) {
  const opened = await openDatabase(path);
  await work(opened.db);
  await opened.close();
}

function files(): string[] {
  return readdirSync(join(folder, ".turnpike")).toSorted();
}

describe("a backup that is restored", () => {
  test("is the host of that instant; its audit log is whole, and says that it went back", async () => {
    const { token } = await stoppedHost();
    rmSync(join(folder, database));
    const { code, stdout, stderr } = await restore();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Restored saved\.db as \S+: \d+ rows of the audit log, which is whole\.\n/);
    expect(stdout).toMatch(/\nWhat happened after \d{4}-\S+Z is gone, of the audit log at least \d+ rows:\n/);
    expect(statSync(join(folder, database)).mode & 0o777).toBe(0o600);
    const host = await start();
    const { grants } = (await commandJson(host, words`grant list --tenant acme`)) as {
      grants: { grant: { id: string } }[];
    };
    expect(grants.map(({ grant }) => grant.id).toSorted()).toEqual(["1", "2"]);
    expect((await ask(host.url, "/v1/reach", { token })).status).toBe(200);
    // New rows take the numbers of those that are gone.
    await issue(host, "4", "5");
    for (const tenant of ["acme", "operators"]) {
      const verified = await command(host, words`audit verify --tenant ${tenant}`);
      expect([verified.code, verified.stderr]).toEqual([0, ""]);
      expect(verified.stdout).toMatch(
        /\nA backup was restored \S+Z, as checkpoint \d+ says: rows that came after the backup are gone\.\n/,
      );
    }
    const { events } = (await commandJson(host, words`audit list --tenant operators`)) as {
      events: { event: { action?: string; outcome: string } }[];
    };
    const said = events.filter(({ event }) => event.action === "backup.restore").map(({ event }) => event.outcome);
    expect(said).toEqual(["succeeded", "allowed"]);
    expect(host.stderr()).not.toContain("behind its checkpoints");
  });

  test("and an audit log that is cut afterwards is found, whatever was restored before", async () => {
    await stoppedHost();
    rmSync(join(folder, database));
    await restore();
    const host = await start();
    await issue(host, "4", "5");
    await host.stop();
    await byHand(join(folder, database), async (db) => {
      const { sequence } = await db
        .selectFrom("audit")
        .select("sequence")
        .where("namespace_id", "=", "acme")
        .orderBy("sequence", "desc")
        .limit(1)
        .executeTakeFirstOrThrow();
      await db.deleteFrom("audit").where("namespace_id", "=", "acme").where("sequence", "=", sequence).execute();
      const head = await db
        .selectFrom("audit")
        .select(["sequence", "hash"])
        .where("namespace_id", "=", "acme")
        .orderBy("sequence", "desc")
        .limit(1)
        .executeTakeFirstOrThrow();
      await db.updateTable("audit_heads").set(head).where("namespace_id", "=", "acme").execute();
    });
    await expect(start()).rejects.toThrow(/is older than its signed checkpoints in \S+: at least 1 row of 1 audit log/);
  });

  test("without a record of it is not served until its loss is accepted", async () => {
    await stoppedHost();
    copyFileSync(join(folder, "saved.db"), join(folder, database));
    await expect(start()).rejects.toThrow("is older than its signed checkpoints");
    const accepted = await commandWith(folder, words`database accept-loss --database ${database}`);
    expect([accepted.code, accepted.stderr]).toEqual([0, ""]);
    const [counted, ...says] = accepted.stdout.trimEnd().split("\n");
    expect(counted).toMatch(/^Accepted: at least \d+ rows of 2 audit logs are lost, as noticed \S+Z\.$/);
    expect(says).toEqual([
      "What happened in the time that is lost is not known any more:",
      "  ids of calls and turns: what is sent again under such an id happens again;",
      "  revocations of grants and credentials, rotated tokens, deleted tenants: do them again;",
      "  uses of bounded grants, answers to escalations, and messages that were read.",
      "Turns that had not ended end as interrupted, and approvals of single acts have lapsed.",
      "Tokens that were revoked in that time are valid again. With --revoke-credentials none would be.",
    ]);
    const { code, stdout } = await command(await start(), words`audit verify --tenant acme`);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/\nThe database lost rows \d+ to \d+ of strand 0: noticed \S+Z, .* and accepted \S+Z\.\n/),
    ]);
  });

  test("continues from checkpoints that were stored elsewhere when the host's own are lost", async () => {
    let host = await start();
    await issue(host, "1");
    const elsewhere = makeFolder();
    const [copy, key] = [join(elsewhere, "copy.jsonl"), join(elsewhere, "audit-key.pem")];
    copyFileSync(join(folder, ".turnpike/audit-key.pem"), key);
    await command(host, words`backup saved.db`);
    await issue(host, "2");
    await command(host, words`audit checkpoint --out ${copy}`);
    await host.stop();
    rmSync(join(folder, ".turnpike"), { recursive: true });
    // Without the key no one could continue them.
    const keyless = await restore("--checkpoint", copy);
    expect([keyless.code, keyless.stderr]).toEqual([
      2,
      expect.stringContaining("audit-key.pem is missing, with which"),
    ]);
    mkdirSync(join(folder, ".turnpike"));
    copyFileSync(key, join(folder, ".turnpike/audit-key.pem"));
    const restored = await restore("--checkpoint", copy);
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining("of the audit log at least 3 rows")]);
    host = await start();
    await issue(host, "3");
    // That of the restore, and one or two behind it: the host signs at its start, perhaps only after the grant was issued.
    const copied = (await commandJson(host, words`audit checkpoint --out ${copy}`)) as { added: number };
    expect([2, 3]).toContain(copied.added);
    const verified = await command(host, words`audit verify --tenant acme --checkpoint ${copy}`);
    expect([verified.code, verified.stderr]).toEqual([0, ""]);
  });

  test("cancels turns that had not ended, so that nothing that they did since is done again", async () => {
    let host = await startEffectHost(folder, { database });
    const token = await makeEffectTenant(host);
    const calls = [{ id: "first" }, { id: "second", until: "gate" }];
    const headers = { "x-trace-id": "t", prefer: "respond-async" };
    await ask(host.url, "/v1/turns", { token, headers, body: turn("turn-1", "t", { calls }) });
    await eventually(() => expect(effectsIn(folder)).toEqual(["first"]));
    await commandWith(folder, words`backup saved.db --url ${host.url}`);
    openGate(folder, "gate");
    await eventually(() => expect(effectsIn(folder)).toEqual(["first", "second"]));
    await host.stop();
    const { stdout } = await restore("--force");
    expect(stdout).toContain("1 turn that had not ended is cancelled: what it did since is not known.");
    host = await startEffectHost(folder, { database });
    await eventually(async () => {
      const { body } = await ask(host.url, "/v1/turns/turn-1", { token });
      expect(body).toMatchObject({ status: "cancelled" });
    });
    expect(effectsIn(folder)).toEqual(["first", "second"]);
  });

  test("can revoke every token of that instant, since some may have been revoked later", async () => {
    const { token } = await stoppedHost();
    const { stdout } = await restore("--force", "--revoke-credentials");
    expect(stdout).toMatch(/\nRevoked 2 credentials\. The next start makes an operator's token\.\n$/);
    const host = await start();
    expect((await ask(host.url, "/v1/reach", { token })).status).toBe(401);
    expect((await command(host, words`credential list --tenant acme`)).stdout).toContain("revoked");
  });
});

describe("a restore is refused", () => {
  test("over a database that is there; forced, that one is moved aside, and opens", async () => {
    await stoppedHost();
    const before = files();
    expect(await restore()).toEqual({
      code: 2,
      stdout: "",
      stderr: `${database} is there already. Name another place, or add --force, which keeps it aside under another name.\n`,
    });
    expect(files()).toEqual(before);
    const { code, stdout } = await restore("--force");
    expect(code).toBe(0);
    const [, aside = ""] = /^The database from before is (\S+)\.$/m.exec(stdout) ?? [];
    await byHand(join(folder, aside), async (db) => {
      const grants = await db.selectFrom("grants").select("id").orderBy("id").execute();
      expect(grants.map(({ id }) => id)).toEqual(["1", "2", "3"]);
    });
  });

  test("with what a killed host left in its log: that is moved aside too, and is none of the new one's", async () => {
    const host = await start();
    await issue(host, "1");
    await command(host, words`backup saved.db`);
    await issue(host, "2");
    await host.stop("SIGKILL");
    const { stdout } = await restore("--force");
    const [, aside = ""] = /^The database from before is (\S+)\.$/m.exec(stdout) ?? [];
    const ids = async (path: string): Promise<string[]> => {
      let found: string[] = [];
      await byHand(join(folder, path), async (db) => {
        found = (await db.selectFrom("grants").select("id").orderBy("id").execute()).map(({ id }) => id);
      });
      return found;
    };
    expect(await ids(aside)).toEqual(["1", "2"]);
    expect(await ids(database)).toEqual(["1"]);
  });

  test("while a host has the database, forced or not", async () => {
    await stoppedHost();
    const host = await start();
    const { code, stderr } = await restore("--force");
    expect([code, stderr]).toEqual([
      1,
      `The database ${database} is in use by another process, or cannot be written.\n`,
    ]);
    expect((await command(host, words`grant list --tenant acme`)).code).toBe(0);
    expect(files().filter((name) => name.includes("restore-"))).toEqual([]);
  });

  test("of a file that is cut off, no database, none of Turnpike's, or of a newer version; nothing is left", async () => {
    await stoppedHost();
    rmSync(join(folder, ".turnpike"), { recursive: true });
    const whole = readFileSync(join(folder, "saved.db"));
    const saved = join(folder, "saved.db");
    for (const { spoil, says } of [
      {
        spoil: () => truncateSync(saved, whole.length - 4096),
        says: /^saved\.db is no whole backup: it has \d+ bytes of \d+, so it was cut off\.\n$/,
      },
      {
        spoil: () => writeFileSync(saved, "not a database".repeat(100)),
        says: /^saved\.db is no whole backup: the file is not a database\.\n$/,
      },
      { spoil: () => rmSync(saved), says: /^saved\.db is no file\.\n$/ },
      {
        async spoil() {
          await byHand(saved, (db) => db.schema.dropTable("kysely_migration").execute());
        },
        says: /^saved\.db is an SQLite file, and none of Turnpike's\.\n$/,
      },
      {
        async spoil() {
          await byHand(saved, (db) => db.updateTable("schema_epoch").set({ epoch: 9999, lowest: 9998 }).execute());
        },
        says: /^This host may not use the database, because a newer version .* versions from epoch 9998 on may serve it/,
      },
      {
        async spoil() {
          await byHand(saved, (db) =>
            db
              .updateTable("audit")
              .set({ outcome: "denied" })
              .where("namespace_id", "=", "acme")
              .where("sequence", "=", 2)
              .execute(),
          );
        },
        says: /^The audit log of saved\.db is broken: of the tenant acme, row 2 was changed or removed\. Take another backup/,
      },
    ]) {
      writeFileSync(saved, whole);
      await spoil();
      const { code, stdout, stderr } = await restore();
      expect([code === 0, stdout, stderr]).toEqual([false, "", expect.stringMatching(says)]);
      expect(existsSync(join(folder, database))).toBe(false);
      expect(existsSync(join(folder, ".turnpike")) ? files().filter((name) => name.includes("restore-")) : []).toEqual(
        [],
      );
      rmSync(`${saved}-lock`, { force: true });
    }
    const taken = await restore("--accept-broken-trail");
    expect([taken.code, taken.stdout]).toEqual([
      0,
      expect.stringContaining("Its audit log is broken: of the tenant acme, row 2"),
    ]);
  });

  test("of a backup that was rewritten, which its checkpoints show", async () => {
    await stoppedHost();
    rmSync(join(folder, database));
    // The end of the audit log, and its head with it, is as it never was at any time.
    await byHand(join(folder, "saved.db"), async (db) => {
      const last = await db
        .selectFrom("audit")
        .selectAll()
        .where("namespace_id", "=", "acme")
        .orderBy("sequence", "desc")
        .limit(1)
        .executeTakeFirstOrThrow();
      const before = await db
        .selectFrom("audit")
        .selectAll()
        .where("namespace_id", "=", "acme")
        .where("sequence", "=", last.sequence - 1)
        .executeTakeFirstOrThrow();
      const forged = expectedRow(before, 0, last.content.replace("succeeded", "denied")) ?? last;
      expect(forged.hash).not.toBe(last.hash);
      await db
        .updateTable("audit")
        .set(forged)
        .where("namespace_id", "=", "acme")
        .where("sequence", "=", last.sequence)
        .execute();
      await db.updateTable("audit_heads").set({ hash: forged.hash }).where("namespace_id", "=", "acme").execute();
    });
    const { code, stderr } = await restore();
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/is broken: of the tenant acme, row \d+ or one before it was changed: checkpoint/),
    ]);
  });

  test("of a backup whose grants break its own rules, with what breaks them; not for a rule that only reports", async () => {
    await stoppedHost();
    rmSync(join(folder, database));
    const rule = { id: "no-files", never: { subject: "agent:*", resource: "files" } };
    const store = (reportOnly: boolean): Promise<void> =>
      byHand(join(folder, "saved.db"), async (db) => {
        const content = JSON.stringify({ ...rule, reportOnly });
        const row = { namespace_id: "", id: rule.id, content };
        await db
          .insertInto("invariants")
          .values(row)
          .onConflict((conflict) => conflict.columns(["namespace_id", "id"]).doUpdateSet({ content }))
          .execute();
      });
    await store(false);
    const { code, stderr } = await restore();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /break rules about them\. Nothing was restored\.\n {2}no-files: agent:assistant may read files /,
    );
    expect(existsSync(join(folder, database))).toBe(false);
    await store(true);
    expect((await restore()).code).toBe(0);
  });
});

test("a restore that is killed at any time leaves no database, or a whole one, and can be done again", async () => {
  await stoppedHost();
  const large = join(folder, "saved.db");
  await byHand(large, (db) =>
    db.transaction().execute(async (transaction) => {
      const row = { namespace_id: "large", subject: "agent:a", issuer: "human:alice", content: "x".repeat(100_000) };
      for (let place = 0; place < 100; place += 1)
        await transaction
          .insertInto("grants")
          .values({ ...row, id: `${place}` })
          .execute();
    }),
  );
  const old = readFileSync(join(folder, database));
  const args = [turnpike, "restore", "saved.db", "--database", database, "--force"];
  for (const seen of ["restore-", ".before-"]) {
    const child = spawn(process.execPath, args, { cwd: folder, stdio: "ignore" });
    const ended = once(child, "exit");
    await eventually(() => expect(files().some((name) => name.includes(seen)) || child.exitCode !== null).toBe(true));
    child.kill("SIGKILL");
    await ended;
    await checkBackup(join(folder, database), "full");
    // The old one, unless that was set aside: a restore may be over before it is killed.
    const isOld = readFileSync(join(folder, database)).equals(old);
    expect(isOld || files().some((name) => name.includes(".before-"))).toBe(true);
  }
  expect((await restore("--force")).code).toBe(0);
  const host = await start();
  expect((await command(host, words`audit verify --tenant acme`)).code).toBe(0);
});
