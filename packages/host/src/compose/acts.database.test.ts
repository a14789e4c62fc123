import { describe, expect, test } from "vitest";
import type { Capability, Constraints } from "turnpike/contracts";
import { databaseKinds, newTenant, openFresh } from "../../test/databases.ts";
import { makeReviewers, oona } from "../../test/office.ts";
import { alice, assistant, grant } from "../../test/records.ts";
import { openWiredHost, type WiredTestHost } from "../../test/wired-host.ts";
import { openRuntimes } from "../turns/index.ts";

const start = Date.parse("2026-01-01T12:00:00Z");
const shell = { action: "run", resource: { namespace: "shell", path: ["deploy"] } };
const mail = { action: "send", resource: { namespace: "mail", path: ["bob"] } };

/** A host whose clock the test sets, and the assistant of a tenant in it. */
interface World {
  host: WiredTestHost;
  tenant: string;
  token: string;
  credentialId: string;
  /** Lets so many seconds pass. */
  pass(seconds: number): void;
  issue(id: string, need: typeof shell, constraints?: Constraints, changes?: Partial<Capability>): Promise<void>;
  begin(changes?: object): ReturnType<WiredTestHost["post"]>;
  finish(outcome: object, id?: string): ReturnType<WiredTestHost["post"]>;
  read(id?: string): ReturnType<WiredTestHost["get"]>;
  /** How often a grant, or a permit, was used. */
  used(grantId: string): Promise<number>;
}

const act = {
  version: 1,
  id: "act-1",
  tool: "deploy",
  needs: [shell],
  requestedAt: "2026-01-01T12:00:00Z",
  traceId: "trace-1",
};
const done = { version: 1, traceId: "trace-1", status: "succeeded", output: { url: "https://app.test" } };
const nothing = { code: "no_disk", message: "No space is left.", nothingHappened: true };
const undone = { version: 1, traceId: "trace-1", status: "failed", error: nothing };

