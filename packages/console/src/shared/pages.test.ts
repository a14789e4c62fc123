import { expect, test } from "vitest";
import { openPage, renderHook, settle } from "../../test/page.ts";

interface Asked {
  tenant: string;
  cursor: string | undefined;
  answer(items: string[], cursor?: string): Promise<void>;
  fail(): Promise<void>;
}

/** A list of a tenant's, whose pages the test gives. */
async function openList(first = "acme") {
  openPage();
  const { usePages } = await import("./pages.ts");
  const asked: Asked[] = [];
  const read = (tenant: string) => (cursor: string | undefined) =>
    new Promise<{ items: string[]; cursor?: string | undefined }>((resolve, reject) => {
      asked.push({
        tenant,
        cursor,
        async answer(items, next) {
          resolve({ items, cursor: next });
          await settle();
        },
        async fail() {
          reject(new Error("Away."));
          await settle();
        },
      });
    });
  return { asked, ...(await renderHook((tenant: string) => usePages(read(tenant), [tenant]), first)) };
}

test("pages follow each other, and a reload begins with the first", async () => {
  const { asked, now, outputs, show } = await openList();
  expect(now()).toMatchObject({ items: undefined, isLoading: true, hasMore: false });
  await asked[0]?.answer(["a"], "behind a");
  expect(now()).toMatchObject({ items: ["a"], isLoading: false, hasMore: true });
  now().more();
  await settle();
  expect(now()).toMatchObject({ items: ["a"], isLoading: true });
  await asked[1]?.answer(["b"]);
  expect(now()).toMatchObject({ items: ["a", "b"], hasMore: false });
  now().reload();
  await settle();
  await asked[2]?.answer(["c"], "behind c");
  expect(now()).toMatchObject({ items: ["c"], hasMore: true, isLoading: false });
  const before = outputs.length;
  await show("other");
  expect(outputs.slice(before).map(({ isLoading }) => isLoading)).not.toContain(false);
  expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, "behind a", undefined, undefined]);
});

test("nothing of one tenant's list is shown in another, not for one drawing, and a late page of it never", async () => {
  const { asked, outputs, now, show } = await openList();
  await asked[0]?.answer(["of acme"], "behind acme");
  now().more();
  await settle();
  const before = outputs.length;
  await show("other");
  expect(outputs.slice(before).map(({ items, hasMore, isLoading }) => ({ items, hasMore, isLoading }))).toEqual(
    outputs.slice(before).map(() => ({ items: undefined, hasMore: false, isLoading: true })),
  );
  await asked[1]?.answer(["late of acme"]);
  expect(now()).toMatchObject({ items: undefined, isLoading: true });
  expect(asked[2]).toMatchObject({ tenant: "other", cursor: undefined });
  await asked[2]?.answer(["of other"]);
  expect(now().items).toEqual(["of other"]);
});

test("a late problem of one tenant is not shown in another, and one that was shown is gone there", async () => {
  const { asked, now, outputs, show } = await openList();
  await asked[0]?.fail();
  expect(now()).toMatchObject({ problem: "Away.", isLoading: false });
  now().reload();
  await settle();
  const before = outputs.length;
  await show("other");
  await asked[1]?.fail();
  expect(outputs.slice(before).map(({ problem }) => problem)).toEqual(outputs.slice(before).map(() => undefined));
});

test("of two reads the later counts, and a page that could not be read leaves those before it", async () => {
  const { asked, now } = await openList();
  now().reload();
  await settle();
  await asked[1]?.answer(["new"], "behind new");
  await asked[0]?.answer(["old"]);
  expect(now().items).toEqual(["new"]);
  now().more();
  await settle();
  await asked[2]?.fail();
  expect(now()).toMatchObject({ items: ["new"], problem: "Away.", isLoading: false, hasMore: true });
  now().more();
  await settle();
  await asked[3]?.answer(["newer"]);
  expect(now()).toMatchObject({ items: ["new", "newer"], problem: undefined });
});

test("a page of rows that comes when the screen is gone changes nothing", async () => {
  const { asked, outputs, leave } = await openList();
  await leave();
  const before = outputs.length;
  await asked[0]?.answer(["a"]);
  expect(outputs).toHaveLength(before);
});
