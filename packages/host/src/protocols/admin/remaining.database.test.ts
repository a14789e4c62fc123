import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import {
  askAct,
  askIn,
  changesIn,
  officeTime,
  openOffice,
  readPages,
  type Office,
  type Refusal,
} from "../../../test/office.ts";
import { bobAs, enterAs, sendAs } from "../../../test/operators.ts";
import { access, alice, assistant, grant } from "../../../test/records.ts";
import { beginTurn, endedEntry, progress, turnKey, turnToBegin } from "../../../test/turn-journals.ts";
import { presentedBy } from "../../access/credential-writes.ts";
import type { CredentialAccess, CredentialRecord, EscalationRecord, Remaining } from "../../admin-contract/index.ts";

interface Shown {
  credential: CredentialRecord;
  remaining: Remaining[];
  cursor?: string;
}

interface Made {
  id: string;
  token: string;
}

const path = "/admin/v1/credentials";
const later = "2026-01-01T12:20:00.000Z";
const nothing = { sessions: 0, turns: 0, approvals: 0, permits: 0, grants: 0 };
const bob = bobAs("admin");

/** Everything that is left, page by page. */
async function remainingOf(office: Office, id: string, limit = 500): Promise<Remaining[]> {
  return (await readPages<Shown>(office, `${path}/${id}`, { limit })).flatMap(({ remaining }) => remaining);
}

/** What is left, in short. */
async function namesOf(office: Office, id: string, limit?: number): Promise<string[]> {
  return (await remainingOf(office, id, limit)).map((one) => {
    if (one.kind === "session") return `session ${one.id}`;
    if (one.kind === "turn") return `turn ${one.executionId}`;
    return one.kind === "grant" ? `grant ${one.grantId}` : `${one.kind} ${one.escalationId}`;
  });
}

/** Sends something that has to succeed. */
async function ask(host: Office, { token }: Made, to: string, body: object): Promise<void> {
  const answer = await sendAs(host, token, to, body);
  if (answer.status >= 300) throw new Error(`${to} answers ${answer.status}: ${JSON.stringify(answer.body)}`);
}

function endAll({ post }: Office, id: string) {
  return post<{ revoked: string; ended: object } & Refusal>(`${path}/revoke`, { id, andEverything: true });
}

/** A list of changes with one new grant, as it is sent to a tenant. */
async function listWith({ stores }: Office, namespaceId: string, id: string): Promise<object> {
  const { namespaceId: _tenant, issuedAt: _at, ...issued } = grant(id, { namespaceId });
  return { namespaceId, issue: [issued], state: (await stores.grants.readState(namespaceId)).state };
}

/** Begins a turn as the bearer of a credential, which an operator may be behind. */
function begin({ stores }: Office, by: Omit<Made, "token">, namespaceId: string, turn: string, changes: object = {}) {
  const { context, ...rest } = turnToBegin(namespaceId, turn);
  const host = { caller: { credential: { id: by.id, namespaceId, access } }, headers: {}, facts: {} };
  return beginTurn(stores.turns, { ...rest, context: { ...context, ...changes } }, host);
}

function make({ stores }: Office, namespaceId: string, who: CredentialAccess = access): Promise<Made> {
  return stores.credentials.create({ namespaceId, access: who });
}

