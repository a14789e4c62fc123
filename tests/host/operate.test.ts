import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../packages/host/src/storage/open-database.ts";
import type { Database } from "../../packages/host/src/storage/database.ts";
import { anyDatabase, databaseKinds } from "../../packages/host/test/databases.ts";
import { placeFor, serveArgs } from "../support/effect-host.ts";
import { makeFolder, startHostProcess, type HostProcess } from "../support/host-process.ts";
import { makeGrant } from "../support/host-world.ts";
import { command, commandJson, paste, refused, said, steady, words, type Printed } from "../support/terminal.ts";

/** An installation that can be stopped, and started again on its data. */
async function install(kind: Database["kind"]) {
  const folder = makeFolder();
  const place = await placeFor(kind);
  const start = (): Promise<HostProcess> => startHostProcess({ folder, args: serveArgs(place) });
  return { folder, start, location: place.database ?? `${folder}/.turnpike/turnpike.db` };
}

describe.each(anyDatabase)("an operator's walk on %s", (kind) => {
  test("from an empty installation to an allowed act, back, and to an audit log that was changed by hand", async () => {
    const { folder, start, location } = await install(kind);
    let host = await start();
    const type = (line: string, env?: Readonly<Record<string, string>>): Promise<Printed> =>
      paste(folder, `${line} --url ${host.url}`, env);

    // No one may do anything yet: the screen says so, and how to admit one.
    expect(host.stdout()).toContain("No one may do anything yet.");
    const [create = ""] = host.stdout().match(/turnpike credential create .*/) ?? [];
    expect(create).toContain("--tenant acme --actor agent:assistant --owner human:alice --purpose support");
    const made = await paste(folder, `${create} billing --json`);
    const { token } = JSON.parse(made.stdout) as { token: string };
    const env = { TURNPIKE_TOKEN: token };

    const act = "turnpike files create notes/todo.md --content 'water the plants'";
    const denied = await type(act, env);
    expect(steady(denied)).toEqual(
      refused(
        "Denied (no_matching_grant): No grant covers the act.",
        "An operator can say what is missing: turnpike why --tenant <tenant> --trace 00000000-0000-4000-8000-000000000000",
      ),
    );

    // Asking why, as the refusal said.
    const [why = ""] = denied.stderr.match(/turnpike why .*/) ?? [];
    const explained = await type(why.replace("<tenant>", "acme"));
    expect(explained).toMatchObject({ code: 0, stderr: "" });
    expect(explained.stdout).toMatch(
      /^DENIED \(no_matching_grant\): agent:assistant, create files\/notes\/todo\.md of human:alice, on grants of human:alice, for support\n/,
    );
    const suggested = explained.stdout.trimEnd().split("\n").at(-1) ?? "";
    expect(suggested).toBe(
      `  turnpike grant create --url ${host.url} --tenant acme --to agent:assistant --from human:alice ` +
        "--owner human:alice --resource files/notes/todo.md --exact --action create --purpose support",
    );

    // Pasted exactly as it was printed.
    const issued = await paste(folder, suggested);
    expect(steady(issued)).toEqual(said("Issued grant-000000000000."));
    expect(await type(act, env)).toMatchObject({ code: 0, stderr: "" });

    // Exactly this was allowed, and nothing more.
    const bobs = await commandJson(
      host,
      words`credential create --tenant acme --actor agent:assistant --owner human:bob --authority human:alice --purpose support`,
    );
    const helpers = await commandJson(
      host,
      words`credential create --tenant acme --actor agent:helper --owner human:alice --purpose support`,
    );
    const others = await commandJson(
      host,
      words`credential create --tenant other --actor agent:assistant --owner human:alice --purpose support`,
    );
    const tokenOf = (answer: unknown): string => (answer as { token: string }).token;
    for (const { name, args, as = token } of [
      { name: "reading it", args: words`files read notes/todo.md` },
      { name: "reading it", args: words`files stat notes/todo.md` },
      { name: "replacing it", args: words`files replace notes/todo.md --content x` },
      { name: "appending to it", args: words`files append notes/todo.md --content x` },
      { name: "deleting it", args: words`files delete notes/todo.md` },
      { name: "listing its folder", args: words`files list notes` },
      { name: "a snapshot of it", args: words`files snapshot create notes/todo.md` },
      { name: "a sibling", args: words`files create notes/other.md --content x` },
      { name: "a sibling that shares its beginning", args: words`files create notes/todo.md2 --content x` },
      { name: "what is below it", args: words`files create notes/todo.md/below --content x` },
      { name: "what is above it", args: words`files create notes --content x` },
      { name: "the same name elsewhere", args: words`files create todo.md --content x` },
      { name: "another purpose", args: words`files create notes/todo.md --content x --purpose billing` },
      { name: "another caller's file", args: words`files create notes/todo.md --content x`, as: tokenOf(bobs) },
      { name: "another agent", args: words`files create notes/todo.md --content x`, as: tokenOf(helpers) },
      { name: "another tenant", args: words`files create notes/todo.md --content x`, as: tokenOf(others) },
    ]) {
      const { code, stderr } = await command(host, args, as);
      expect([name, code, stderr.split(":")[0]]).toEqual([name, 1, "Denied (no_matching_grant)"]);
    }

    // Taken back: the next call is denied.
    const [grantId = ""] = /grant-[0-9a-f]{12}/.exec(issued.stdout) ?? [];
    expect(await type(`turnpike grant revoke ${grantId} --tenant acme`)).toEqual(said(`Revoked ${grantId}.`));
    expect((await type(act, env)).stderr).toMatch(/^Denied \(no_matching_grant\): /);
    const [, trace = ""] = / --trace (\S+)/.exec(why) ?? [];
    expect(steady(await command(host, words`why --tenant acme --trace ${trace}`)).stdout).toContain(
      "\nGRANT               FROM         FAILED   BECAUSE\n" +
        "grant-000000000000  human:alice  revoked  It was revoked at 2026-01-01T00:00:00.000Z.\n",
    );
    expect((await type("turnpike audit verify --tenant acme")).stdout).toMatch(/^The audit log of acme is whole: /);

    // A row is changed by hand.
    const { events } = (await commandJson(host, words`audit list --tenant acme --outcome denied --limit 500`)) as {
      events: { sequence: number }[];
    };
    const row = events.at(-1)?.sequence ?? 0;
    await host.stop();
    await byHand(location, async ({ db }) => {
      const found = await db
        .selectFrom("audit")
        .select("content")
        .where((its) => its.and({ namespace_id: "acme", sequence: row }))
        .executeTakeFirstOrThrow();
      const content = found.content.replace('"outcome":"denied"', '"outcome":"allowed"');
      expect(content).not.toBe(found.content);
      await db
        .updateTable("audit")
        .set({ content })
        .where((its) => its.and({ namespace_id: "acme", sequence: row }))
        .execute();
    });
    host = await start();
    // There are grants by now: the screen says how to see them.
    expect(host.stdout()).not.toContain("No one may do anything yet");
    const [list = ""] = host.stdout().match(/turnpike grant list .*/) ?? [];
    expect(await paste(folder, list.replace(" --state live", ""))).toMatchObject({ code: 0, stderr: "" });
    expect(await type("turnpike audit verify --tenant acme")).toEqual(
      refused(`The audit log of acme is broken: row ${row} was changed or removed.`),
    );
    const { code, stdout } = await command(host, words`audit verify --tenant acme --json`);
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { isWhole: false, rows: row - 1, broken: { sequence: row } }]);
    expect((await command(host, words`audit verify --tenant operators`)).stdout).toMatch(
      /^The audit log of operators is whole: /,
    );
  });
});

