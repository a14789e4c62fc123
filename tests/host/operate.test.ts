import { beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../packages/host/src/database/open-database.ts";
import type { Database } from "../../packages/host/src/database/database.ts";
import { databaseKinds } from "../support/databases.ts";
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

describe.each(databaseKinds)("an operator's walk on %s", { timeout: 60_000 }, (kind) => {
  test("from an empty installation to an allowed act, back, and to a trail that somebody changed", async () => {
    const { folder, start, location } = await install(kind);
    let host = await start();
    const type = (line: string, env?: Readonly<Record<string, string>>): Promise<Printed> =>
      paste(folder, `${line} --url ${host.url}`, env);

    // Nobody may do anything yet: the screen says how to let somebody in.
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
      { name: "looking at it", args: words`files stat notes/todo.md` },
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
      { name: "somebody else's file", args: words`files create notes/todo.md --content x`, as: tokenOf(bobs) },
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
        "grant-000000000000  human:alice  revoked  it was revoked 2026-01-01T00:00:00.000Z\n",
    );
    expect(await type("turnpike audit verify --tenant acme")).toEqual(said("The audit trail of acme is whole."));

    // Somebody changes a row by hand.
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
    expect(await type("turnpike audit verify --tenant acme")).toEqual(
      refused(`The audit trail of acme is broken: row ${row} was changed or removed.`),
    );
    const { code, stdout } = await command(host, words`audit verify --tenant acme --json`);
    expect([code, JSON.parse(stdout)]).toEqual([1, { isWhole: false, firstBroken: row }]);
    expect(await command(host, words`audit verify --tenant other`)).toEqual(said("The audit trail of other is whole."));
  });
});

/** Works on a database as somebody would who has its file or its password. */
async function byHand(location: string, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase(location);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

type Rows = Database["db"];

/** What somebody may do to the ten rows of a tenant, and the row that is then named. */
const tampering: Readonly<Record<string, { broken: number; work(db: Rows, tenant: string): Promise<unknown> }>> = {
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
  "a row that nobody recorded": {
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

describe.each(databaseKinds)("audit verify on %s", { timeout: 30_000 }, (kind) => {
  let host: HostProcess;
  beforeAll(async () => {
    const { start, location } = await install(kind);
    host = await start();
    for (const name of [...Object.keys(tampering), "nothing"]) {
      // Each grant is two rows: that it is about to be issued, and that it was.
      for (const id of ["1", "2", "3", "4", "5"]) {
        await makeGrant(host, { id, tenant: name, resource: "files", actions: ["read"] });
      }
    }
    // An SQLite file belongs to one process; PostgreSQL is changed under a host that runs.
    if (kind === "sqlite") await host.stop();
    await byHand(location, async ({ db }) => {
      for (const [tenant, { work }] of Object.entries(tampering)) await work(db, tenant);
    });
    if (kind === "sqlite") host = await start();
  }, 30_000);

  for (const [name, { broken }] of Object.entries(tampering)) {
    test(`names ${name}`, async () => {
      expect(await command(host, words`audit verify --tenant ${name}`)).toEqual(
        refused(`The audit trail of ${name} is broken: row ${broken} was changed or removed.`),
      );
    });
  }

  test("finds a trail whole that nobody touched", async () => {
    expect(await command(host, words`audit verify --tenant nothing`)).toEqual(
      said("The audit trail of nothing is whole."),
    );
  });
});
