import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../../test/databases.ts";
import { bob, changesIn, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { alice, assistant, context, neverAborted } from "../../../test/records.ts";

interface Settings {
  enabled: string[];
  known: string[];
  version: string;
}

const path = "/admin/v1/namespaces";

async function read({ get }: Office, namespaceId: string, actor = "agent:assistant"): Promise<Settings> {
  const { status, body } = await get<Settings>(path, { namespaceId, actor });
  expect(status).toBe(200);
  return body;
}

describe.each(databaseKinds)("tool namespaces for operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("nothing is on for an actor that has no settings, and all there is is shown", async () => {
    const namespaceId = newTenant();
    expect(await read(await office(), namespaceId)).toEqual({
      namespaceId,
      actor: assistant,
      enabled: [],
      known: ["files", "messages", "service"],
      version: expect.stringMatching(/^\S+$/),
    });
  });

  test("a change is in force for the next read by that actor in that tenant, and for no one else", async () => {
    const adminApi = await office();
    const [tenant, other] = [newTenant(), newTenant()];
    const update = { enable: ["service", "files", "calendar"] };
    const { status, body } = await adminApi.post<Settings>(path, { namespaceId: tenant, actor: assistant, update });
    expect([status, body.enabled, body.known]).toEqual([
      200,
      ["calendar", "files", "service"],
      ["calendar", "files", "messages", "service"],
    ]);
    expect(await read(adminApi, tenant)).toEqual(body);
    expect(await adminApi.stores.settings.enabled(tenant, assistant)).toEqual(["calendar", "files", "service"]);
    expect((await read(adminApi, tenant, "human:alice")).enabled).toEqual([]);
    expect((await read(adminApi, other)).enabled).toEqual([]);
  });

  test("a patch leaves alone what it does not name", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await adminApi.post(path, { namespaceId, actor: assistant, update: { enable: ["files", "service"] } });
    const { body } = await adminApi.post<Settings>(path, {
      namespaceId,
      actor: assistant,
      update: { disable: ["files"] },
    });
    expect(body.enabled).toEqual(["service"]);
    const same = await adminApi.post<Settings>(path, { namespaceId, actor: assistant, update: {} });
    expect(same.body).toEqual(body);
  });

  test("the audit log says what was switched and for whom", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const update = { enable: ["files"], disable: ["service"] };
    await adminApi.post(path, { namespaceId, actor: bob, update });
    const said = { action: "namespaces.update", receiver: bob, metadata: { ...update, operator: adminApi.operatorId } };
    expect(await changesIn(adminApi, namespaceId)).toMatchObject([said, said]);
  });

  describe("a change that expects a version", () => {
    test("is made while it is the one that was read, the very first one too", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const sent = { namespaceId, actor: assistant };
      const { version: expectedVersion } = await read(adminApi, namespaceId);
      const first = await adminApi.post<Settings>(path, { ...sent, update: { enable: ["files"] }, expectedVersion });
      expect([first.status, first.body.enabled]).toEqual([200, ["files"]]);
      expect(first.body.version).not.toBe(expectedVersion);
      const next = { ...sent, update: { enable: ["service"] }, expectedVersion: first.body.version };
      expect((await adminApi.post<Settings>(path, next)).body.enabled).toEqual(["files", "service"]);
    });

    test("is refused once something else was changed, and changes nothing", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const sent = { namespaceId, actor: assistant };
      const { version: expectedVersion } = await read(adminApi, namespaceId);
      const own = context({ namespaceId });
      await adminApi.stores.settings.applyUpdate(own, { enable: ["service"] }, neverAborted);
      const late = await adminApi.post<Refusal>(path, { ...sent, update: { enable: ["files"] }, expectedVersion });
      expect([late.status, late.body.error.code]).toEqual([409, "conflict"]);
      expect(late.body.error.message).toContain("/expectedVersion");
      expect((await read(adminApi, namespaceId)).enabled).toEqual(["service"]);
      expect((await changesIn(adminApi, namespaceId)).at(-1)).toMatchObject({ outcome: "failed", reason: "conflict" });
    });

    test("is refused when that is the version of another actor or of none", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await adminApi.post(path, { namespaceId, actor: alice, update: { enable: ["mail"] } });
      const { version } = await read(adminApi, namespaceId, "human:alice");
      for (const expectedVersion of [version, "0", "nul\0"]) {
        const sent = { namespaceId, actor: assistant, update: { enable: ["files"] }, expectedVersion };
        expect((await adminApi.post(path, sent)).status).toBe(409);
      }
      expect((await read(adminApi, namespaceId)).enabled).toEqual([]);
    });

    test("is made by one of several that expect the same", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const { version: expectedVersion } = await read(adminApi, namespaceId);
      const answers = await Promise.all(
        ["a", "b", "c"].map((name) =>
          adminApi.post(path, { namespaceId, actor: assistant, update: { enable: [name] }, expectedVersion }),
        ),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
      expect((await read(adminApi, namespaceId)).enabled).toHaveLength(1);
    });
  });

  const many = Array.from({ length: 256 }, (_, place) => `namespace-${String(place).padStart(3, "0")}`);

  test("256 may be on and no more: one too many changes nothing", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const sent = { namespaceId, actor: assistant };
    expect((await adminApi.post(path, { ...sent, update: { enable: many } })).status).toBe(200);
    const { status, body } = await adminApi.post<Refusal>(path, { ...sent, update: { enable: ["one-more"] } });
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    expect(body.error.message).toContain("256");
    expect((await read(adminApi, namespaceId)).enabled).toEqual(many);
    const swapped = { ...sent, update: { enable: ["one-more"], disable: [many[0]] } };
    expect((await adminApi.post(path, swapped)).status).toBe(200);
  });

  test("a name that is to be on and off at once is refused", async () => {
    const adminApi = await office();
    const update = { enable: ["files"], disable: ["files"] };
    const { status, body } = await adminApi.post<Refusal>(path, { namespaceId: newTenant(), actor: assistant, update });
    expect([status, body.error.code]).toEqual([400, "invalid_request"]);
  });

  test("actors and names with characters that no column can hold as they are are stored unchanged", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const actor = { kind: "agent", agentId: "nul\0" };
    const { status } = await adminApi.post(path, { namespaceId, actor, update: { enable: ["a\0", "\ud800"] } });
    expect(status).toBe(200);
    expect((await read(adminApi, namespaceId, "agent:nul\0")).enabled).toEqual(["a\0", "\ud800"]);
    expect((await read(adminApi, namespaceId, "agent:nul")).enabled).toEqual([]);
  });
});

test("of two operators who expect the same at once, on hosts that share a PostgreSQL, one wins", async () => {
  const adminApis = await Promise.all((await openPair()).map((database) => openOffice(database)));
  for (let round = 0; round < 10; round += 1) {
    const settings = await Promise.all(adminApis.map((adminApi) => read(adminApi, "tenant-1")));
    expect(settings[0]).toEqual(settings[1]);
    const answers = await Promise.all(
      adminApis.map(({ post }, place) => {
        const update = { enable: [`round-${round}-host-${place}`] };
        const { version: expectedVersion } = settings[place] ?? { version: "none" };
        return post(path, { namespaceId: "tenant-1", actor: assistant, update, expectedVersion });
      }),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  }
  const [adminApi] = adminApis;
  expect(await adminApi?.stores.settings.enabled("tenant-1", assistant)).toHaveLength(10);
});