describe.each(databaseKinds)("what a credential left behind on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (approvals = 1): Promise<Office> => openOffice(await open(), { approvals });

  /** Bob, who has used his credential for one of everything; and another operator and an agent, who did the same. */
  async function workAsBob() {
    const host = await office();
    const two = await openOffice(await open(), { approvals: 2 });
    const namespaceId = newTenant();
    const agent = await make(host, namespaceId);
    const [operator, other] = [await make(host, "operators", bob), await make(host, "operators", bob)];
    const session = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    await host.stores.sessions.begin(session, { presented: presentedBy(operator.token) }, new Date(officeTime));
    await host.stores.sessions.begin(
      session.toUpperCase(),
      { presented: presentedBy(other.token) },
      new Date(officeTime),
    );
    await begin(host, agent, namespaceId, "agents");
    await begin(host, agent, namespaceId, "tried", { triedBy: { actor: bob.actor, credential: operator.id } });
    await begin(host, agent, namespaceId, "others", { triedBy: { actor: bob.actor, credential: other.id } });
    const asked = await askIn(host.stores, namespaceId);
    const act = await askAct(host.stores, namespaceId);
    const approve = (at: Office, escalation: EscalationRecord) =>
      ask(at, operator, "/admin/v1/escalations/approve", {
        namespaceId: escalation.namespaceId,
        id: escalation.id,
        ask: escalation.ask,
      });
    await approve(host, act);
    await approve(host, asked);
    const waiting = await askIn(two.stores, newTenant());
    await approve(two, waiting);
    const constraints = { delegationDepth: 1 };
    await ask(host, operator, "/admin/v1/grants", grant("made", { namespaceId, constraints }));
    const derived = { namespaceId, parentId: "made", id: "derived", subject: alice };
    await ask(host, operator, "/admin/v1/grants/derive", derived);
    await ask(host, operator, "/admin/v1/grants/apply", await listWith(host, namespaceId, "applied"));
    await ask(host, other, "/admin/v1/grants", grant("another", { namespaceId }));
    return { host, namespaceId, agent, operator, other, session, act, asked, waiting };
  }

  test("is listed by kind, and nothing of anyone else's", async () => {
    const { host, namespaceId, agent, operator, other, session, act, asked, waiting } = await workAsBob();
    const { status, body } = await host.get<Shown>(`${path}/${operator.id}`);
    expect([status, body.credential]).toMatchObject([200, { id: operator.id, namespaceId: "operators", access: bob }]);
    expect(Object.keys(body).toSorted()).toEqual(["credential", "remaining"]);
    const answers = [
      { kind: "permit", namespaceId, escalationId: act.id, expiresAt: expect.any(String) },
      { kind: "approval", namespaceId: waiting.namespaceId, escalationId: waiting.id, expiresAt: waiting.expiresAt },
    ].toSorted((one, two) => (one.namespaceId < two.namespaceId ? -1 : 1));
    expect(body.remaining).toEqual([
      { kind: "session", id: session, createdAt: officeTime, expiresAt: "2026-01-02T00:00:00.000Z" },
      {
        kind: "turn",
        namespaceId,
        executionId: "tried",
        actor: assistant,
        status: "running",
        startedAt: "2026-01-01T12:00:00Z",
        triedBy: { actor: bob.actor, credential: operator.id },
      },
      ...answers,
      { kind: "grant", namespaceId, grantId: "applied", subject: assistant },
      {
        kind: "grant",
        namespaceId,
        grantId: `approved-${asked.id}`,
        subject: assistant,
        expiresAt: "2026-01-01T13:00:00.000Z",
      },
      { kind: "grant", namespaceId, grantId: "derived", subject: alice },
      { kind: "grant", namespaceId, grantId: "made", subject: assistant },
    ]);
    expect(await namesOf(host, agent.id)).toEqual(["turn agents", "turn tried", "turn others"]);
    expect(await namesOf(host, other.id)).toEqual([`session ${session.toUpperCase()}`, "turn others", "grant another"]);
  });

  test("is listed in pages of any size, each once", async () => {
    const { host, operator } = await workAsBob();
    const all = await remainingOf(host, operator.id);
    expect(all).toHaveLength(8);
    for (const limit of [1, 2, 3, 7]) expect(await remainingOf(host, operator.id, limit)).toEqual(all);
  });

  for (const cursor of ["x", "sessions.", "nothing.0.", "[]", "grants.9"]) {
    test(`is not listed behind ${cursor}, which is no place in it`, async () => {
      const host = await office();
      const { status, body } = await host.get<Refusal>(`${path}/${host.operatorId}`, { cursor });
      expect([status, body.error.code]).toEqual([400, "invalid_request"]);
    });
  }

  test("ends with one act, which is in the audit log as each of its parts would be; and what is others' stays", async () => {
    const { host, namespaceId, operator, other, session, act, asked, waiting } = await workAsBob();
    const { status, body } = await endAll(host, operator.id);
    const ended = { sessions: 1, turns: 1, approvals: 1, permits: 1, grants: 4 };
    expect([status, body]).toEqual([200, { revoked: operator.id, ended }]);
    expect(await remainingOf(host, operator.id)).toEqual([]);
    const { stores } = host;
    expect((await stores.credentials.find(operator.id))?.revokedAt).toBe(officeTime);
    const escalations = await Promise.all(
      [act, asked, waiting].map((one) => stores.escalations.find(one.namespaceId, one.id, officeTime)),
    );
    expect(escalations.map((one) => one?.status)).toEqual(["withdrawn", "withdrawn", "pending"]);
    expect(escalations[2]?.approvals).toEqual([]);
    const grants = await stores.grants.findAllStored(namespaceId, [
      "made",
      "derived",
      "applied",
      `approved-${asked.id}`,
    ]);
    expect([...grants.values()].map(({ revokedAt }) => revokedAt)).toEqual(Array(4).fill(officeTime));
    expect((await stores.turns.cancelled()).length).toBeGreaterThan(0);
    const sessions = (await open()).db.selectFrom("sessions").select("credential_id");
    expect(await sessions.where("credential_id", "in", [operator.id, other.id]).execute()).toEqual([
      { credential_id: other.id },
    ]);
    expect((await namesOf(host, other.id)).slice(1)).toEqual(["turn others", "grant another"]);

    const changes = (await changesIn(host, namespaceId)).filter(
      ({ metadata }) => metadata?.["operator"] === host.operatorId,
    );
    const done = changes.filter(({ outcome }) => outcome === "succeeded");
    expect(changes).toHaveLength(2 * done.length);
    expect(
      done
        .map(({ action, grantId, metadata }) => [action, grantId ?? metadata?.["turn"] ?? metadata?.["escalation"]])
        .toSorted(),
    ).toEqual(
      [
        ["escalation.withdraw", act.id],
        ["escalation.withdraw", `approved-${asked.id}`],
        ["grant.revoke", "applied"],
        ["grant.revoke", "derived"],
        ["grant.revoke", "made"],
        ["turn.cancel", "tried"],
      ].toSorted(),
    );
    expect((await changesIn(host, waiting.namespaceId)).at(-1)).toMatchObject({
      outcome: "succeeded",
      action: "escalation.drop",
      metadata: { escalation: waiting.id },
    });
    const ofOperators = (await changesIn(host, "operators")).filter(({ outcome }) => outcome === "succeeded");
    expect(ofOperators.find(({ action }) => action === "session.end")).toMatchObject({
      receiver: bob.actor,
      metadata: { session, operator: host.operatorId },
    });
    expect(ofOperators.find(({ action }) => action === "credential.revoke")).toMatchObject({
      metadata: { credential: operator.id, andEverything: true, operator: host.operatorId },
    });
  });

  test("ends also when the credential was revoked before, and a second time nothing is left to end", async () => {
    const { host, operator } = await workAsBob();
    await host.post(`${path}/revoke`, { id: operator.id });
    // The session ended with its credential.
    expect((await namesOf(host, operator.id)).map((name) => name.split(" ")[0])).not.toContain("session");
    expect(await remainingOf(host, operator.id)).toHaveLength(7);
    host.time.now = later;
    const ended = { ...nothing, turns: 1, approvals: 1, permits: 0, grants: 4 };
    // By then no one can use the permit.
    expect((await endAll(host, operator.id)).body).toEqual({ revoked: operator.id, ended });
    expect((await endAll(host, operator.id)).body).toEqual({ revoked: operator.id, ended: nothing });
    expect((await host.stores.credentials.find(operator.id))?.revokedAt).toBe(officeTime);
  });

  test("what has ended by itself is not listed: sessions of another token, turns, permits that were used, grants", async () => {
    const { host, namespaceId, operator, act } = await workAsBob();
    const { stores } = host;
    await stores.credentials.rotate(operator.id, new Date(officeTime));
    await stores.turns.cancel(turnKey(namespaceId, "tried"));
    const writer = await begin(host, operator, namespaceId, "over", {
      triedBy: { actor: bob.actor, credential: operator.id },
    });
    await writer.write([endedEntry("over")], progress);
    for (const id of ["made", "applied"]) await stores.grants.revoke(namespaceId, id, officeTime);
    const { database } = { database: await open() };
    await database.db
      .insertInto("uses")
      .values({ namespace_id: namespaceId, grant_id: `permit\n${act.id}`, used: 1 })
      .execute();
    const names = (await namesOf(host, operator.id)).map((name) => name.split(" ")[0]);
    expect(names.toSorted()).toEqual(["approval", "grant", "grant"]);
  });

  test("a turn is a credential's by what started it, not by what it says", async () => {
    const host = await office();
    const namespaceId = newTenant();
    const [one, other] = [await make(host, namespaceId), await make(host, namespaceId)];
    await begin(host, one, namespaceId, "one");
    const { request, ...rest } = turnToBegin(namespaceId, "other");
    const payload = { credential: { credential: { id: one.id, namespaceId, purposes: ["support"] } } };
    const naming = { ...request, message: { ...request.message, payload } };
    const caller = { credential: { id: other.id, namespaceId, access } };
    await beginTurn(host.stores.turns, { ...rest, request: naming }, { caller, headers: {}, facts: {} });
    // A token of an identity provider may have any name.
    const foreign = { lastsUntil: "2099-01-01T00:00:00.000Z" };
    const theirs = { caller: { credential: { id: one.id, namespaceId, access }, foreign }, headers: {}, facts: {} };
    await beginTurn(host.stores.turns, turnToBegin(namespaceId, "foreign"), theirs);
    expect(await namesOf(host, one.id)).toEqual(["turn one"]);
    expect((await endAll(host, one.id)).body.ended).toEqual({ ...nothing, turns: 1 });
    // The engine that resumes turns is told, so that one that waits ends at once.
    expect(host.wakes()).toBe(1);
    expect(await namesOf(host, other.id)).toEqual(["turn other"]);
  });

  test("a grant that needed two people is left behind by both of them", async () => {
    const host = await office(2);
    const namespaceId = newTenant();
    const asked = await askIn(host.stores, namespaceId);
    const carol = { kind: "human", userId: "carol" } as const;
    const [first, second] = [
      await make(host, "operators", bob),
      await make(host, "operators", { ...bob, actor: carol }),
    ];
    for (const { token } of [first, second])
      await sendAs(host, token, "/admin/v1/escalations/approve", { namespaceId, id: asked.id, ask: asked.ask });
    const name = `grant approved-${asked.id}`;
    expect([await namesOf(host, first.id), await namesOf(host, second.id)]).toEqual([[name], [name]]);
    expect((await endAll(host, first.id)).body.ended).toEqual({ ...nothing, grants: 1 });
    expect(await namesOf(host, second.id)).toEqual([]);
  });

  describe("with a thousand grants", () => {
    const ids = Array.from({ length: 1000 }, (_, place) => `made-${1000 + place}`);

    async function makeThousand() {
      const host = await office();
      const namespaceId = newTenant();
      const operator = await make(host, "operators", bob);
      const issue = ids.map((id) => grant(id, { namespaceId }));
      const { revision } = await host.stores.grants.readState(namespaceId);
      const changes = { issue, revoke: [], at: officeTime, madeWith: operator.id };
      expect(await host.stores.grants.changeAll(namespaceId, changes, revision)).toBe(true);
      return { host, namespaceId, operator };
    }

    test("a page has as many as were asked for, and all of them end", async () => {
      const { host, namespaceId, operator } = await makeThousand();
      const pages = await readPages<Shown>(host, `${path}/${operator.id}`, { limit: 400 });
      expect(pages.map(({ remaining }) => remaining.length)).toEqual([400, 400, 200]);
      expect((await endAll(host, operator.id)).body.ended).toEqual({ ...nothing, grants: 1000 });
      const stored = await host.stores.grants.findAllStored(namespaceId, ids);
      expect([...stored.values()].filter(({ revokedAt }) => revokedAt === officeTime)).toHaveLength(1000);
    });

    test("two who end them at once revoke each of them once", async () => {
      const { host, operator } = await makeThousand();
      const both = await Promise.all([endAll(host, operator.id), endAll(host, operator.id)]);
      const counts = both.map(({ body }) => (body.ended as { grants: number }).grants);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1000);
      expect(await remainingOf(host, operator.id)).toEqual([]);
    });

    test("a page reads so many, however few have not ended", async () => {
      const { host, namespaceId, operator } = await makeThousand();
      const ended = ids.slice(0, 990).map((id) => grant(id, { namespaceId }));
      await host.stores.grants.revokeAll(ended, officeTime);
      const pages = await readPages<Shown>(host, `${path}/${operator.id}`, { limit: 25 });
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.flatMap(({ remaining }) => remaining)).toHaveLength(10);
    });

    test("a host that dies after the first of them leaves the credential revoked, and the rest to the operator who does it again", async () => {
      const { host, operator, namespaceId } = await makeThousand();
      await begin(host, operator, namespaceId, "tried", { triedBy: { actor: bob.actor, credential: operator.id } });
      const { grants, turns } = host.stores;
      const { revokeAll } = grants;
      let calls = 0;
      grants.revokeAll = (...given) => ((calls += 1) === 2 ? Promise.reject(new Error("dead")) : revokeAll(...given));
      expect((await endAll(host, operator.id)).status).toBe(500);
      expect((await host.stores.credentials.find(operator.id))?.revokedAt).toBe(officeTime);
      expect(await remainingOf(host, operator.id)).toHaveLength(501);
      const { cancel } = turns;
      turns.cancel = () => Promise.reject(new Error("dead"));
      expect((await endAll(host, operator.id)).status).toBe(500);
      expect(await namesOf(host, operator.id)).toEqual(["turn tried"]);
      turns.cancel = cancel;
      expect((await endAll(host, operator.id)).body.ended).toEqual({ ...nothing, turns: 1 });
      expect(await remainingOf(host, operator.id)).toEqual([]);
    });
  });

  for (const { name, to, sent } of [
    {
      name: "a grant",
      to: "/admin/v1/grants",
      sent: (_host: Office, namespaceId: string) => grant("late", { namespaceId }),
    },
    {
      name: "a list of changes",
      to: "/admin/v1/grants/apply",
      sent: (host: Office, namespaceId: string) => listWith(host, namespaceId, "late"),
    },
  ]) {
    test(`${name} cannot be issued by a request that began before its credential was revoked`, async () => {
      const host = await office();
      const namespaceId = newTenant();
      const operator = await make(host, "operators", bob);
      const { grants } = host.stores;
      const revoked = () => host.stores.credentials.revoke(operator.id, officeTime);
      const { issue, changeAll, readState } = grants;
      grants.issue = async (...given) => revoked().then(() => issue(...given));
      grants.changeAll = async (tenant, changes) => {
        await revoked();
        return changeAll(tenant, changes, (await readState(tenant)).revision);
      };
      const answer = await sendAs<Refusal>(host, operator.token, to, await sent(host, namespaceId));
      expect([answer.status, answer.body.error.code]).toEqual([403, "permission_denied"]);
      expect(await grants.findStored(namespaceId, "late")).toBeUndefined();
      expect(await remainingOf(host, operator.id)).toEqual([]);
    });
  }

  describe("is the business of", () => {
    for (const { who, role, ofTenant, shows, ends } of [
      { who: "an admin of all tenants", role: "admin", ofTenant: false, shows: 200, ends: 200 },
      { who: "an admin of its tenant", role: "admin", ofTenant: true, shows: 200, ends: 200 },
      { who: "an auditor of its tenant, who reads", role: "auditor", ofTenant: true, shows: 200, ends: 403 },
      { who: "no reviewer of its tenant", role: "reviewer", ofTenant: true, shows: 403, ends: 403 },
    ] as const) {
      test(who, async () => {
        const host = await office();
        const namespaceId = newTenant();
        const agent = await make(host, namespaceId);
        await begin(host, agent, namespaceId, "turn");
        const asker = await enterAs(host, role, ofTenant ? namespaceId : undefined);
        expect((await asker.send(`${path}/${agent.id}`)).status).toBe(shows);
        expect((await asker.send(`${path}/revoke`, { id: agent.id, andEverything: true })).status).toBe(ends);
        expect(await namesOf(host, agent.id)).toEqual(ends === 200 ? [] : ["turn turn"]);
      });
    }

    for (const role of ["admin", "auditor"] as const) {
      test(`no ${role} of another tenant, for whom it is not there`, async () => {
        const host = await office();
        const namespaceId = newTenant();
        const agent = await make(host, namespaceId);
        await begin(host, agent, namespaceId, "turn");
        const operator = await make(host, "operators", bobAs("admin", namespaceId));
        const stranger = await enterAs(host, role, newTenant());
        for (const { id } of [agent, operator]) {
          const shown = await stranger.send<Refusal>(`${path}/${id}`);
          expect([shown.status, shown.body.error.code]).toEqual([404, "not_found"]);
          const ended = await stranger.send(`${path}/revoke`, { id, andEverything: true });
          expect(ended.status).toBe(role === "admin" ? 404 : 403);
        }
        expect(await namesOf(host, agent.id)).toEqual(["turn turn"]);
      });
    }

    test("no admin of one tenant, when it is an operator's, also of that tenant", async () => {
      const host = await office();
      const namespaceId = newTenant();
      const colleague = await make(host, "operators", bobAs("reviewer", namespaceId));
      const admin = await enterAs(host, "admin", namespaceId);
      expect((await admin.send(`${path}/${colleague.id}`)).status).toBe(404);
      expect((await admin.send(`${path}/revoke`, { id: colleague.id, andEverything: true })).status).toBe(404);
    });
  });

  test("the last admin of all tenants and what they left behind stay, unless that is forced", async () => {
    const { host, operator } = await workAsBob();
    const { credentials } = host.stores;
    const { revokeUnlessLastAdmin } = credentials;
    credentials.revokeUnlessLastAdmin = () => Promise.resolve("last admin");
    expect((await endAll(host, operator.id)).status).toBe(409);
    expect(await remainingOf(host, operator.id)).toHaveLength(8);
    credentials.revokeUnlessLastAdmin = revokeUnlessLastAdmin;
    const sent = { id: operator.id, force: true, andEverything: true };
    expect((await host.post(`${path}/revoke`, sent)).status).toBe(200);
    expect(await remainingOf(host, operator.id)).toEqual([]);
  });
});
