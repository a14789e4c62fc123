import { describe, expect, test } from "vitest";
import { namespaceSettingsSuite } from "turnpike/testing";
import { databaseKinds, openFresh, openPair } from "../../../../tests/support/databases.ts";
import { alice, assistant, context, neverAborted } from "../../../../tests/support/host/world.ts";
import { recordStatements } from "../../../../tests/support/host/watched-database.ts";
import { openStores } from "./stores.ts";

describe.each(databaseKinds)("namespace settings on %s", (kind) => {
  for (const one of namespaceSettingsSuite(async () => openStores(await openFresh(kind)).settings)) {
    test(one.name, () => expect(one.run()).resolves.toBeUndefined());
  }

  test("nothing is on for an actor that nobody switched anything on for", async () => {
    const { settings } = openStores(await openFresh(kind));
    expect(await settings.enabled("tenant-1", assistant)).toEqual([]);
  });

  test("what a patch changes is in force for the next look, and for nobody else", async () => {
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

  test("a second look does not read the settings again", async () => {
    const { database, statements } = recordStatements(await openFresh(kind));
    const { settings } = openStores(database);
    await settings.enabled("tenant-1", assistant);
    statements.length = 0;
    await settings.enabled("tenant-1", assistant);
    expect(statements.filter((statement) => statement.includes("namespace_settings"))).toEqual([]);
  });
});

describe("namespace settings on a PostgreSQL that two hosts share", () => {
  test("a change through one is seen by the next look on the other", async () => {
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
    const patches = names.map((name, place) =>
      hosts[place % 2]?.applyUpdate(context(), { enable: [name] }, neverAborted),
    );
    await Promise.all(patches);
    for (const settings of hosts) expect(await settings.enabled("tenant-1", assistant)).toEqual(names);
  });
});