/** Works on a database as an attacker would who has its file or its password. */
async function byHand(location: string, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase(location);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

type Rows = Database["db"];

/** Removes rows and gives the audit log the head that it then has to have. */
async function cutTail(db: Rows, tenant: string, from: number): Promise<void> {
  await db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", ">=", from).execute();
  const left = db.selectFrom("audit").select(["sequence", "hash"]).where("namespace_id", "=", tenant);
  const head = await left.orderBy("sequence", "desc").limit(1).executeTakeFirst();
  if (head === undefined) await db.deleteFrom("audit_heads").where("namespace_id", "=", tenant).execute();
  else await db.updateTable("audit_heads").set(head).where("namespace_id", "=", tenant).execute();
}

/** What an attacker may do to the ten rows of a tenant, and the row that is then named. */
const tampering: Readonly<
  Record<string, { broken: number; takesHead?: boolean; work(db: Rows, tenant: string): Promise<unknown> }>
> = {
  "the last three rows removed together with the head": {
    takesHead: true,
    broken: 8,
    work: (db, tenant) => cutTail(db, tenant, 8),
  },
  "every row and the head removed": {
    takesHead: true,
    broken: 1,
    work: (db, tenant) => cutTail(db, tenant, 1),
  },
  "a removed row": {
    broken: 4,
    work: (db, tenant) =>
      db
        .deleteFrom("audit")
        .where((row) => row.and({ namespace_id: tenant, sequence: 4 }))
        .execute(),
  },
  "the first row removed": {
    broken: 1,
    work: (db, tenant) =>
      db
        .deleteFrom("audit")
        .where((row) => row.and({ namespace_id: tenant, sequence: 1 }))
        .execute(),
  },
  "the last row removed": {
    broken: 10,
    work: (db, tenant) =>
      db
        .deleteFrom("audit")
        .where((row) => row.and({ namespace_id: tenant, sequence: 10 }))
        .execute(),
  },
  "the last three rows removed": {
    broken: 8,
    work: (db, tenant) => db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", ">", 7).execute(),
  },
  "every row removed": {
    broken: 1,
    work: (db, tenant) => db.deleteFrom("audit").where("namespace_id", "=", tenant).execute(),
  },
  "a column that lists are filtered by": {
    broken: 5,
    work: (db, tenant) =>
      db
        .updateTable("audit")
        .set({ outcome: "denied" })
        .where((row) => row.and({ namespace_id: tenant, sequence: 5 }))
        .execute(),
  },
  "a time": {
    broken: 6,
    work: (db, tenant) =>
      db
        .updateTable("audit")
        .set({ at: "2020-01-01T00:00:00.000Z" })
        .where((row) => row.and({ namespace_id: tenant, sequence: 6 }))
        .execute(),
  },
  "a hash": {
    broken: 7,
    work: (db, tenant) =>
      db
        .updateTable("audit")
        .set({ hash: "0".repeat(64) })
        .where((row) => row.and({ namespace_id: tenant, sequence: 7 }))
        .execute(),
  },
  "a content that is no event": {
    broken: 3,
    work: (db, tenant) =>
      db
        .updateTable("audit")
        .set({ content: "{}" })
        .where((row) => row.and({ namespace_id: tenant, sequence: 3 }))
        .execute(),
  },
  "a row that went to another tenant": {
    broken: 9,
    work: (db, tenant) =>
      db
        .updateTable("audit")
        .set({ namespace_id: `${tenant} elsewhere` })
        .where((row) => row.and({ namespace_id: tenant, sequence: 9 }))
        .execute(),
  },
  "a row that was never recorded": {
    broken: 11,
    async work(db, tenant) {
      const last = await db
        .selectFrom("audit")
        .selectAll()
        .where((row) => row.and({ namespace_id: tenant, sequence: 10 }))
        .executeTakeFirstOrThrow();
      await db
        .insertInto("audit")
        .values({ ...last, id: `${last.id} again`, sequence: 11 })
        .execute();
    },
  },
};

describe.each(databaseKinds)("audit verify on %s", (kind) => {
  // A host does not start on a file whose heads went back.
  const cases = Object.entries(tampering).filter(([, { takesHead }]) => kind === "postgres" || takesHead !== true);
  let host: HostProcess;
  beforeAll(async () => {
    const { start, location } = await install(kind);
    host = await start();
    for (const name of [...cases.map(([tenant]) => tenant), "nothing"]) {
      // Each grant is two rows: that it is about to be issued, and that it was.
      for (const id of ["1", "2", "3", "4", "5"]) {
        await makeGrant(host, { id, tenant: name, resource: "files", actions: ["read"] });
      }
    }
    // An SQLite file belongs to one process; PostgreSQL is changed under a host that runs.
    if (kind === "sqlite") await host.stop();
    await byHand(location, async ({ db }) => {
      for (const [tenant, { work }] of cases) await work(db, tenant);
    });
    if (kind === "sqlite") host = await start();
  });

  for (const [name, { broken }] of cases) {
    test(`names ${name}`, async () => {
      const { code, stdout, stderr } = await command(host, words`audit verify --tenant ${name}`);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(
        new RegExp(`^The audit log of ${name} is broken: row ${broken} was (changed or )?removed`),
      );
    });
  }

  test("finds an untouched audit log whole", async () => {
    expect((await command(host, words`audit verify --tenant nothing`)).stdout).toMatch(
      /^The audit log of nothing is whole: 10 rows\.\n/,
    );
  });
});

describe.each(databaseKinds)("audit checkpoints on %s", (kind) => {
  const grants = async (host: HostProcess, ...ids: string[]): Promise<void> => {
    for (const id of ids) await makeGrant(host, { id, tenant: "acme", resource: "files", actions: ["read"] });
  };

  test("that are stored elsewhere find what an attacker did who had the database, the checkpoints and the key", async () => {
    const { folder, start, location } = await install(kind);
    let host = await start();
    const elsewhere = makeFolder();
    const [copy, key] = [`${elsewhere}/copy.jsonl`, `${elsewhere}/key.pem`];
    const { stdout: publicKey } = await command(host, words`audit key`);
    writeFileSync(key, publicKey);
    await grants(host, "1", "2");
    const copied = await command(host, words`audit checkpoint --out ${copy}`);
    expect(copied).toMatchObject({ code: 0, stderr: "" });
    expect(copied.stdout).toMatch(/^Added \d+ to \S+, up to checkpoint \d+, signed by the key [0-9a-f]{32}\.\n$/);
    await grants(host, "3");
    expect(await commandJson(host, words`audit checkpoint --out ${copy} --key ${key}`)).toMatchObject({ added: 1 });
    const verify = words`audit verify --tenant acme --checkpoint ${copy}`;
    expect((await command(host, [...verify, ...words`--key ${key}`])).stdout).toMatch(
      /^The audit log of acme is whole: 6 rows\.\n[^]*\nHeld against \d+ signed heads of \S+, signed by the key [0-9a-f]{32}\.\n$/,
    );
    expect((await command(host, verify)).code).toBe(0);

    await host.stop();
    await byHand(location, ({ db }) => cutTail(db, "acme", 5));
    for (const file of readdirSync(`${folder}/.turnpike`)) {
      if (/checkpoints|audit-key/.test(file)) rmSync(`${folder}/.turnpike/${file}`);
    }
    host = await start();
    // The host has nothing left to hold its audit log against.
    expect((await command(host, words`audit verify --tenant acme`)).code).toBe(0);
    const found = await command(host, [...verify, ...words`--key ${key}`]);
    expect([found.code, found.stdout]).toEqual([1, ""]);
    expect(found.stderr).toMatch(
      /^The audit log of acme is broken: row 5 was removed: checkpoint \d+ of \S+ signed row 6\.\n$/,
    );
    // Nor is the host's new key trusted with what the old one signed, or its checkpoints to continue from there.
    expect((await command(host, verify)).stderr).toMatch(
      /is signed by the key [0-9a-f]{32}, and the key that is trusted/,
    );
    const text = readFileSync(copy, "utf8");
    for (const flags of [[], words`--key ${key}`]) {
      expect((await command(host, [...words`audit checkpoint --out ${copy}`, ...flags])).code).toBe(1);
      expect(readFileSync(copy, "utf8")).toBe(text);
    }
  });

  test("are no alarm for a host that was killed at any time, and a copy that was torn continues", async () => {
    const { start } = await install(kind);
    let host = await start();
    const copy = `${makeFolder()}/copy.jsonl`;
    const copyCheckpoints = async (): Promise<void> =>
      expect(await command(host, words`audit checkpoint --out ${copy}`)).toMatchObject({ code: 0 });
    // A line that stays, whichever of them is torn later.
    await grants(host, "0");
    await copyCheckpoints();
    for (const id of ["1", "2", "3"]) {
      await grants(host, id);
      await copyCheckpoints();
      truncateSync(copy, statSync(copy).size - 9);
      await grants(host, `${id} unsigned`);
      await host.stop("SIGKILL");
      host = await start();
      expect(await command(host, words`audit verify --tenant acme --checkpoint ${copy}`)).toMatchObject({ code: 0 });
    }
    expect(host.stderr()).not.toContain("behind its checkpoints");
    expect(await commandJson(host, words`audit verify --tenant acme`)).toMatchObject({ isWhole: true, rows: 14 });
  });

  test("show at the start that a database was restored from an older one", async () => {
    const { start, location } = await install(kind);
    const host = await start();
    await grants(host, "1", "2");
    await host.stop();
    await byHand(location, ({ db }) => cutTail(db, "acme", 3));
    // A file is refused. A server is not, because other hosts may run on it.
    const found = await start().then(
      async (again) => (await command(again, words`audit verify --tenant acme`)).stderr,
      (error: unknown) => String(error),
    );
    const older = /is older than its signed checkpoints in \S+: at least 2 rows of 1 audit log are missing\./;
    const broken = /^The audit log of acme is broken: row 3 was removed: checkpoint \d+ of \S+ signed row 4\.\n$/;
    expect(found).toMatch(kind === "sqlite" ? older : broken);
  });
});