describe.each(databaseKinds)("an act on %s", (kind) => {
  const open = async (): Promise<World> => {
    let at = start;
    const runtimes = await openRuntimes({ kind: "none" }, {});
    const host = await openWiredHost(await openFresh(kind), { ...runtimes, clock: () => new Date(at) });
    const tenant = newTenant();
    const { stores } = host;
    const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
    const { id: credentialId, token } = await stores.credentials.create({ namespaceId: tenant, access });
    return {
      host,
      tenant,
      token,
      credentialId,
      pass: (seconds) => void (at += seconds * 1000),
      async issue(id, { action, resource }, constraints = {}, changes = {}) {
        const capabilities: Capability[] = [{ resource, actions: [action], scope: "exact", ...changes }];
        await stores.grants.issue(grant(id, { namespaceId: tenant, capabilities, constraints }));
      },
      begin: (changes = {}) => host.post(token, "/v1/acts", { ...act, ...changes }),
      finish: (outcome, id = "act-1") => host.post(token, `/v1/acts/${id}/outcome`, outcome),
      read: (id = "act-1") => host.get(token, `/v1/acts/${id}?traceId=trace-1`),
      used: (id) => stores.usage.used(tenant, id),
    };
  };

  test("is allowed, reported, and answered with its outcome from then on", async () => {
    const world = await open();
    await world.issue("run", shell);
    const allowed = { status: "allowed", id: "act-1", expiresAt: "2026-01-01T12:05:00.000Z", grants: ["run"] };
    expect(await world.begin()).toMatchObject({ status: 200, body: allowed });
    expect(await world.read()).toMatchObject({ status: 200, body: allowed });
    const pending = await world.begin();
    expect([pending.status, pending.body, pending.headers.get("retry-after")]).toMatchObject([
      409,
      { error: { code: "replay_pending" } },
      "1",
    ]);
    world.pass(1);
    const completedAt = "2026-01-01T12:00:01.000Z";
    const succeeded = { status: "succeeded", id: "act-1", output: { url: "https://app.test" }, completedAt };
    for (const time of ["first", "second"]) {
      expect([time, (await world.finish(done)).body]).toEqual([time, succeeded]);
      world.pass(1);
    }
    expect((await world.read()).body).toEqual(succeeded);
    const replayed = await world.begin({ requestedAt: "2026-01-01T12:30:00Z" });
    expect([replayed.body, replayed.headers.get("idempotency-replayed")]).toEqual([succeeded, "true"]);
    expect(await world.begin({ tool: "destroy" })).toMatchObject({
      status: 409,
      body: { error: { code: "replay_conflict" } },
    });
    expect(await world.finish({ ...done, output: "other" })).toMatchObject({
      status: 409,
      body: { error: { code: "outcome_conflict" } },
    });
  });

  test("takes one use of each grant that it needs, however many needs that covers, or nothing at all", async () => {
    const world = await open();
    const deep = { ...shell, resource: { namespace: "shell", path: ["deploy", "all"] } };
    await world.issue("shell", shell, { maxUses: 3 }, { scope: "descendants" });
    const needs = [shell, deep, mail];
    expect((await world.begin({ needs })).body).toMatchObject({
      status: "denied",
      id: "act-1",
      error: { code: "no_matching_grant" },
      requiredAuthority: {
        capabilities: needs.map(({ action, resource }) => ({ actions: [action], resource, scope: "exact" })),
      },
    });
    expect(await world.used("shell")).toBe(0);
    await world.issue("mail", mail, { maxUses: 1 });
    expect((await world.begin({ needs })).body).toMatchObject({ status: "allowed", grants: ["shell", "mail"] });
    expect([await world.used("shell"), await world.used("mail")]).toEqual([1, 1]);
    expect((await world.begin({ id: "act-2", needs })).body).toMatchObject({ error: { code: "grant_exhausted" } });
    expect([await world.used("shell"), await world.used("mail")]).toEqual([1, 1]);
  });

  test("is never handed out again by itself once its lease is over, and takes its outcome once, late", async () => {
    const world = await open();
    await world.issue("run", shell, { maxUses: 1 });
    await world.begin({ leaseSeconds: 10 });
    world.pass(10);
    const interrupted = { status: "interrupted", id: "act-1", expiresAt: "2026-01-01T12:00:10.000Z" };
    expect((await world.read()).body).toEqual(interrupted);
    expect(await world.begin({ leaseSeconds: 10 })).toMatchObject({
      status: 409,
      body: { error: { code: "replay_interrupted" } },
    });
    const { code, message } = nothing;
    const late = {
      status: "failed",
      id: "act-1",
      completedAt: "2026-01-01T12:00:10.000Z",
      late: true,
      error: { code, message },
    };
    expect((await world.finish(undone)).body).toEqual(late);
    expect(await world.finish(done)).toMatchObject({ status: 409 });
    expect([(await world.read()).body, await world.used("run")]).toEqual([late, 1]);
    expect((await world.begin({ leaseSeconds: 10 })).body).toEqual(late);
  });

  test("gives back what it took when nothing happened, and its id with it", async () => {
    const world = await open();
    await world.issue("run", shell, { maxUses: 1 });
    await world.begin();
    expect((await world.finish(undone)).body).toMatchObject({ status: "failed", error: nothing });
    expect(await world.used("run")).toBe(0);
    expect((await world.finish(undone)).body).toMatchObject({ status: "failed", error: nothing });
    expect((await world.read()).body).toMatchObject({ status: "failed", error: nothing });
    expect((await world.begin()).body).toMatchObject({ status: "allowed" });
    expect(await world.used("run")).toBe(1);
    expect((await world.finish(done)).body).toMatchObject({ status: "succeeded" });
    expect(await world.used("run")).toBe(1);
  });

  test("is reported after its grant was revoked, and not with a credential that was", async () => {
    const world = await open();
    const { stores } = world.host;
    await world.issue("run", shell);
    await world.begin();
    await world.begin({ id: "act-2" });
    await stores.grants.revoke(world.tenant, "run", "2026-01-01T12:00:00.000Z");
    expect((await world.begin({ id: "act-3" })).body).toMatchObject({ status: "denied" });
    expect((await world.finish(done)).body).toMatchObject({ status: "succeeded" });
    await stores.credentials.revoke(world.credentialId, "2026-01-01T12:00:00.000Z");
    expect(await world.finish(done, "act-2")).toMatchObject({ status: 401 });
  });

  describe("that needs approval", () => {
    const openAsked = async () => {
      const world = await open();
      await makeReviewers(world.host.stores, ["operator-1"]);
      await world.issue("run", shell, { maxUses: 2 }, { approval: "each" });
      const waiting = await world.begin({ arguments: { to: "production" } });
      const { escalationId, requestHash } = waiting.body as { escalationId: string; requestHash: string };
      const answer = {
        namespaceId: world.tenant,
        id: escalationId,
        ask: requestHash,
        by: "operator-1",
        person: oona,
        at: "2026-01-01T12:00:00.000Z",
      };
      return { ...world, waiting, answer, again: () => world.begin({ arguments: { to: "production" } }) };
    };

    test("waits, takes nothing, and says where a person answers", async () => {
      const { waiting, answer, used, again } = await openAsked();
      expect([waiting.status, waiting.body]).toEqual([
        202,
        {
          status: "waiting",
          id: "act-1",
          escalationId: answer.id,
          requestHash: answer.ask,
          expiresAt: "2026-01-02T12:00:00.000Z",
          url: `https://host.test/console/${answer.namespaceId}/questions/${answer.id}`,
        },
      ]);
      expect((await again()).body).toEqual(waiting.body);
      expect(await used("run")).toBe(0);
    });

    test("says that it waits, until a person has answered", async () => {
      const { waiting, answer, host, again, read, begin } = await openAsked();
      expect(await read()).toMatchObject({ status: 200, body: waiting.body });
      await begin({ id: "act-2" });
      expect((await read()).body).toEqual(waiting.body);
      await host.stores.escalations.approve(answer);
      expect(await read()).toMatchObject({ status: 404 });
      await again();
      expect((await read()).body).toMatchObject({ status: "allowed" });
    });

    test("runs under the approval of exactly that act, once", async () => {
      const { answer, host, used, again, begin } = await openAsked();
      await host.stores.escalations.approve(answer);
      expect((await begin({ id: "act-2", arguments: { to: "staging" } })).status).toBe(202);
      expect((await again()).body).toMatchObject({ status: "allowed", grants: ["run"] });
      expect([await used("run"), await used(`permit\n${answer.id}`)]).toEqual([1, 1]);
    });

    test("of two that race for its approval one runs, and a person is asked about the other while a use is left", async () => {
      const { answer, host, used, begin, tenant } = await openAsked();
      for (const [first, second, says, counted] of [
        ["act-1", "act-2", "waiting", 1],
        ["act-3", "act-4", "denied", 2],
      ] as const) {
        const [asked] = await host.stores.escalations.list(tenant, { status: "pending", now: answer.at, limit: 1 });
        await host.stores.escalations.approve({ ...answer, id: asked?.id ?? "" });
        const race = [first, second].map((id) => begin({ id, arguments: { to: "production" } }));
        const states = (await Promise.all(race)).map(({ body }) => body["status"]);
        expect(states.toSorted()).toEqual(["allowed", says].toSorted());
        expect(await used("run")).toBe(counted);
      }
      expect(await host.stores.escalations.list(tenant, { status: "pending", now: answer.at, limit: 9 })).toEqual([]);
    });

    test("gives its permit back, while that has not expired", async () => {
      const { answer, host, used, again, finish, pass } = await openAsked();
      await host.stores.escalations.approve(answer);
      await again();
      await finish(undone);
      expect([await used("run"), await used(`permit\n${answer.id}`)]).toEqual([0, 0]);
      expect((await again()).body).toMatchObject({ status: "allowed" });
      pass(15 * 60 + 1);
      expect((await finish(undone)).body).toMatchObject({ late: true });
      expect(await used(`permit\n${answer.id}`)).toBe(1);
    });

    test("does not revive a permit whose approver was revoked with their answers meanwhile", async () => {
      const { answer, host, used, again, finish } = await openAsked();
      await host.stores.escalations.approve(answer);
      await again();
      await endAnswersOf(host, answer.by);
      await finish(undone);
      expect([await used("run"), await used(`permit\n${answer.id}`)]).toEqual([0, 1]);
      expect((await again()).status).toBe(202);
    });

    test("does not give back a permit that expired within the lease", async () => {
      const world = await openAsked();
      await world.host.stores.escalations.approve(world.answer, { expiresAt: "2026-01-01T12:01:00.000Z" });
      await world.again();
      world.pass(61);
      expect((await world.finish(undone)).body).toMatchObject({ status: "failed", error: nothing });
      expect([await world.used("run"), await world.used(`permit\n${world.answer.id}`)]).toEqual([0, 1]);
    });
  });

  for (const { name, changes, status, body } of [
    {
      name: "that needs 65 things",
      changes: { needs: Array.from({ length: 65 }, () => shell) },
      status: 400,
      body: { error: { code: "invalid_request" } },
    },
    {
      name: "that needs an unknown action",
      changes: { needs: [{ ...shell, action: "fly" }] },
      status: 200,
      body: { status: "denied", error: { code: "no_matching_grant" } },
    },
    {
      name: "of a tool that the host offers",
      changes: { tool: "files.read" },
      status: 400,
      body: { error: { code: "tool_is_offered" } },
    },
    {
      name: "whose id no URL can name",
      changes: { id: ".." },
      status: 400,
      body: { error: { code: "invalid_request" } },
    },
    {
      name: "that brings a context",
      changes: { context: {} },
      status: 400,
      body: { error: { code: "invalid_request" } },
    },
    {
      name: "on a resource of another owner",
      changes: { needs: [{ ...shell, resource: { ...shell.resource, owner: { kind: "human", userId: "bob" } } }] },
      status: 200,
      body: { status: "denied", error: { code: "invalid_request" } },
    },
  ]) {
    test(`${name} is refused, and takes neither id nor use`, async () => {
      const world = await open();
      await world.issue("run", shell, { maxUses: 1 });
      expect(await world.begin(changes)).toMatchObject({ status, body });
      expect(await world.read()).toMatchObject({ status: 404 });
      expect(await world.used("run")).toBe(0);
    });
  }

  test("of another actor is not found, like one that did not begin", async () => {
    const world = await open();
    await world.issue("run", shell);
    await world.begin();
    const access = {
      actor: { kind: "agent", agentId: "other" },
      owner: alice,
      authority: alice,
      purposes: ["support"],
    };
    const { token } = await world.host.stores.credentials.create({ namespaceId: world.tenant, access } as never);
    const others = [
      await world.host.post(token, "/v1/acts/act-1/outcome", done),
      await world.host.get(token, "/v1/acts/act-1?traceId=trace-1"),
      await world.finish(done, "act-2"),
      await world.read("act-2"),
      await world.finish({ ...done, traceId: undefined, executionId: "trace-1" }),
    ];
    expect(others.map(({ status, body }) => [status, (body["error"] as { code: string }).code])).toEqual(
      others.map(() => [404, "not_found"]),
    );
    expect((await world.read()).body).toMatchObject({ status: "allowed" });
  });

  test("that is tried dry says what would be decided, takes nothing and asks no one", async () => {
    const world = await open();
    await world.issue("run", shell, { maxUses: 1 });
    await world.issue("mail", mail, {}, { approval: "each" });
    const dry = async (changes: object) => (await world.begin({ dryRun: true, ...changes })).body;
    expect(await dry({})).toEqual({ status: "allowed", id: "act-1", grants: ["run"] });
    expect(await dry({ needs: [{ ...shell, action: "fly" }] })).toMatchObject({ status: "denied" });
    expect(await dry({ needs: [shell, mail] })).toEqual({
      status: "waiting",
      id: "act-1",
      requestHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(await world.used("run")).toBe(0);
    expect(await world.host.stores.escalations.countPending("2026-01-01T12:00:00.000Z")).toBe(0);
    expect(await world.read()).toMatchObject({ status: 404 });
  });

  test("that only shadows is allowed, takes nothing, and is recorded as what it would have been", async () => {
    const world = await open();
    await world.issue("run", shell, { maxUses: 1 });
    expect((await world.begin({ shadow: true })).body).toEqual({
      status: "allowed",
      id: "act-1",
      grants: ["run"],
      shadow: { status: "allowed" },
    });
    expect((await world.begin({ shadow: true, needs: [mail] })).body).toMatchObject({
      status: "allowed",
      grants: [],
      shadow: { status: "denied", error: { code: "no_matching_grant" } },
    });
    expect(await world.used("run")).toBe(0);
    const events = await eventsOf(world);
    expect(events.map(({ outcome, metadata }) => [outcome, metadata?.["shadow"]])).toEqual([
      ["shadow", "denied"],
      ["shadow", "allowed"],
    ]);
  });

  test("with an output of more than 256 KiB is accepted, and its output is not stored", async () => {
    const world = await open();
    await world.issue("run", shell);
    await world.begin();
    const output = "x".repeat(262_145);
    expect((await world.finish({ ...done, output })).body).toMatchObject({ status: "succeeded", output });
    expect((await world.finish({ ...done, output })).body).toMatchObject({ status: "interrupted" });
    expect(await world.begin()).toMatchObject({ status: 409, body: { error: { code: "replay_interrupted" } } });
  });

  test("is begun once by many at once, and its outcome is recorded once", async () => {
    const world = await open();
    await world.issue("run", shell, { maxUses: 5 });
    const begun = await Promise.all(Array.from({ length: 12 }, () => world.begin()));
    expect(begun.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(begun.filter(({ status }) => status === 409)).toHaveLength(11);
    expect(await world.used("run")).toBe(1);
    const outcomes = [done, undone, { ...done, output: 2 }];
    const ended = await Promise.all([...outcomes, ...outcomes].map((outcome) => world.finish(outcome)));
    const taken = ended.filter(({ status }) => status === 200).map(({ body }) => body["status"]);
    expect([taken.length, new Set(taken).size]).toEqual([2, 1]);
    const events = await eventsOf(world);
    expect(events.filter(({ type }) => type === "act.finished")).toHaveLength(1);
    expect(events.filter(({ outcome }) => outcome === "allowed")).toHaveLength(1);
  });

  test("is recorded with its tool, its id and its grants, never with its arguments or its output", async () => {
    const world = await open();
    await world.issue("run", shell);
    await world.begin({ arguments: { to: "secret-argument" } });
    await world.finish({ ...done, output: "secret-output" });
    const events = await eventsOf(world);
    expect(
      events.map(({ type, outcome, tool, operationId, grantId }) => [type, outcome, tool, operationId, grantId]),
    ).toEqual([
      ["act.finished", "succeeded", "deploy", "act-1", "run"],
      ["authorization.checked", "allowed", "deploy", "act-1", "run"],
    ]);
    expect(JSON.stringify(events)).not.toContain("secret-");
  });
});

/** Revokes an operator's credential, and ends what was answered with it. */
async function endAnswersOf({ stores }: WiredTestHost, by: string): Promise<void> {
  const at = "2026-01-01T12:00:00.000Z";
  await stores.credentials.revoke(by, at, (transaction) =>
    stores.escalations.endAnswersOf(transaction, by, { by: oona, credential: "operator-2", at }),
  );
}

/** What the audit log has of the tenant, the newest first. */
async function eventsOf({ host, tenant }: World) {
  const rows = await host.stores.audit.list(tenant, { limit: 50 });
  return rows.map(({ event }) => event);
}
