import { describe, expect, test } from "vitest";
import type { Capability, Grant } from "turnpike/contracts";
import type { Counterexample, Violation } from "turnpike/kernel";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../../test/databases.ts";
import { askIn, changesIn, officeTime, oona, openOffice, type Office } from "../../../test/office.ts";
import { enterAs } from "../../../test/operators.ts";
import { alice, assistant, grant } from "../../../test/records.ts";
import type { AdminOutput } from "../../admin-contract/index.ts";

const path = "/admin/v1/invariants";

interface Refused {
  error: { code: string; message: string; details?: { violations: Violation[] } };
}

interface Answer<Body> {
  status: number;
  body: Body;
}

function may(action: string, ...place: string[]): Capability {
  const [namespace = "", ...rest] = place;
  return { resource: { namespace, path: rest }, actions: [action], scope: "descendants" };
}

/** Grants of a tenant that carry one act each. */
function holder(namespaceId: string) {
  return (id: string, action: string, changes: Partial<Grant> = {}): Grant =>
    grant(id, { namespaceId, capabilities: [may(action, "payments")], ...changes });
}

const apart = {
  id: "apart",
  separate: {
    acts: [
      { action: "create", resource: "payments" },
      { action: "approve", resource: "payments" },
    ],
  },
};
const noNotes = { id: "no-notes", never: { subject: "agent:*", resource: "files/notes" } };

/** What was answered: the status, and of a refusal the rules and grants. */
function saidBy({ status, body }: Answer<unknown>): unknown[] {
  const { error } = body as Partial<Refused>;
  if (error === undefined) return [status];
  const { code, details } = error;
  return [status, code, ...(details?.violations ?? []).map(({ invariant, grantIds }) => [invariant, ...grantIds])];
}

const violated = (...found: string[][]): unknown[] => [409, "invariant_violated", ...found];

async function idsIn({ stores }: Office, namespaceId: string): Promise<string[]> {
  return (await stores.grants.list(namespaceId, { limit: 100 })).map(({ id }) => id);
}

