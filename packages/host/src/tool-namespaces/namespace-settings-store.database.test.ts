import { describe, expect, test } from "vitest";
import { namespaceSettingsSuite } from "turnpike/testing";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase, tenAtOnce } from "../../test/databases.ts";
import { alice, assistant, context, neverAborted } from "../../test/records.ts";
import { recordStatements } from "../../test/watched-database.ts";
import { openStores } from "../compose/stores.ts";

describe.each(databaseKinds)("namespace settings on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const one of namespaceSettingsSuite(async () => openStores(await openFresh(kind)).settings)) {
    test(one.name, () => expect(one.run()).resolves.toBeUndefined());
  }

  test("nothing is on for an actor that has no settings", async () => {
    const { settings } = openStores(await openFresh(kind));
    expect(await settings.enabled("tenant-1", assistant)).toEqual([]);
  });

  test("what a patch changes is in force for the next read, and for no one else", async () => {
    const { settings } = openStores(await openFresh(kind));
    expect(await settings.enabled("tenant-1", assistant)).toEqual([]);
    await settings.applyUpdate(context(), { enable: ["mail", "files"] }, neverAborted);
    expect(await settings.enabled("tenant-1", assistant)).toEqual(["files", "mail"]);
    await settings.applyUpdate(context(), { disable: ["mail"] }, neverAborted);
    expect(await settings.enabled("tenant-1", assistant)).toEqual(["files"]);
    expect(await settings.enabled("tenant-2", assistant)).toEqual([]);
    expect(await settings.enabled("tenant-1", alice)).toEqual([]);
  });

  test("a name that is switched on and off in one patch is off", async () => {
    const { settings } = openStores(await openFresh(kind));
    const applied = await settings.applyUpdate(context(), { enable: ["files"], disable: ["files"] }, neverAborted);
    expect(applied).toEqual([]);
  });

  describe("a change that expects a selection", () => {
    const rows: { name: string; before: string[]; expected?: string[]; changed: string[] | undefined }[] = [
      { name: "none, where there is none", before: [], expected: [], changed: ["mail"] },
      { name: "the one that is there", before: ["b", "a"], expected: ["a", "b"], changed: ["a", "b", "mail"] },
      { name: "nothing of it", before: ["a"], changed: ["a", "mail"] },
      { name: "one, where there is none", before: [], expected: ["a"], changed: undefined },
      { name: "none, where there is one", before: ["a"], expected: [], changed: undefined },
      { name: "a part of it", before: ["a", "b"], expected: ["a"], changed: undefined },
      { name: "the same names otherwise cut", before: ["a,b"], expected: ["a", "b"], changed: undefined },
    ];
    for (const { name, before, expected, changed } of rows) {
      test(`${name}: ${changed === undefined ? "nothing changes" : "is made"}`, async () => {
        const { settings } = openStores(await open());
        const of = { namespaceId: newTenant(), actor: assistant };
        await settings.change(of, { enable: before });
        const made = await settings.change(of, { enable: ["mail"] }, expected);
        expect(made).toEqual(changed);
        expect(await settings.enabled(of.namespaceId, assistant)).toEqual(changed ?? before.toSorted());
      });
    }

    test("that would switch too many on is refused and changes nothing", async () => {
      const { settings } = openStores(await open());
      const of = { namespaceId: newTenant(), actor: assistant };
      const many = Array.from({ length: 257 }, (_, place) => `namespace-${place}`);
      await expect(settings.change(of, { enable: many }, [])).rejects.toMatchObject({ code: "invalid_request" });
      expect(await settings.enabled(of.namespaceId, assistant)).toEqual([]);
    });

    test("is one of an actor of a tenant", async () => {
      const { settings } = openStores(await open());
      const of = { namespaceId: newTenant(), actor: assistant };
      await settings.change(of, { enable: ["files"] });
      expect(await settings.change({ ...of, actor: alice }, { enable: ["mail"] }, [])).toEqual(["mail"]);
      expect(await settings.change({ ...of, namespaceId: newTenant() }, { enable: ["mail"] }, [])).toEqual(["mail"]);
      expect(await settings.enabled(of.namespaceId, assistant)).toEqual(["files"]);
    });
  });

  test("a second read does not query the settings again", async () => {
    const { database, statements } = recordStatements(await openFresh(kind));
    const { settings } = openStores(database);
    await settings.enabled("tenant-1", assistant);
    statements.length = 0;
    await settings.enabled("tenant-1", assistant);
    expect(statements.filter((statement) => statement.includes("namespace_settings"))).toEqual([]);
  });
});

describe("namespace settings on a PostgreSQL that two hosts share", () => {
  test("a change through one is seen by the next read on the other", async () => {
    const [here, there] = (await openPair()).map((database) => openStores(database).settings);
    expect(await there?.enabled("tenant-1", assistant)).toEqual([]);
    await here?.applyUpdate(context(), { enable: ["files"] }, neverAborted);
    expect(await there?.enabled("tenant-1", assistant)).toEqual(["files"]);
    await here?.applyUpdate(context(), { disable: ["files"] }, neverAborted);
    expect(await there?.enabled("tenant-1", assistant)).toEqual([]);
  });

  test("patches through both at once lose nothing", async () => {
    const hosts = (await openPair()).map((database) => openStores(database).settings);
    const names = Array.from({ length: 40 }, (_, place) => `namespace-${String(place).padStart(2, "0")}`);
    await Promise.all(
      hosts.map((settings, host) =>
        tenAtOnce(20, (place) =>
          settings.applyUpdate(context(), { enable: [names[2 * place + host] ?? ""] }, neverAborted),
        ),
      ),
    );
    for (const settings of hosts) expect(await settings.enabled("tenant-1", assistant)).toEqual(names);
  });

  test("of two changes that expect the same selection one is made", async () => {
    const hosts = (await openPair()).map((database) => openStores(database).settings);
    const of = { namespaceId: "tenant-1", actor: assistant };
    let selection: readonly string[] = [];
    for (let round = 0; round < 10; round += 1) {
      const made = await Promise.all(
        hosts.map((settings, place) => settings.change(of, { enable: [`${round}-${place}`] }, selection)),
      );
      const [won, ...more] = made.filter((one) => one !== undefined);
      expect([won?.length, more]).toEqual([round + 1, []]);
      selection = won ?? [];
    }
  });
});
