import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { openOffice, type Office } from "../../../test/office.ts";
import { bobAs } from "../../../test/operators.ts";
import { grant } from "../../../test/records.ts";
import type { AdminOutput } from "../../admin-contract/index.ts";

type Names = AdminOutput<"readNames">;

const path = "/admin/v1/names";

async function namesFor({ handler }: Office, token: string, namespaceId: string): Promise<Names> {
  const request = new Request(`http://host${path}?namespaceId=${namespaceId}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return (await handler(request))?.json() as Promise<Names>;
}

describe.each(databaseKinds)("the names that mean something, on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("are the tool namespaces, and the resource namespaces with their actions", async () => {
    const office = await openOffice(await open());
    const { body } = await office.get<Names>(path, { namespaceId: "acme" });
    expect(body).toEqual({
      tenant: { isKnown: true },
      toolNamespaces: ["files", "messages", "service"],
      resources: [{ namespace: "files", actions: ["list", "read"] }],
    });
  });

  test("are also those in the grants of the tenant, and of no other", async () => {
    const office = await openOffice(await open());
    const [tenant, other] = [newTenant(), newTenant()];
    const capabilities = [
      { resource: { namespace: "invoices", path: ["2026"] }, actions: ["refund"], scope: "exact" as const },
      { resource: { namespace: "files", path: [] }, actions: ["shred"], scope: "descendants" as const },
    ];
    await office.stores.grants.issue(grant("g", { namespaceId: tenant, capabilities }));
    await office.stores.grants.issue(grant("g", { namespaceId: other }));
    expect((await office.get<Names>(path, { namespaceId: tenant })).body.resources).toEqual([
      { namespace: "files", actions: ["list", "read", "shred"] },
      { namespace: "invoices", actions: ["refund"] },
    ]);
    expect(
      (await office.get<Names>(path, { namespaceId: other })).body.resources.map(({ namespace }) => namespace),
    ).not.toContain("invoices");
  });

  test("of a tenant that nothing knows, the nearest is told to operators of all tenants alone", async () => {
    const office = await openOffice(await open());
    const tenant = newTenant();
    await office.stores.grants.issue(grant("g", { namespaceId: tenant }));
    const mistyped = `${tenant}x`;
    expect((await office.get<Names>(path, { namespaceId: mistyped })).body.tenant).toEqual({
      isKnown: false,
      nearest: tenant,
    });
    expect((await office.get<Names>(path, { namespaceId: tenant })).body.tenant).toEqual({ isKnown: true });
    const { token } = await office.stores.credentials.create({
      namespaceId: "operators",
      access: bobAs("admin", mistyped),
    });
    expect((await namesFor(office, token, mistyped)).tenant).toEqual({ isKnown: false });
  });
});
