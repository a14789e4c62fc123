import { describe, expect, test } from "vitest";
import type { AuditEvent, Capability, Grant, PrincipalRef } from "turnpike/contracts";
import { createKernel } from "turnpike/kernel";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import {
  bob,
  officeTime,
  openOffice,
  payment,
  askAct,
  stateOf,
  type Office,
  type Refusal,
} from "../../../test/office.ts";
import { alice, assistant, auditEvent, context, grant } from "../../../test/records.ts";
import type { AdminServices } from "./admin-services.ts";
import { previewOperations } from "./preview-operations.ts";
import { readRecentActs } from "./recent-acts.ts";

interface Previewed {
  descendants: Grant[];
  hasMore?: boolean;
  problem?: string;
  regions?: object;
  looked: number;
  since?: string;
  changed: {
    at: string;
    actor: PrincipalRef;
    resource: { path: string[] };
    action: string;
    count: number;
    before: { allowed: boolean; reasonCode: string };
    after: { allowed: boolean; reasonCode: string };
  }[];
}

const path = "/admin/v1/grants/preview";

async function preview({ post }: Office, body: object): Promise<Previewed> {
  const { status, body: previewed } = await post<Previewed>(path, body);
  expect([status, previewed]).toEqual([200, previewed]);
  return previewed;
}

const diary: Capability = { resource: { namespace: "files", path: ["diary"] }, actions: ["read"], scope: "exact" };

/** Has the kernel decide about reading a place, which puts the decision in the audit log. */
async function decide({ kernel }: Office, namespaceId: string, place: string[], changes: object = {}): Promise<void> {
  const request = { action: "read", resource: { namespace: "files", path: place } };
  await kernel.authorize(context({ namespaceId, now: officeTime, ...changes }), request);
}

function changesOf({ changed }: Previewed): unknown[] {
  return changed.map(({ resource, count, before, after }) => [
    resource.path.join("/"),
    count,
    before.reasonCode,
    after.reasonCode,
  ]);
}

