import { describe, expect, test } from "vitest";
import type { PrincipalRef } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { alice, assistant, grant } from "../../../test/records.ts";
import type { AdminOutput } from "../../admin-contract/index.ts";

const path = "/admin/v1/reach/ever";
const helper: PrincipalRef = { kind: "agent", agentId: "helper" };
const resource = { namespace: "files", path: ["notes", "today"] };

/** How each region of the answer is reached, and by which way. */
async function waysOf({ post }: Office, question: object): Promise<unknown[]> {
  const { status, body } = await post<AdminOutput<"readEverReach">>(path, question);
  expect(status).toBe(200);
  return body.reach.map(({ subject, authority, how, way }) => [subject, authority, how, way.join(" ")]);
}

describe.each(databaseKinds)("who could ever do what on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("what is held, and what its holder may hand on, with the way", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await office.stores.grants.issue(grant("root", { namespaceId, constraints: { delegationDepth: 1 } }));
    expect(await waysOf(office, { namespaceId, actor: assistant })).toEqual([
      [assistant, alice, "held", "root"],
      [assistant, assistant, "derived", "root"],
    ]);
    expect(await waysOf(office, { namespaceId, actor: helper })).toEqual([[helper, assistant, "derived", "root"]]);
    expect(await waysOf(office, { namespaceId, resource })).toEqual([
      [assistant, alice, "held", "root"],
      ["*", assistant, "derived", "root"],
    ]);
  });

  test("nothing of a revoked grant, of another tenant or of another action", async () => {
    const office = await openOffice(await open());
    const [namespaceId, other] = [newTenant(), newTenant()];
    await office.stores.grants.issue(grant("root", { namespaceId, constraints: { delegationDepth: 1 } }));
    expect(await waysOf(office, { namespaceId: other, actor: assistant })).toEqual([]);
    expect(await waysOf(office, { namespaceId, resource, action: "destroy" })).toEqual([]);
    await office.post("/admin/v1/grants/revoke", { namespaceId, id: "root" });
    for (const question of [{ actor: assistant }, { actor: helper }, { resource }])
      expect(await waysOf(office, { namespaceId, ...question })).toEqual([]);
  });

  test("a question about both a principal and a resource, or about neither, is refused", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    for (const question of [{}, { actor: assistant, resource }]) {
      const { status, body } = await office.post<Refusal>(path, { namespaceId, ...question });
      expect([status, body.error.message]).toEqual([400, "/actor: expected this or resource, and not both"]);
    }
  });
});
