import { describe, expect, test } from "vitest";
import type { Grant } from "turnpike/contracts";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase } from "../../../test/databases.ts";
import { changesIn, officeTime, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { bobAs } from "../../../test/operators.ts";
import { alice, assistant, context, grant } from "../../../test/records.ts";
import { failingAt, recordStatements } from "../../../test/watched-database.ts";
import { openStores } from "../../compose/stores.ts";

interface Applied {
  state: string;
  issued: string[];
  revoked: string[];
  descendants: Grant[];
  preview?: { looked: number; changed: { before: object; after: object }[] };
}

const path = "/admin/v1/grants/apply";

/** A grant that is not issued yet. */
function draft(id: string, changes: Partial<Grant> = {}) {
  const { namespaceId: _tenant, issuedAt: _time, metadata: _metadata, ...rest } = grant(id, changes);
  return rest;
}

const delegable = { constraints: { delegationDepth: 1 } };
const child = { parentId: "parent", issuer: assistant, subject: alice, constraints: { delegationDepth: 0 } };

async function stateOf({ post }: Office, namespaceId: string): Promise<string> {
  const { body, status } = await post<Applied>(path, { namespaceId, dryRun: true });
  expect(status).toBe(200);
  return body.state;
}

/** The ids of the grants of a tenant that are not revoked. */
async function liveIn({ stores }: Pick<Office, "stores">, namespaceId: string): Promise<string[]> {
  const all = await stores.grants.list(namespaceId, { limit: 5000 });
  return all.filter(({ revokedAt }) => revokedAt === undefined).map(({ id }) => id);
}

describe.each(databaseKinds)("applying grants on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("all of a change is made at once, counts from the next call on, and each part is in the audit log", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    await desk.stores.grants.issue(grant("old", { namespaceId }));
    const issue = [draft("parent", delegable), draft("child", child)];
    const state = await stateOf(desk, namespaceId);
    const { status, body } = await desk.post<Applied>(path, { namespaceId, state, issue, revoke: ["old"] });
    expect([status, body.issued, body.revoked]).toEqual([200, ["parent", "child"], ["old"]]);
    expect(body.state).toBe(await stateOf(desk, namespaceId));
    expect(await liveIn(desk, namespaceId)).toEqual(["child", "parent"]);
    expect(await desk.stores.grants.find(namespaceId, "child")).toMatchObject({
      ...child,
      issuedAt: "2026-01-01T12:00:00.000Z",
    });
    const asked = { action: "read", resource: { namespace: "files", path: ["notes"] } };
    const decision = await desk.kernel.authorize(context({ namespaceId }), asked);
    expect(decision).toMatchObject({ allowed: true, matchedGrantId: "parent" });
    const events = (await changesIn(desk, namespaceId)).map(({ outcome, action, grantId }) => [
      outcome,
      action,
      grantId,
    ]);
    expect(events.toSorted()).toEqual([
      ["allowed", "grant.create", "parent"],
      ["allowed", "grant.derive", "child"],
      ["allowed", "grant.revoke", "old"],
      ["succeeded", "grant.create", "parent"],
      ["succeeded", "grant.derive", "child"],
      ["succeeded", "grant.revoke", "old"],
    ]);
  });

  test("a dry run changes nothing and records nothing", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    await desk.stores.grants.issue(grant("old", { namespaceId }));
    const change = { namespaceId, dryRun: true, issue: [draft("new")], revoke: ["old"] };
    const { body } = await desk.post<Applied>(path, change);
    const regions = { at: officeTime, opened: [], closed: [], changed: [] };
    expect(body).toEqual({ state: body.state, issued: ["new"], revoked: ["old"], descendants: [], regions });
    expect(await liveIn(desk, namespaceId)).toEqual(["old"]);
    expect(await changesIn(desk, namespaceId)).toEqual([]);
  });

  test("a dry run with a preview says which decisions would be others", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    await desk.stores.grants.issue(grant("old", { namespaceId }));
    const act = { action: "read", resource: { namespace: "files", path: ["notes"] } };
    await desk.kernel.authorize(context({ namespaceId }), act);
    const preview = async (change: object) =>
      (await desk.post<Applied>(path, { namespaceId, dryRun: true, preview: true, ...change })).body.preview;
    expect(await preview({ revoke: ["old"] })).toMatchObject({
      looked: 1,
      changed: [{ before: { allowed: true }, after: { allowed: false } }],
    });
    // What replaces it allows the same.
    expect(await preview({ revoke: ["old"], issue: [draft("new")] })).toMatchObject({ looked: 1, changed: [] });
  });

  test("a change that rests on another state is refused, whatever was changed by whom, and nothing is recorded", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    const state = await stateOf(desk, namespaceId);
    await desk.stores.grants.issue(grant("other", { namespaceId }));
    const refused = await desk.post<Refusal>(path, { namespaceId, state, issue: [draft("new")] });
    expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
    const later = await stateOf(desk, namespaceId);
    await desk.stores.grants.revoke(namespaceId, "other", "2026-01-01T12:00:00.000Z");
    expect((await desk.post(path, { namespaceId, state: later, revoke: ["other"] })).status).toBe(409);
    expect(await liveIn(desk, namespaceId)).toEqual([]);
    expect(await changesIn(desk, namespaceId)).toEqual([]);
  });

  test("changes elsewhere on the host are not in the way", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    const state = await stateOf(desk, namespaceId);
    await desk.stores.grants.issue(grant("other", { namespaceId: newTenant() }));
    expect((await desk.post(path, { namespaceId, state, issue: [draft("new")] })).status).toBe(200);
  });

  describe("nothing of a change is made, and nothing is recorded, when one part of it", () => {
    const wider = [{ ...grant("x").capabilities[0], actions: ["read", "delete"] }] as Grant["capabilities"];
    for (const { name, issue = [], revoke = [], status, says } of [
      {
        name: "has budgets, which this host does not count",
        issue: [draft("fine"), draft("limited", { constraints: { budgets: [{ unit: "EUR", limit: "20" }] } })],
        status: 400,
        says: /^\/issue\/1\/constraints\/budgets: this host counts no budgets yet/,
      },
      {
        name: "is wider than its parent",
        issue: [draft("fine"), draft("parent", delegable), draft("child", { ...child, capabilities: wider })],
        status: 400,
        says: /^\/issue\/2\/parentId: this grant would never count: /,
      },
      {
        name: "is derived from one that is revoked with it",
        issue: [draft("child", { ...child, parentId: "existing" })],
        revoke: ["existing"],
        status: 400,
        says: /^\/issue\/0\/parentId: /,
      },
      {
        name: "has a parent that is not there",
        issue: [draft("fine"), draft("child", { ...child, parentId: "missing" })],
        status: 400,
        says: /^\/issue\/1\/parentId: /,
      },
      {
        name: "has an id that is taken",
        issue: [draft("fine"), draft("existing")],
        status: 409,
        says: /^\/issue\/1\/id: /,
      },
      {
        name: "has the id of another part",
        issue: [draft("fine"), draft("fine")],
        status: 409,
        says: /^\/issue\/1\/id: /,
      },
      {
        name: "has an id that permits have",
        issue: [draft("permit\nx")],
        status: 400,
        says: /^\/issue\/0\/id: /,
      },
      { name: "revokes what is not there", revoke: ["existing", "missing"], status: 400, says: /^\/revoke\/1: / },
      { name: "revokes what is revoked", revoke: ["existing", "gone"], status: 400, says: /^\/revoke\/1: / },
      { name: "revokes the same twice", revoke: ["existing", "existing"], status: 400, says: /^\/revoke: / },
    ]) {
      test(name, async () => {
        const desk = await office();
        const namespaceId = newTenant();
        await desk.stores.grants.issue(grant("existing", { namespaceId, ...delegable }));
        await desk.stores.grants.issue(grant("gone", { namespaceId }));
        await desk.stores.grants.revoke(namespaceId, "gone", "2026-01-01T11:00:00.000Z");
        const state = await stateOf(desk, namespaceId);
        for (const dryRun of [true, false]) {
          const answer = await desk.post<Refusal>(path, { namespaceId, state, issue, revoke, dryRun });
          expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringMatching(says)]);
        }
        expect(await liveIn(desk, namespaceId)).toEqual(["existing"]);
        expect(await changesIn(desk, namespaceId)).toEqual([]);
      });
    }
  });

  test("a change without the state that it rests on is refused, and so is a preview of what is done", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    expect((await desk.post<Refusal>(path, { namespaceId, issue: [draft("new")] })).body.error.message).toMatch(
      /\/state: /,
    );
    const state = await stateOf(desk, namespaceId);
    expect((await desk.post(path, { namespaceId, state, preview: true })).status).toBe(400);
  });

  test("derived grants that a revocation makes invalid are named, unless they are revoked with it", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    const depth = (delegationDepth: number) => ({ constraints: { delegationDepth } });
    for (const one of [
      grant("a", depth(3)),
      grant("b", { ...depth(2), issuer: assistant, parentId: "a" }),
      grant("c", { ...depth(1), issuer: assistant, parentId: "b" }),
      grant("d", { ...depth(0), issuer: assistant, parentId: "c" }),
    ])
      await desk.stores.grants.issue({ ...one, namespaceId });
    const named = async (revoke: string[]) =>
      (await desk.post<Applied>(path, { namespaceId, dryRun: true, revoke })).body.descendants.map(({ id }) => id);
    expect(await named(["b"])).toEqual(["c", "d"]);
    expect(await named(["a", "c"])).toEqual(["b", "d"]);
    expect(await named(["d"])).toEqual([]);
  });

  test("of two applies that rest on the same state one is made, and the other is refused as a whole", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    const state = await stateOf(desk, namespaceId);
    const answers = await Promise.all(
      ["one", "two", "three"].map((name) =>
        desk.post(path, { namespaceId, state, issue: [draft(`${name}-1`), draft(`${name}-2`)] }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
    const live = await liveIn(desk, namespaceId);
    expect(live).toHaveLength(2);
    expect(new Set(live.map((id) => id.split("-")[0])).size).toBe(1);
  });

  test("an apply that dies at any statement is made as a whole or not at all", async () => {
    const database = await openFresh(kind);
    const { grants } = openStores(database);
    const changes = (round: string) => ({
      issue: Array.from({ length: 150 }, (_, place) => grant(`${round}-${place}`, { namespaceId: "acme" })),
      revoke: [`old-${round}-1`, `old-${round}-2`],
      at: "2026-01-01T12:00:00.000Z",
    });
    const seed = async (round: string): Promise<number> => {
      for (const id of changes(round).revoke) await grants.issue(grant(id, { namespaceId: "acme" }));
      return (await grants.readState("acme")).revision;
    };
    const { database: watched, statements } = recordStatements(database);
    const watchedStore = openStores(watched).grants;
    const revision = await seed("whole");
    statements.length = 0;
    expect(await watchedStore.changeAll("acme", changes("whole"), revision)).toBe(true);
    const count = statements.length;
    expect(count).toBeGreaterThan(5);
    for (let statement = 1; statement <= count; statement += 1)
      for (const when of ["before", "after"] as const) {
        const round = `${statement}-${when}`;
        const at = await seed(round);
        const { state } = await grants.readState("acme");
        const dying = openStores(failingAt(database, statement, when)).grants;
        const { issue, revoke } = changes(round);
        await expect(dying.changeAll("acme", { ...changes(round) }, at)).rejects.toThrow(Error);
        const live = new Set(await liveIn({ stores: openStores(database) }, "acme"));
        const [issued, left] = [issue.filter(({ id }) => live.has(id)), revoke.filter((id) => live.has(id))];
        // Only the answer to the commit is lost after it.
        const isMade = issued.length > 0;
        expect([issued.length, left.length]).toEqual(isMade ? [150, 0] : [0, 2]);
        expect((await grants.readState("acme")).state === state).toBe(!isMade);
        expect(isMade).toBe(statement === count && when === "after");
      }
  });

  test("a thousand grants are issued, and revoked, in one request", async () => {
    const desk = await office();
    const namespaceId = newTenant();
    const issue = Array.from({ length: 1000 }, (_, place) => draft(`grant-${place}`));
    const state = await stateOf(desk, namespaceId);
    const made = await desk.post<Applied>(path, { namespaceId, state, issue });
    expect([made.status, (await liveIn(desk, namespaceId)).length]).toEqual([200, 1000]);
    const revoke = issue.map(({ id }) => id);
    const gone = await desk.post<Applied>(path, { namespaceId, state: made.body.state, revoke });
    expect([gone.status, await liveIn(desk, namespaceId)]).toEqual([200, []]);
    const more = [...issue, draft("one-more")];
    expect((await desk.post(path, { namespaceId, dryRun: true, issue: more })).status).toBe(400);
  });

  test("an operator of one tenant changes nothing in another, whatever the body says", async () => {
    const desk = await office();
    const [own, other] = [newTenant(), newTenant()];
    const access = bobAs("admin", own);
    const { token } = await desk.stores.credentials.create({ namespaceId: "operators", access });
    const send = async (body: object): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      const request = new Request(`http://host${path}`, { method: "POST", headers, body: JSON.stringify(body) });
      return (await desk.handler(request))?.status ?? 0;
    };
    const state = await stateOf(desk, other);
    expect(await send({ namespaceId: other, dryRun: true })).toBe(403);
    expect(await send({ namespaceId: other, state, issue: [draft("new")] })).toBe(403);
    expect(await send({ namespaceId: own, state, issue: [{ ...draft("new"), namespaceId: other }] })).toBe(400);
    expect(await send({ namespaceId: own, state, issue: [draft("new")] })).toBe(200);
    expect([await liveIn(desk, own), await liveIn(desk, other)]).toEqual([["new"], []]);
  });

  test("when the audit log cannot be written, nothing is made", async () => {
    let isBroken = false;
    const database = await open();
    const { audit } = openStores(database);
    const record: typeof audit.record = (event) =>
      isBroken && event.grantId === "b" ? Promise.reject(new Error("disk full")) : audit.record(event);
    const desk = await openOffice(database, { audit: { record } });
    const namespaceId = newTenant();
    const state = await stateOf(desk, namespaceId);
    isBroken = true;
    const issue = [draft("a"), draft("b"), draft("c")];
    const answer = await desk.post<Refusal>(path, { namespaceId, state, issue });
    expect([answer.status, answer.body.error.code]).toEqual([503, "audit_unavailable"]);
    expect(await liveIn(desk, namespaceId)).toEqual([]);
    const events = await changesIn(desk, namespaceId);
    expect(events.filter(({ outcome }) => outcome === "failed").map(({ grantId }) => grantId)).toEqual(["a", "c"]);
  });
});

test("of two hosts on one PostgreSQL that apply at the same state one is refused", async () => {
  const stores = (await openPair()).map((database) => openStores(database).grants);
  const [one, two] = await Promise.all(stores.map((grants) => grants.readState("acme")));
  expect(one).toEqual(two);
  const made = await Promise.all(
    stores.map((grants, host) =>
      grants.changeAll(
        "acme",
        { issue: [grant(`from-${host}`, { namespaceId: "acme" })], revoke: [], at: "2026-01-01T12:00:00.000Z" },
        one?.revision ?? 0,
      ),
    ),
  );
  expect(made.toSorted()).toEqual([false, true]);
});