describe.each(databaseKinds)("rules about grants on %s", (kind) => {
  const open = sharedDatabase(kind);
  const openDesk = async (): Promise<Office> => openOffice(await open());

  test("are added, listed, checked and removed, and the audit log has each change", async () => {
    const desk = await openDesk();
    const namespaceId = newTenant();
    const rule = { ...noNotes, namespaceId };
    const added = await desk.post<AdminOutput<"addInvariant">>(path, rule);
    expect([added.status, added.body]).toEqual([201, { invariant: rule, violations: [] }]);
    expect((await desk.get<unknown>(path, { namespaceId })).body).toEqual({ invariants: [rule] });
    expect((await desk.post<unknown>(`${path}/check`, { namespaceId })).body).toEqual({ violations: [] });
    expect(saidBy(await desk.post(path, rule))).toEqual([409, "conflict"]);
    const gone = await desk.post<unknown>(`${path}/remove`, { namespaceId, id: rule.id });
    expect([gone.status, gone.body]).toEqual([200, { removed: rule.id }]);
    expect(saidBy(await desk.post(`${path}/remove`, { namespaceId, id: rule.id }))).toEqual([404, "not_found"]);
    expect((await desk.get<unknown>(path, { namespaceId })).body).toEqual({ invariants: [] });
    const told = (await changesIn(desk, namespaceId)).map(({ action, outcome, metadata }) => [
      action,
      outcome,
      metadata,
    ]);
    expect(told.slice(0, 2)).toEqual([
      ["invariant.add", "allowed", { invariant: rule.id, never: rule.never, operator: desk.operatorId }],
      ["invariant.add", "succeeded", { invariant: rule.id, never: rule.never, operator: desk.operatorId }],
    ]);
    expect(told.slice(4).map(([action, outcome]) => [action, outcome])).toEqual([
      ["invariant.remove", "allowed"],
      ["invariant.remove", "succeeded"],
      ["invariant.remove", "allowed"],
      ["invariant.remove", "failed"],
    ]);
  });

  for (const row of [
    { name: "no form", rule: {} },
    { name: "two forms", rule: { never: { resource: "crm" }, only: { subjects: ["human:a"], resource: "crm" } } },
    { name: "a subject that is none", rule: { never: { subject: "agent", resource: "crm" } } },
    { name: "a place with an empty step", rule: { never: { resource: "crm//eu" } } },
    { name: "a place that ends in a slash", rule: { never: { resource: "crm/" } } },
    { name: "every action by a name", rule: { never: { action: "*", resource: "crm" } } },
    { name: "an exception for nothing", rule: { never: { resource: "crm", unless: {} } } },
    { name: "no one who may", rule: { only: { subjects: [], resource: "crm" } } },
    { name: "one act to separate", rule: { separate: { acts: [{ resource: "crm" }] } } },
  ])
    test(`with ${row.name} are refused`, async () => {
      const desk = await openDesk();
      expect(saidBy(await desk.post(path, { id: "rule", namespaceId: newTenant(), ...row.rule }))).toEqual([
        400,
        "invalid_request",
      ]);
    });

  test("that grants break already are refused with a request that explanations confirm, and taken to report on", async () => {
    const desk = await openDesk();
    const namespaceId = newTenant();
    await desk.stores.grants.issue(grant("notes", { namespaceId }), undefined, officeTime);
    const rule = { ...noNotes, namespaceId };
    const refused = await desk.post<Refused>(path, rule);
    expect(saidBy(refused)).toEqual(violated(["no-notes", "notes"]));
    expect(refused.body.error.message).toBe(
      "Nothing was changed, because a rule about grants would be broken. no-notes: agent:assistant may read files/notes of human:alice, " +
        `on grants of human:alice, for any, ${officeTime}, by notes.`,
    );
    const [violation] = refused.body.error.details?.violations ?? [];
    for (const request of violation?.counterexample ?? ([] as Counterexample[])) {
      const { body } = await desk.post<AdminOutput<"explain">>("/admin/v1/explanations", request);
      expect(body.decision).toMatchObject({ allowed: true, matchedGrantId: "notes" });
    }
    expect(violation?.counterexample).toHaveLength(1);
    expect((await desk.get<unknown>(path, { namespaceId })).body).toEqual({ invariants: [] });
    const reported = await desk.post<AdminOutput<"addInvariant">>(path, { ...rule, reportOnly: true });
    expect([reported.status, reported.body.violations]).toEqual([201, [violation]]);
    expect((await desk.post<unknown>(`${path}/check`, { namespaceId })).body).toEqual({ violations: [violation] });
    expect(saidBy(await desk.post("/admin/v1/grants", grant("more", { namespaceId })))).toEqual([201]);
  });

  test("refuse a grant, a derived one, a change of many and its dry run, and nothing of it is left", async () => {
    const desk = await openDesk();
    const namespaceId = newTenant();
    const held = holder(namespaceId);
    await desk.post(path, { ...apart, namespaceId });
    const root = held("root", "create", { subject: alice, issuer: oona, constraints: { delegationDepth: 1 } });
    for (const one of [root, held("approves", "approve")])
      expect(saidBy(await desk.post("/admin/v1/grants", one))).toEqual([201]);
    const expected = violated(["apart", "creates", "approves"]);
    expect(saidBy(await desk.post("/admin/v1/grants", held("creates", "create")))).toEqual(expected);
    const derive = { namespaceId, parentId: "root", id: "creates", subject: assistant };
    expect(saidBy(await desk.post("/admin/v1/grants/derive", derive))).toEqual(expected);
    const { namespaceId: _tenant, issuedAt: _at, ...draft } = held("creates", "create");
    const dry = await desk.post<AdminOutput<"applyGrants">>("/admin/v1/grants/apply", { namespaceId, dryRun: true });
    const change = { namespaceId, state: dry.body.state, issue: [draft] };
    for (const dryRun of [true, false])
      expect(saidBy(await desk.post("/admin/v1/grants/apply", { ...change, dryRun }))).toEqual(expected);
    expect(await idsIn(desk, namespaceId)).toEqual(["approves", "root"]);
    const preview = await desk.post<AdminOutput<"previewGrant">>("/admin/v1/grants/preview", {
      namespaceId,
      draft: held("creates", "create"),
    });
    expect(preview.body.problem).toContain("apart: agent:assistant may create payments");
    // It is judged by what is there afterwards.
    for (const dryRun of [true, false])
      expect(saidBy(await desk.post("/admin/v1/grants/apply", { ...change, dryRun, revoke: ["approves"] }))).toEqual([
        200,
      ]);
    expect(saidBy(await desk.post("/admin/v1/grants", held("again", "approve")))).toEqual(
      violated(["apart", "creates", "again"]),
    );
    expect(saidBy(await desk.post("/admin/v1/grants", held("other", "approve", { subject: alice })))).toEqual(
      violated(["apart", "root", "other"]),
    );
  });

  test("let through what breaks none, and what counts no more when another begins", async () => {
    const desk = await openDesk();
    const namespaceId = newTenant();
    const held = holder(namespaceId);
    await desk.post(path, { ...apart, namespaceId });
    const [noon, one] = ["2026-01-01T12:30:00.000Z", "2026-01-01T13:00:00.000Z"];
    for (const fitting of [
      held("creates", "create", { constraints: { expiresAt: one } }),
      held("approves", "approve", { constraints: { notBefore: one } }),
      held("reads", "read"),
      held("other", "approve", { subject: oona }),
    ])
      expect(saidBy(await desk.post("/admin/v1/grants", fitting))).toEqual([201]);
    const sooner = held("sooner", "approve", { constraints: { notBefore: noon } });
    expect(saidBy(await desk.post("/admin/v1/grants", sooner))).toEqual(violated(["apart", "creates", "sooner"]));
    desk.time.now = one;
    expect(saidBy(await desk.post("/admin/v1/grants", sooner))).toEqual([201]);
    desk.time.now = officeTime;
  });

  test("count what a grant brings back to life whose id one above others had", async () => {
    const desk = await openDesk();
    const namespaceId = newTenant();
    const held = holder(namespaceId);
    await desk.stores.grants.issue(held("child", "create", { parentId: "gone" }), undefined, officeTime);
    await desk.post(path, {
      id: "no-create",
      namespaceId,
      never: { action: "create", subject: "agent:*", resource: "payments" },
    });
    const gone = held("gone", "create", { subject: alice, issuer: oona, constraints: { delegationDepth: 1 } });
    expect(saidBy(await desk.post("/admin/v1/grants", gone))).toEqual(violated(["no-create", "child"]));
  });

  test("refuse an approval, and the escalation waits on", async () => {
    const desk = await openDesk();
    const namespaceId = newTenant();
    const { id, ask } = await askIn(desk.stores, namespaceId);
    const never = { id: "no-diary", namespaceId, never: { subject: "agent:*", resource: "files/diary" } };
    await desk.post(path, never);
    const approve = () => desk.post("/admin/v1/escalations/approve", { namespaceId, id, ask });
    expect(saidBy(await approve())).toEqual(violated(["no-diary", `approved-${id}`]));
    expect(await desk.stores.escalations.find(namespaceId, id, officeTime)).toMatchObject({ status: "pending" });
    expect(await idsIn(desk, namespaceId)).toEqual([]);
    await desk.post(`${path}/remove`, { namespaceId, id: "no-diary" });
    expect(saidBy(await approve())).toEqual([200]);
  });

  test("of one tenant say nothing of another, and are removed only where they are", async () => {
    const desk = await openDesk();
    const [namespaceId, other] = [newTenant(), newTenant()];
    await desk.post(path, { ...noNotes, namespaceId });
    expect(saidBy(await desk.post("/admin/v1/grants", grant("notes", { namespaceId: other })))).toEqual([201]);
    expect(saidBy(await desk.post(path, { ...noNotes, namespaceId: other }))).toEqual(violated(["no-notes", "notes"]));
    expect(saidBy(await desk.post(`${path}/remove`, { namespaceId: other, id: "no-notes" }))).toEqual([
      404,
      "not_found",
    ]);
    expect(saidBy(await desk.post("/admin/v1/grants", grant("notes", { namespaceId })))).toEqual(
      violated(["no-notes", "notes"]),
    );
  });

  test("of a deleted tenant are refused until it is gone", async () => {
    const desk = await openDesk();
    const namespaceId = newTenant();
    await desk.post(path, { ...noNotes, namespaceId });
    await desk.post("/admin/v1/tenants/delete", { namespaceId, confirm: namespaceId });
    expect(saidBy(await desk.post(path, { ...noNotes, id: "late", namespaceId }))).toEqual([409, "conflict"]);
  });
});