describe.each(databaseKinds)("previews of changes of grants on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a draft names the acts that it would allow, each once, with how often they were decided", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await office.stores.grants.issue(grant("notes", { namespaceId }));
    await decide(office, namespaceId, ["diary"], { now: "2026-01-01T11:00:00Z", traceId: "older" });
    await decide(office, namespaceId, ["diary"], { traceId: "newer" });
    await decide(office, namespaceId, ["notes", "today"]);
    await decide(office, namespaceId, ["letters"]);
    const draft = grant("draft", { namespaceId, capabilities: [diary] });
    expect(await preview(office, { namespaceId, draft })).toEqual({
      descendants: [],
      looked: 4,
      since: "2026-01-01T11:00:00Z",
      changed: [
        {
          at: officeTime,
          traceId: "newer",
          actor: assistant,
          authority: alice,
          owner: alice,
          purpose: "support",
          action: "read",
          resource: { namespace: "files", path: ["diary"] },
          count: 2,
          before: { allowed: false, reasonCode: "no_matching_grant" },
          after: { allowed: true, reasonCode: "allowed" },
        },
      ],
      regions: {
        at: officeTime,
        opened: [
          {
            subject: assistant,
            authority: alice,
            owner: { not: [] },
            namespace: "files",
            path: ["diary"],
            scope: "exact",
            actions: ["read"],
            purposes: { not: [] },
            from: "2026-01-01T12:00:00.000Z",
            terms: [{}],
            by: ["draft"],
          },
        ],
        closed: [],
        changed: [],
      },
    });
  });

  test("a revocation names the acts that it would deny, of the holders of derived grants too", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    const helper: PrincipalRef = { kind: "agent", agentId: "helper" };
    await office.stores.grants.issue(grant("root", { namespaceId, constraints: { delegationDepth: 1 } }));
    const child = grant("child", { namespaceId, subject: helper, issuer: assistant, parentId: "root" });
    await office.stores.grants.issue(child);
    await decide(office, namespaceId, ["notes", "a"]);
    await decide(office, namespaceId, ["notes", "b"], { actor: helper, authority: assistant });
    await decide(office, namespaceId, ["diary"]);
    const previewed = await preview(office, { namespaceId, revoke: "root" });
    expect([previewed.descendants, previewed.looked]).toEqual([[child], 3]);
    expect(changesOf(previewed).toSorted()).toEqual([
      ["notes/a", 1, "allowed", "no_matching_grant"],
      ["notes/b", 1, "allowed", "delegation_chain_invalid"],
    ]);
  });

  test("a revocation closes for all requests what nothing else carries, and what was derived from it", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    const helper: PrincipalRef = { kind: "agent", agentId: "helper" };
    await office.stores.grants.issue(grant("root", { namespaceId, constraints: { delegationDepth: 1 } }));
    await office.stores.grants.issue(grant("same", { namespaceId }));
    const derive = { parentId: "root", id: "child", subject: helper };
    const derived = await preview(office, { namespaceId, derive });
    expect(derived.regions).toMatchObject({ opened: [{ subject: helper, by: ["child"] }], closed: [], changed: [] });
    await office.post("/admin/v1/grants/derive", { namespaceId, ...derive });
    const { regions } = await preview(office, { namespaceId, revoke: "root" });
    expect(regions).toMatchObject({ opened: [], closed: [{ subject: helper, by: ["child"] }], changed: [] });
  });

  test("what is derived is refused in the words of the refusal when it is wider than its parent", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await office.stores.grants.issue(grant("root", { namespaceId }));
    const derive = { parentId: "root", id: "child", subject: bob };
    const refused = await office.post<Refusal>("/admin/v1/grants/derive", { namespaceId, ...derive });
    const { problem, regions } = await preview(office, { namespaceId, derive });
    expect([refused.status, problem, regions]).toEqual([400, refused.body.error.message, undefined]);
  });

  test("a preview records nothing, spends nothing and changes nothing", async () => {
    const database = await open();
    const office = await openOffice(database);
    const namespaceId = newTenant();
    const paying: Capability = { resource: { namespace: "bank", path: [] }, actions: ["pay"], scope: "descendants" };
    const guarded = grant("grant-1", { namespaceId, capabilities: [{ ...paying, approval: "each" }] });
    await office.stores.grants.issue(guarded);
    await office.stores.grants.issue(grant("once", { namespaceId, constraints: { maxUses: 1 } }));
    const { id, ask } = await askAct(office.stores, namespaceId);
    await office.post("/admin/v1/escalations/approve", { namespaceId, id, ask });
    await decide(office, namespaceId, ["notes", "a"]);
    await office.kernel.authorize(context({ namespaceId, now: officeTime }), payment);
    const seen = async () => [
      await stateOf(database, namespaceId),
      await office.stores.audit.list(namespaceId, { limit: 50 }),
    ];
    const before = await seen();
    for (const change of [{ revoke: "once" }, { revoke: "grant-1" }, { draft: grant("new", { namespaceId }) }])
      expect((await preview(office, { namespaceId, ...change })).looked).toBe(2);
    expect(changesOf(await preview(office, { namespaceId, revoke: "grant-1" }))).toEqual([
      ["bob", 1, "allowed", "no_matching_grant"],
    ]);
    await office.stores.audit.flush();
    expect(await seen()).toEqual(before);
  });

  describe("what could not be done says why, in the words of the refusal", () => {
    const rows: { name: string; draft?: Partial<Grant> & { id: string }; revoke?: string }[] = [
      { name: "an id that is taken", draft: { id: "taken" } },
      { name: "an id as permits have it", draft: { id: "permit\nx" } },
      { name: "a parent that is not there", draft: { id: "new", parentId: "nowhere" } },
      { name: "a parent that may not be passed on", draft: { id: "new", issuer: assistant, parentId: "taken" } },
      { name: "a grant that was revoked before", revoke: "revoked" },
    ];
    for (const { name, draft, revoke } of rows) {
      test(name, async () => {
        const office = await openOffice(await open());
        const namespaceId = newTenant();
        for (const id of ["taken", "revoked"]) await office.stores.grants.issue(grant(id, { namespaceId }));
        await office.stores.grants.revoke(namespaceId, "revoked", officeTime);
        await decide(office, namespaceId, ["notes", "a"]);
        const issued = draft && grant(draft.id, { ...draft, namespaceId });
        const previewed = await preview(office, { namespaceId, ...(issued ? { draft: issued } : { revoke }) });
        const refused = issued
          ? await office.post<Refusal>("/admin/v1/grants", issued)
          : await office.post<Refusal>("/admin/v1/grants/revoke", { namespaceId, id: revoke });
        expect(refused.status).toBeGreaterThanOrEqual(400);
        expect(previewed).toEqual({
          descendants: [],
          problem: refused.body.error.message,
          looked: 0,
          changed: [],
        });
      });
    }

    test("a draft for a tenant that is being deleted", async () => {
      const office = await openOffice(await open());
      const namespaceId = newTenant();
      await office.stores.grants.issue(grant("grant-1", { namespaceId }));
      await office.post("/admin/v1/tenants/delete", { namespaceId, confirm: namespaceId });
      const draft = grant("new", { namespaceId });
      const { body } = await office.post<Refusal>("/admin/v1/grants", draft);
      expect((await preview(office, { namespaceId, draft })).problem).toBe(body.error.message);
    });
  });

  test("a draft for another tenant than that of the request is refused, whatever is there", async () => {
    const office = await openOffice(await open());
    const [namespaceId, other] = [newTenant(), newTenant()];
    const draft = grant("new", { namespaceId: other });
    const { status, body } = await office.post<Refusal>(path, { namespaceId, draft });
    expect([status, body.error.code, body.error.message]).toEqual([
      400,
      "invalid_request",
      "/draft/namespaceId: expected the tenant of the request.",
    ]);
  });

  test("a request for both a draft and a revocation, or for neither, is refused", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    for (const changes of [{}, { draft: grant("new", { namespaceId }), revoke: "grant-1" }]) {
      const { status, body } = await office.post<Refusal>(path, { namespaceId, ...changes });
      expect([status, body.error.message]).toEqual([400, "/draft: expected one of draft, derive and revoke"]);
    }
  });

  test("the revocation of a grant of another tenant finds no grant", async () => {
    const office = await openOffice(await open());
    const [namespaceId, other] = [newTenant(), newTenant()];
    await office.stores.grants.issue(grant("grant-1", { namespaceId: other }));
    const { status, body } = await office.post<Refusal>(path, { namespaceId, revoke: "grant-1" });
    expect([status, body.error.code]).toEqual([404, "not_found"]);
  });

  test("the last decisions count and no others, each once", async () => {
    const { stores } = await openOffice(await open());
    const namespaceId = newTenant();
    const record = (id: string, changes: Partial<AuditEvent>): Promise<void> =>
      stores.audit.record(
        auditEvent(id, {
          namespaceId,
          type: "authorization.checked",
          authority: alice,
          action: "read",
          resource: { namespace: "files", path: [id] },
          ...changes,
        }),
      );
    for (const minute of [1, 2, 3, 4]) await record(`file-${minute}`, { at: `2026-01-01T12:0${minute}:00Z` });
    // What became of a decision, and what was never decided, are no decisions.
    await record("outcome", { type: "resource.invoked", outcome: "denied", at: "2026-01-01T12:05:00Z" });
    await record("nothing", { resource: undefined, outcome: "denied", at: "2026-01-01T12:06:00Z" } as object);
    const acts = await readRecentActs(stores.audit, namespaceId, 3);
    expect(acts.map(({ last: { id } }) => id)).toEqual(["file-4", "file-3", "file-2"]);
  });

  test("what there is no time for, or cannot be decided now, is not counted", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    const { stores } = office;
    await stores.grants.issue(grant("once", { namespaceId, constraints: { maxUses: 1 } }));
    await decide(office, namespaceId, ["notes", "a"]);
    const used = (): Promise<number> => Promise.reject(new Error("The store is away."));
    const looked = async (ms: number, isAway: boolean): Promise<number> => {
      const usage = isAway ? { ...stores.usage, used } : stores.usage;
      const services = {
        stores,
        clock: () => new Date(officeTime),
        readOnlyKernel: (grants) => createKernel({ grants, usage, audit: "none" }),
      } as Pick<AdminServices, "stores" | "clock" | "readOnlyKernel"> as AdminServices;
      const { previewGrant } = previewOperations(services, { decisions: 1000, ms });
      return (await previewGrant({ namespaceId, revoke: "once" }, undefined as never, undefined as never)).looked;
    };
    expect([await looked(60_000, false), await looked(0, false), await looked(60_000, true)]).toEqual([1, 0, 0]);
  });

  test("an act is decided at the instant of the preview, not at its own", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await office.stores.grants.issue(
      grant("over", { namespaceId, constraints: { expiresAt: "2026-01-01T11:00:00Z" }, subject: bob }),
    );
    await decide(office, namespaceId, ["notes", "a"], { actor: bob, now: "2026-01-01T10:30:00Z" });
    expect(await preview(office, { namespaceId, revoke: "over" })).toMatchObject({ looked: 1, changed: [] });
  });
});
