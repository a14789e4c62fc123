import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../../../tests/support/databases.ts";
import { alice, assistant } from "../../../../tests/support/host/world.ts";
import { createFileStore } from "./file-store.ts";

describe.each(databaseKinds)("files on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a file is read as it was written, one version later each time", async () => {
    const files = createFileStore(await open());
    const mine = { namespaceId: newTenant(), owner: alice };
    expect(await files.read(mine, ["notes", "a.md"])).toBeUndefined();
    await files.write(mine, ["notes", "a.md"], "ä\r\n\t");
    expect(await files.read(mine, ["notes", "a.md"])).toEqual({ content: "ä\r\n\t", version: 1 });
    await files.write(mine, ["notes", "a.md"], "");
    expect(await files.read(mine, ["notes", "a.md"])).toEqual({ content: "", version: 2 });
  });

  test("owners and tenants never see each other's files", async () => {
    const files = createFileStore(await open());
    const [tenant, elsewhere] = [newTenant(), newTenant()];
    await files.write({ namespaceId: tenant, owner: alice }, ["a.md"], "alice's");
    for (const other of [
      { namespaceId: tenant, owner: assistant },
      { namespaceId: tenant, owner: { kind: "service", serviceId: "alice" } as const },
      { namespaceId: elsewhere, owner: alice },
    ]) {
      expect(await files.read(other, ["a.md"])).toBeUndefined();
      expect(await files.list(other, [])).toEqual([]);
    }
  });

  for (const row of [
    { name: "everything", folder: [], listed: ["B.md", "a/b", "a/b/c", "a_b", "ab", "ä"] },
    { name: "a folder, and no sibling that shares a prefix", folder: ["a"], listed: ["a/b", "a/b/c"] },
    { name: "a file and what is below it", folder: ["a", "b"], listed: ["a/b", "a/b/c"] },
    { name: "nothing where nothing is", folder: ["%"], listed: [] },
  ]) {
    test(`a list shows ${row.name}, in the same order on every database`, async () => {
      const files = createFileStore(await open());
      const mine = { namespaceId: newTenant(), owner: alice };
      for (const path of ["ä", "ab", "a_b", "a/b/c", "B.md", "a/b"]) await files.write(mine, path.split("/"), "x");
      expect(await files.list(mine, row.folder)).toEqual(row.listed);
    });
  }

  test("fifty writes at once are fifty versions", async () => {
    const files = createFileStore(await open());
    const mine = { namespaceId: newTenant(), owner: alice };
    await Promise.all(Array.from({ length: 50 }, (_, place) => files.write(mine, ["a"], String(place))));
    expect((await files.read(mine, ["a"]))?.version).toBe(50);
  });

  test("a content with a NUL is kept whole, or refused", async () => {
    const files = createFileStore(await open());
    const mine = { namespaceId: newTenant(), owner: alice };
    const isKept = await files.write(mine, ["a"], "before\u0000after").then(
      () => true,
      () => false,
    );
    expect((await files.read(mine, ["a"]))?.content).toBe(isKept ? "before\u0000after" : undefined);
  });
});
