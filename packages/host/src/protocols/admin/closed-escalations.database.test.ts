import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { askAct, changesIn, officeTime, oona, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { access, assistant, grant } from "../../../test/records.ts";
import type { EscalationRecord } from "../../admin-contract/index.ts";

const admin = "/admin/v1";

describe.each(databaseKinds)("operators end what escalations depend on, on %s", (kind) => {
  const open = sharedDatabase(kind);
  /** A tenant with a grant that was made with a credential, another credential, and an act that waits under the grant and that. */
  const ask = async (): Promise<
    Office & { record: EscalationRecord; tenant: string; credential: string; maker: string }
  > => {
    const office = await openOffice(await open());
    const tenant = newTenant();
    const { id: maker } = await office.stores.credentials.create({ namespaceId: tenant, access });
    await office.stores.grants.issue(grant("grant-1", { namespaceId: tenant }), maker);
    const { id } = await office.stores.credentials.create({ namespaceId: tenant, access });
    const record = await askAct(office.stores, tenant, {}, { credential: id });
    return { ...office, record, tenant, credential: id, maker };
  };
  const rows: {
    name: string;
    end: (office: Awaited<ReturnType<typeof ask>>) => Promise<{ status: number }>;
    closed: (office: Awaited<ReturnType<typeof ask>>) => object;
    says: string;
  }[] = [
    {
      name: "revoking the grant",
      end: ({ post, tenant }) => post(`${admin}/grants/revoke`, { namespaceId: tenant, id: "grant-1" }),
      closed: () => ({ reason: "grant_revoked", grantId: "grant-1" }),
      says: "its grant grant-1 was revoked",
    },
    {
      name: "applying a file without the grant",
      async end({ post, stores, tenant }) {
        const { state } = await stores.grants.readState(tenant);
        return post(`${admin}/grants/apply`, { namespaceId: tenant, state, revoke: ["grant-1"] });
      },
      closed: () => ({ reason: "grant_revoked", grantId: "grant-1" }),
      says: "its grant grant-1 was revoked",
    },
    {
      name: "revoking everything that the maker of the grant left behind",
      end: ({ post, maker }) => post(`${admin}/credentials/revoke`, { id: maker, andEverything: true }),
      closed: () => ({ reason: "grant_revoked", grantId: "grant-1" }),
      says: "its grant grant-1 was revoked",
    },
    {
      name: "revoking the credential",
      end: ({ post, credential }) => post(`${admin}/credentials/revoke`, { id: credential }),
      closed: ({ credential }) => ({ reason: "credential_revoked", credential }),
      says: "that it was asked with was revoked",
    },
  ];
  for (const { name, end, closed, says } of rows)
    test(`${name} closes the escalation: it says so, its answers are refused, and it is in the audit log`, async () => {
      const office = await ask();
      const { record, tenant, post, get } = office;
      const about = { namespaceId: tenant, id: record.id, ask: record.ask };
      const wakes = office.wakes();
      expect((await end(office)).status).toBe(200);
      expect(office.wakes()).toBe(wakes + 1);
      const { body } = await get<{ escalations: EscalationRecord[] }>(`${admin}/escalations`, { namespaceId: tenant });
      expect(body.escalations).toMatchObject([{ id: record.id, status: "expired", closed: closed(office) }]);
      for (const [way, more] of [
        ["approve", {}],
        ["deny", { reason: "No." }],
        ["withdraw", {}],
      ] as const) {
        const refused = await post<Refusal>(`${admin}/escalations/${way}`, { ...about, ...more });
        expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
        expect(refused.body.error.message).toContain(`This escalation was closed ${officeTime}: `);
        expect(refused.body.error.message).toContain(says);
      }
      const closings = (await changesIn(office, tenant)).filter(({ action }) => action === "escalation.close");
      expect(closings).toMatchObject([
        {
          outcome: "succeeded",
          actor: oona,
          receiver: assistant,
          metadata: { escalation: record.id, requestHash: record.ask, operator: office.operatorId },
        },
      ]);
      expect(JSON.stringify(closings)).not.toContain("bank.pay");
    });

  test("a revocation that closes nothing reports no escalations, and wakes no turn", async () => {
    const office = await ask();
    await office.stores.grants.issue(grant("grant-2", { namespaceId: office.tenant }));
    await office.post(`${admin}/grants/revoke`, { namespaceId: office.tenant, id: "grant-2" });
    expect((await changesIn(office, office.tenant)).map(({ action }) => action)).not.toContain("escalation.close");
    expect(office.wakes()).toBe(0);
  });
});
