import { describe, expect, test } from "vitest";
import { databaseKinds, openFresh } from "../../../test/databases.ts";
import { askIn, openOffice, readPages, type Office, type Refusal } from "../../../test/office.ts";
import { bobAs } from "../../../test/operators.ts";
import { alice, assistant, auditEvent, grant } from "../../../test/records.ts";

/** Names that sort in this order, some of which look like parts of a cursor. */
const tenants = ["1.a", "acme", "b", "café", "empty", "z"];

type Page = Record<string, unknown> & { cursor?: string };

/** What a page of each list is about, as `tenant id`. */
const lists = [
  {
    name: "grants",
    path: "/admin/v1/grants",
    read: (page: Page) =>
      (page["grants"] as { grant: { namespaceId: string; id: string } }[]).map(
        ({ grant: g }) => `${g.namespaceId} ${g.id}`,
      ),
    expected: [
      "1.a g1",
      "1.a g2",
      "1.a g3",
      "acme g1",
      "acme g2",
      "acme g3",
      "b g1",
      "b g2",
      "b g3",
      "café g1",
      "café g2",
      "café g3",
      "z g1",
      "z g2",
      "z g3",
    ],
  },
  {
    name: "escalations",
    path: "/admin/v1/escalations",
    read: (page: Page) => (page["escalations"] as { namespaceId: string }[]).map(({ namespaceId }) => namespaceId),
    expected: ["1.a", "acme", "b", "café", "z"],
  },
  {
    name: "the audit log",
    path: "/admin/v1/audit",
    query: { type: "message.sent" },
    read: (page: Page) =>
      (page["events"] as { event: { namespaceId: string; traceId: string } }[]).map(
        ({ event }) => `${event.namespaceId} ${event.traceId}`,
      ),
    expected: ["1.a t2", "1.a t1", "acme t2", "acme t1", "b t2", "b t1", "café t2", "café t1", "z t2", "z t1"],
  },
  {
    name: "settings of tool namespaces",
    path: "/admin/v1/namespaces/settings",
    read: (page: Page) =>
      (page["settings"] as { namespaceId: string; actor: { kind: string }; enabled: string[] }[]).map(
        ({ namespaceId, actor, enabled }) => `${namespaceId} ${actor.kind} ${enabled.join(",")}`,
      ),
    expected: ["1.a", "acme", "b", "café", "z"].flatMap((name) => [`${name} agent files`, `${name} human mail`]),
  },
  {
    name: "principals",
    path: "/admin/v1/principals",
    query: { search: "human:" },
    read: (page: Page) => (page["principals"] as { namespaceId: string }[]).map(({ namespaceId }) => namespaceId),
    expected: ["1.a", "acme", "b", "café", "z"],
  },
] as const;

async function openWorld(kind: (typeof databaseKinds)[number]): Promise<Office> {
  const office = await openOffice(await openFresh(kind));
  const { stores } = office;
  for (const namespaceId of tenants) {
    // A tenant that has nothing but an audit log of something else.
    await stores.audit.record({ ...auditEvent("x"), namespaceId, type: "turn.started" });
    if (namespaceId === "empty") continue;
    for (const id of ["g2", "g1", "g3"]) await stores.grants.issue(grant(id, { namespaceId }));
    await askIn(stores, namespaceId);
    for (const traceId of ["t1", "t2"])
      await stores.audit.record({ ...auditEvent(traceId), namespaceId, traceId, type: "message.sent" });
    await stores.settings.change({ namespaceId, actor: assistant }, { enable: ["files"] });
    await stores.settings.change({ namespaceId, actor: alice }, { enable: ["mail"] });
  }
  return office;
}

describe.each(databaseKinds)("lists of all tenants on %s", (kind) => {
  test("go tenant by tenant, each item once, whatever the size of the pages", async () => {
    const office = await openWorld(kind);
    for (const { name, path, read, expected, ...list } of lists)
      for (const limit of [1, 2, 3, 4, 500]) {
        const query = { ...("query" in list ? list.query : {}), limit };
        const pages = await readPages<Page>(office, path, query);
        expect([name, limit, pages.flatMap(read)]).toEqual([name, limit, expected]);
        expect(pages.every((page) => read(page).length <= limit)).toBe(true);
      }
  });

  test("are of one tenant for its operators, who may not continue in another", async () => {
    const office = await openWorld(kind);
    const { token } = await office.stores.credentials.create({ namespaceId: "operators", access: bobAs("admin", "b") });
    const get = async (path: string): Promise<{ status: number; body: Page & Partial<Refusal> }> => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await office.handler(new Request(`http://host${path}`, { headers }));
      return { status: response?.status ?? 0, body: (await response?.json()) as Page };
    };
    for (const { path, read } of lists) {
      const { status, body } = await get(path);
      expect([status, new Set(read(body).map((text) => text.split(" ")[0]))]).toEqual([200, new Set(["b"])]);
      // A cursor of another tenant is no way into it.
      const beyond = await get(`${path}?cursor=${encodeURIComponent("4.acme")}`);
      const shown = beyond.status === 200 ? read(beyond.body) : [];
      expect(shown.filter((text) => !text.startsWith("b"))).toEqual([]);
    }
  });

  test("leave out tenants that were deleted", async () => {
    const office = await openWorld(kind);
    await office.post("/admin/v1/tenants/delete", { namespaceId: "b", confirm: "b" });
    const [first] = lists;
    const pages = await readPages<Page>(office, first.path, { limit: 4 });
    expect(new Set(pages.flatMap(first.read).map((text) => text.split(" ")[0]))).toEqual(
      new Set(["1.a", "acme", "café", "z"]),
    );
  });

  test("refuse a cursor that is none of theirs", async () => {
    const { get } = await openWorld(kind);
    for (const cursor of ["nonsense", "9.acme", "0.", "x.acme", "99999.a"])
      expect(await get<Refusal>("/admin/v1/grants", { cursor })).toMatchObject({
        status: 400,
        body: { error: { code: "invalid_request", message: expect.stringMatching(/^\/cursor: /) as string } },
      });
  });
});