describe.each(databaseKinds)("rules about the grants of every tenant on %s", (kind) => {
  test("hold in each of them, are listed with its own, and are set by admins of all tenants alone", async () => {
    const desk = await openOffice(await openFresh(kind));
    await desk.stores.grants.issue(grant("old", { namespaceId: "globex" }), undefined, officeTime);
    expect(saidBy(await desk.post(path, noNotes))).toEqual(violated(["no-notes", "old"]));
    await desk.post("/admin/v1/grants/revoke", { namespaceId: "globex", id: "old" });
    expect(saidBy(await desk.post(path, noNotes))).toEqual([201]);
    for (const namespaceId of ["acme", "globex"])
      expect(saidBy(await desk.post("/admin/v1/grants", grant("notes", { namespaceId })))).toEqual(
        violated(["no-notes", "notes"]),
      );
    const own = { id: "own", namespaceId: "acme", never: { resource: "crm" } };
    const admin = await enterAs(desk, "admin", "acme");
    expect(saidBy(await admin.send(path, own))).toEqual([201]);
    expect(saidBy(await admin.send(path, { ...own, id: "no-notes" }))).toEqual([409, "conflict"]);
    expect(saidBy(await desk.post(path, { ...noNotes, id: "own" }))).toEqual([409, "conflict"]);
    const auditor = await enterAs(desk, "auditor", "acme");
    for (const reader of [admin, auditor])
      expect((await reader.send<unknown>(path)).body).toEqual({ invariants: [noNotes, own] });
    const denied = [403, "permission_denied"];
    expect(saidBy(await admin.send(path, { ...noNotes, id: "all" }))).toEqual(denied);
    expect(saidBy(await admin.send(path, { ...own, id: "theirs", namespaceId: "globex" }))).toEqual(denied);
    expect(saidBy(await admin.send(`${path}/remove`, { id: "no-notes" }))).toEqual(denied);
    expect(saidBy(await auditor.send(path, { ...own, id: "new" }))).toEqual(denied);
    expect(saidBy(await auditor.send(`${path}/remove`, { namespaceId: "acme", id: "own" }))).toEqual(denied);
    expect((await desk.get<unknown>(path)).body).toEqual({ invariants: [noNotes, own] });
    const added = (await changesIn(desk, "operators")).find(({ action }) => action === "invariant.add");
    expect(added?.metadata).toMatchObject({ invariant: "no-notes" });
    expect(saidBy(await desk.post(`${path}/remove`, { id: "no-notes" }))).toEqual([200]);
    expect(saidBy(await desk.post("/admin/v1/grants", grant("notes", { namespaceId: "acme" })))).toEqual([201]);
  });

  test("are checked in every tenant that has grants, also by their auditors in theirs", async () => {
    const desk = await openOffice(await openFresh(kind));
    const tenants = ["acme", "globex", "initech"];
    for (const namespaceId of tenants)
      await desk.stores.grants.issue(grant("notes", { namespaceId }), undefined, officeTime);
    await desk.post(path, { ...noNotes, reportOnly: true });
    await desk.post(path, {
      id: "own",
      namespaceId: "globex",
      reportOnly: true,
      only: { subjects: ["human:*"], resource: "files" },
    });
    const tenantsOf = ({ body }: Answer<AdminOutput<"checkInvariants">>) =>
      body.violations.map(({ invariant, counterexample }) => [invariant, counterexample[0]?.namespaceId]);
    expect(tenantsOf(await desk.post(`${path}/check`, {}))).toEqual([
      ["no-notes", "acme"],
      ["no-notes", "globex"],
      ["own", "globex"],
      ["no-notes", "initech"],
    ]);
    const auditor = await enterAs(desk, "auditor", "acme");
    expect(tenantsOf(await auditor.send(`${path}/check`, {}))).toEqual([["no-notes", "acme"]]);
  });
});

test("a rule that cannot be read refuses every write of grants", async () => {
  const [kind = "sqlite"] = databaseKinds;
  const database = await openFresh(kind);
  const desk = await openOffice(database);
  await database.db.insertInto("invariants").values({ namespace_id: "acme", id: "x", content: "{}" }).execute();
  await expect(desk.stores.grants.issue(grant("one", { namespaceId: "acme" }), undefined, officeTime)).rejects.toThrow(
    "expected string",
  );
  expect(await idsIn(desk, "acme")).toEqual([]);
});
