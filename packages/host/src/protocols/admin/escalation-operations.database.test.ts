import type { EscalationRecord } from "../../admin-contract/records.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { AgentRef, Grant, TurnResult } from "turnpike/contracts";
import { defineTool } from "turnpike/kernel";
import { createTurnExecutor, escalationTool, type RuntimePlugin } from "turnpike/runtime";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../../test/databases.ts";
import {
  askIn,
  bob,
  changesIn,
  officeTime,
  escalation,
  oona,
  openOffice,
  readPages,
  stateOf,
  wanted,
  type Office,
  type Refusal,
} from "../../../test/office.ts";
import { alice, assistant, context, grant } from "../../../test/records.ts";

interface Page {
  escalations: EscalationRecord[];
  cursor?: string;
}

interface Approved {
  escalation: EscalationRecord;
  grant: Grant;
}

const path = "/admin/v1/escalations";
const tomorrow = "2026-01-02T12:00:00.000Z";
const soon = "2026-01-01T13:00:00Z";
const readDiary = { action: "read", resource: { namespace: "files", path: ["diary"] } };

/** What an answer has to name. */
function about({ namespaceId, id, ask }: EscalationRecord) {
  return { namespaceId, id, ask };
}

/** Asks for several places, a second after each other; the oldest escalation is first. */
async function askMany(
  { stores }: Office,
  namespaceId: string,
  places: readonly string[],
  from = 0,
): Promise<EscalationRecord[]> {
  const asked: EscalationRecord[] = [];
  for (const [index, place] of places.entries()) {
    const requestedAt = `2026-01-01T12:00:${String(from + index).padStart(2, "0")}.000Z`;
    const [capability] = wanted.capabilities;
    const capabilities = [{ ...capability, resource: { namespace: "files", path: [place] } }];
    asked.push(await askIn(stores, namespaceId, escalation({ requestedAt }, { capabilities })));
  }
  return asked;
}

function idsOf(pages: readonly Page[]): string[] {
  return pages.flatMap(({ escalations }) => escalations.map(({ id }) => id));
}

describe.each(databaseKinds)("escalations for operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  describe("the queue", () => {
    test("shows an escalation with everything that its answer is about", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await adminApi.stores.escalations.add(context({ namespaceId, executionId: "turn-1" }), escalation());
      const { status, body } = await adminApi.get<Page>(path, { namespaceId });
      expect([status, body]).toEqual([
        200,
        {
          escalations: [
            {
              id: expect.stringMatching(/^\S+$/),
              namespaceId,
              status: "pending",
              ask: expect.stringMatching(/^[0-9a-f]{64}$/),
              requester: assistant,
              reviewer: alice,
              authority: alice,
              purpose: "support",
              reason: "May I read the diary?",
              requestedAuthority: escalation().requestedAuthority,
              traceId: "trace-1",
              executionId: "turn-1",
              requestedAt: "2026-01-01T12:00:00.000Z",
              expiresAt: "2026-01-02T12:00:00.000Z",
            },
          ],
        },
      ]);
    });

    test("is filtered by what became of its escalations, newest first, and by tenant", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const [approved, denied, expired, pending] = await askMany(adminApi, namespaceId, ["a", "b", "c", "d"]);
      if (!approved || !denied || !expired || !pending) throw new Error("An escalation is missing.");
      await askMany(adminApi, newTenant(), ["e"]);
      await adminApi.post(`${path}/approve`, { ...about(approved), expiresAt: "2026-01-02T00:00:00Z" });
      await adminApi.post(`${path}/deny`, { ...about(denied), reason: "No." });
      adminApi.time.now = "2026-01-02T12:00:02.999Z";
      const rows: Record<string, string[]> = {
        approved: [approved.id],
        denied: [denied.id],
        expired: [expired.id],
        pending: [pending.id],
      };
      for (const [status, ids] of Object.entries(rows)) {
        const { body } = await adminApi.get<Page>(path, { namespaceId, status });
        expect(idsOf([body])).toEqual(ids);
        expect(body.escalations[0]?.status).toBe(status);
      }
      const all = (await adminApi.get<Page>(path, { namespaceId })).body;
      expect(idsOf([all])).toEqual([pending.id, expired.id, denied.id, approved.id]);
      expect(all.escalations.map(({ status }) => status)).toEqual(["pending", "expired", "denied", "approved"]);
    });

    test("shows one escalation by its id, in its tenant alone, and not against another filter", async () => {
      const adminApi = await office();
      const [namespaceId, other] = [newTenant(), newTenant()];
      const [record] = await askMany(adminApi, namespaceId, ["a", "b"]);
      const id = record?.id ?? "";
      const found = async (query: Record<string, string>) => idsOf([(await adminApi.get<Page>(path, query)).body]);
      expect(await found({ namespaceId, id })).toEqual([id]);
      expect(await found({ namespaceId, id, status: "pending" })).toEqual([id]);
      expect(await found({ namespaceId: other, id })).toEqual([]);
      expect(await found({ namespaceId, id: "q0" })).toEqual([]);
      expect(await found({ namespaceId, id, status: "denied" })).toEqual([]);
    });

    for (const [key, value] of [
      ["id", "nul\0"],
      ["cursor", "nul\0"],
      ["cursor", "%"],
      ["id", "' or 1=1 --"],
    ] as const) {
      test(`no escalation has the ${key} ${JSON.stringify(value)}`, async () => {
        const adminApi = await office();
        const { status, body } = await adminApi.get<Page>(path, { namespaceId: newTenant(), [key]: value });
        expect([status, body]).toEqual([200, { escalations: [] }]);
      });
    }

    for (const limit of [1, 2, 3, 5]) {
      test(`in pages of ${limit} neither repeats nor skips, whatever is asked between them`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        const asked = await askMany(adminApi, namespaceId, ["a", "b", "c", "d", "e"]);
        const pages = await readPages<Page>(adminApi, path, { namespaceId, limit }, async (page) => {
          await askMany(adminApi, namespaceId, [`late-${page}`], 10 + page);
        });
        expect(idsOf(pages)).toEqual(asked.map(({ id }) => id).toReversed());
      });
    }

    test("of one status continues behind an escalation that was answered between two pages", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const asked = await askMany(adminApi, namespaceId, ["a", "b", "c", "d"]);
      const query = { namespaceId, limit: 1, status: "pending" };
      const pages = await readPages<Page>(adminApi, path, query, async (page) => {
        const answered = asked.at(-page);
        if (answered !== undefined) await adminApi.post(`${path}/deny`, { ...about(answered), reason: "No." });
      });
      expect(idsOf(pages)).toEqual(asked.map(({ id }) => id).toReversed());
    });
  });

  describe("an approval", () => {
    test("issues exactly what was asked, for the one purpose, until it ends; and the escalation is closed", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const record = await askIn(adminApi.stores, namespaceId);
      const sent = { ...about(record), expiresAt: soon, maxUses: 1 };
      const { status, body } = await adminApi.post<Approved>(`${path}/approve`, sent);
      expect(status).toBe(200);
      expect(body.grant).toMatchObject({
        namespaceId,
        subject: assistant,
        issuer: alice,
        capabilities: [{ resource: { namespace: "files", path: ["diary"] }, actions: ["read"], scope: "exact" }],
        constraints: { purposes: ["support"], expiresAt: "2026-01-01T13:00:00Z", maxUses: 1 },
        issuedAt: "2026-01-01T12:00:00.000Z",
      });
      expect(body.grant.capabilities).toHaveLength(1);
      expect(body.grant).not.toHaveProperty("parentId");
      expect(body.escalation).toEqual({
        ...record,
        status: "approved",
        decidedAt: officeTime,
        decidedBy: adminApi.operatorId,
        approvals: [
          { by: oona, credential: adminApi.operatorId, at: officeTime, expiresAt: "2026-01-01T13:00:00Z", maxUses: 1 },
        ],
        grantId: body.grant.id,
      });
      expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toEqual([body.grant]);
      expect((await adminApi.get<Page>(path, { namespaceId })).body.escalations).toEqual([body.escalation]);
      expect((await changesIn(adminApi, namespaceId)).at(-1)).toMatchObject({
        action: "escalation.approve",
        receiver: assistant,
        grantId: body.grant.id,
        metadata: { escalation: record.id },
      });
    });

    test("is bound to the ask: for something else it is a conflict, and nothing happens", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const [first, second] = await askMany(adminApi, namespaceId, ["a", "b"]);
      const before = await stateOf(await open(), namespaceId);
      for (const ask of [second?.ask, "0".repeat(64), "nul\0"]) {
        const sent = { namespaceId, id: first?.id, ask };
        for (const [verb, more] of [
          ["approve", { expiresAt: soon }],
          ["deny", { reason: "No." }],
        ] as const) {
          const { status, body } = await adminApi.post<Refusal>(`${path}/${verb}`, { ...sent, ...more });
          expect([status, body.error.code]).toEqual([409, "conflict"]);
          expect(body.error.message).toContain("/ask");
        }
      }
      expect(await stateOf(await open(), namespaceId)).toEqual(before);
    });

    const tampered: { name: string; change(record: EscalationRecord): unknown }[] = [
      {
        name: "asks for another place",
        change: (record) => ({
          ...record,
          requestedAuthority: {
            ...record.requestedAuthority,
            capabilities: [{ resource: { namespace: "files", path: [] }, actions: ["*"], scope: "descendants" }],
          },
        }),
      },
      {
        name: "asks for more uses",
        change: (record) => ({
          ...record,
          requestedAuthority: { ...record.requestedAuthority, constraints: { maxUses: 999 } },
        }),
      },
      { name: "is another actor's", change: (record) => ({ ...record, requester: bob }) },
      { name: "is on another authority", change: (record) => ({ ...record, authority: bob }) },
      { name: "is for another purpose", change: (record) => ({ ...record, purpose: "spying" }) },
      { name: "is another tenant's", change: (record) => ({ ...record, namespaceId: "elsewhere" }) },
      {
        name: "asks for another place and says so",
        change: ({ requestedAuthority, ...record }) => ({ ...record, ask: "0".repeat(64), requestedAuthority }),
      },
    ];
    for (const { name, change } of tampered) {
      test(`of an escalation that was changed in the database and now ${name} is refused`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        const record = await askIn(adminApi.stores, namespaceId);
        const row = (await open()).db.updateTable("escalations").where("namespace_id", "=", namespaceId);
        await row.set({ content: JSON.stringify(change(record)) }).execute();
        const { status } = await adminApi.post(`${path}/approve`, { ...about(record), expiresAt: soon });
        expect(status).toBe(409);
        expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toEqual([]);
        expect(await adminApi.stores.grants.list("elsewhere", { limit: 9 })).toEqual([]);
      });
    }

    const rows: { name: string; asked?: object | "nothing"; terms: object }[] = [
      { name: "that has ended already", terms: { expiresAt: officeTime } },
      { name: "that ended long ago", terms: { expiresAt: "2020-01-01T00:00:00Z" } },
      { name: "for more uses than were asked for", terms: { expiresAt: soon, maxUses: 3 } },
      { name: "of an escalation that requests nothing", asked: "nothing", terms: { expiresAt: soon } },
      {
        name: "of an ask whose own end has come",
        asked: { ...wanted, constraints: { expiresAt: officeTime } },
        terms: { expiresAt: soon },
      },
      {
        name: "that ends before what was asked for begins",
        asked: { ...wanted, constraints: { notBefore: "2026-01-01T14:00:00Z" } },
        terms: { expiresAt: soon },
      },
      {
        name: "that ends when what was asked for begins",
        asked: { ...wanted, constraints: { notBefore: soon } },
        terms: { expiresAt: soon },
      },
      {
        name: "of an ask for other purposes than that of the turn",
        asked: { ...wanted, constraints: { purposes: ["billing"] } },
        terms: { expiresAt: soon },
      },
    ];
    for (const { name, asked, terms } of rows) {
      test(`${name} is refused, and the escalation stays open`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        const made = asked === "nothing" ? withoutAsk() : escalation({}, asked);
        const record = await askIn(adminApi.stores, namespaceId, made);
        const before = await stateOf(await open(), namespaceId);
        const { status, body } = await adminApi.post<Refusal>(`${path}/approve`, { ...about(record), ...terms });
        expect([status, body.error?.code]).toEqual([400, "invalid_request"]);
        expect(await stateOf(await open(), namespaceId)).toEqual(before);
        expect(adminApi.errors).toEqual([]);
      });
    }

    test("never lasts longer or counts more than was asked for", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const constraints = { maxUses: 2, expiresAt: "2026-01-01T12:30:00Z", delegationDepth: 1 };
      const record = await askIn(adminApi.stores, namespaceId, escalation({}, { ...wanted, constraints }));
      const { body } = await adminApi.post<Approved>(`${path}/approve`, { ...about(record), expiresAt: soon });
      expect(body.grant.constraints).toEqual({ ...constraints, purposes: ["support"] });
    });

    test("counts in its tenant, for its purpose and its holder, over its owner's places, and until it ends", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const record = await askIn(adminApi.stores, namespaceId);
      const own = context({ namespaceId, now: officeTime });
      const isAllowed = async (changes: object = {}, request: object = {}) =>
        (await adminApi.kernel.authorize({ ...own, ...changes }, { ...readDiary, ...request })).allowed;
      expect(await isAllowed()).toBe(false);
      await adminApi.post(`${path}/approve`, { ...about(record), expiresAt: soon });
      expect(await isAllowed()).toBe(true);
      expect(await isAllowed({ now: "2026-01-01T12:59:59.999Z" })).toBe(true);
      expect(await isAllowed({ now: "2026-01-01T13:00:00.000Z" })).toBe(false);
      expect(await isAllowed({ now: "2026-01-01T11:59:59.999Z" })).toBe(false);
      expect(await isAllowed({ purpose: "billing" })).toBe(false);
      expect(await isAllowed({ actor: bob })).toBe(false);
      expect(await isAllowed({ authority: bob })).toBe(false);
      expect(await isAllowed({ namespaceId: newTenant() })).toBe(false);
      expect(await isAllowed({}, { action: "write" })).toBe(false);
      expect(await isAllowed({}, { resource: { namespace: "files", path: ["diary", "below"] } })).toBe(false);
    });

    test("over one owner's places says nothing about another's, though it is asked on the same authority", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const record = await askIn(adminApi.stores, namespaceId);
      await adminApi.post(`${path}/approve`, { ...about(record), expiresAt: soon });
      const ofBob = context({ namespaceId, now: officeTime, owner: bob });
      expect(await adminApi.kernel.authorize(ofBob, readDiary)).toMatchObject({ allowed: false });
    });
  });

  describe("an escalation is answered once", () => {
    const answers = { approve: { expiresAt: soon }, deny: { reason: "The diary stays private." } } as const;
    for (const first of ["approve", "deny"] as const) {
      for (const second of ["approve", "deny"] as const) {
        test(`${second} after ${first} is a conflict that says what was answered`, async () => {
          const adminApi = await office();
          const namespaceId = newTenant();
          const record = await askIn(adminApi.stores, namespaceId);
          const sent = about(record);
          expect((await adminApi.post(`${path}/${first}`, { ...sent, ...answers[first] })).status).toBe(200);
          const before = await stateOf(await open(), namespaceId);
          const { status, body } = await adminApi.post<Refusal>(`${path}/${second}`, { ...sent, ...answers[second] });
          expect([status, body.error.code]).toEqual([409, "conflict"]);
          expect(body.error.message).toContain(first === "approve" ? "approved" : "denied");
          expect(body.error.message).toContain("2026-01-01T12:00:00.000Z");
          expect(await stateOf(await open(), namespaceId)).toEqual(before);
        });
      }
    }

    test("a denial has its reason, issues nothing, and its words are not in the audit log", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const record = await askIn(adminApi.stores, namespaceId);
      const { status, body } = await adminApi.post(`${path}/deny`, { ...about(record), ...answers.deny });
      expect([status, body]).toEqual([
        200,
        {
          escalation: {
            ...record,
            status: "denied",
            answer: "The diary stays private.",
            decidedAt: officeTime,
            decidedBy: adminApi.operatorId,
          },
        },
      ]);
      expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toEqual([]);
      const events = await changesIn(adminApi, namespaceId);
      expect(events.at(-1)).toMatchObject({ action: "escalation.deny", receiver: assistant });
      expect(JSON.stringify(events)).not.toContain("diary");
    });

    test("an escalation that requests no authority can be denied", async () => {
      const adminApi = await office();
      const record = await askIn(adminApi.stores, newTenant(), withoutAsk());
      expect((await adminApi.post(`${path}/deny`, { ...about(record), reason: "No." })).status).toBe(200);
    });

    for (const verb of ["approve", "deny"] as const) {
      test(`until it expires: ${verb} is in time one instant before and a conflict from then on`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        const [first, second] = await askMany(adminApi, namespaceId, ["a", "b"]);
        if (!first || !second) throw new Error("An escalation is missing.");
        adminApi.time.now = tomorrow;
        const terms = { approve: { expiresAt: "2026-01-03T00:00:00Z" }, deny: answers.deny }[verb];
        const late = await adminApi.post<Refusal>(`${path}/${verb}`, { ...about(first), ...terms });
        expect([late.status, late.body.error.code]).toEqual([409, "conflict"]);
        expect(late.body.error.message).toContain("expired");
        expect((await adminApi.post(`${path}/${verb}`, { ...about(second), ...terms })).status).toBe(200);
        expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toHaveLength(verb === "approve" ? 1 : 0);
      });

      test(`and only where it was asked: ${verb} of nothing, or of another tenant's, is not found`, async () => {
        const adminApi = await office();
        const [tenant, other] = [newTenant(), newTenant()];
        const { id, ask } = await askIn(adminApi.stores, other);
        for (const sent of [
          { id, ask },
          { id: "q0", ask },
          { id: "nul\0", ask },
        ]) {
          const body = { namespaceId: tenant, ...sent, ...answers[verb] };
          const answer = await adminApi.post<Refusal>(`${path}/${verb}`, body);
          expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
        }
        expect((await adminApi.stores.escalations.find(other, id, officeTime))?.status).toBe("pending");
      });
    }

    test("of many answers at once one counts", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const record = await askIn(adminApi.stores, namespaceId);
      const verbs = ["approve", "deny", "approve", "approve", "deny"] as const;
      const said = await Promise.all(
        verbs.map((verb) => adminApi.post(`${path}/${verb}`, { ...about(record), ...answers[verb] })),
      );
      expect(said.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409]);
      const won = verbs[said.findIndex(({ status }) => status === 200)];
      expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toHaveLength(won === "approve" ? 1 : 0);
      expect(adminApi.errors).toEqual([]);
    });
  });

  test("what a turn asks for and an operator approves, the agent's next turn finds; once it is used up, no more", async () => {
    const reads: string[] = [];
    const readTool = defineTool({
      name: "files.peek",
      description: "Reads the diary.",
      namespace: "files",
      readWrite: "read",
      input: z.strictObject({}),
      requires: readDiary,
      run: () => reads.push("diary"),
    });
    const adminApi = await openOffice(await open(), { kernel: { tools: [readTool, escalationTool()] } });
    const namespaceId = newTenant();
    const may = (id: string, namespace: string, place: string[], action: string) =>
      grant(id, {
        namespaceId,
        capabilities: [{ resource: { namespace, path: place }, actions: [action], scope: "exact" }],
      });
    await adminApi.stores.grants.issue(may("run", "service.execution", ["agent", "assistant"], "invoke"));
    await adminApi.stores.grants.issue(may("ask", "service", ["escalation"], "request"));
    const turns = createTurnExecutor({ kernel: adminApi.kernel, runtime: peeking, clock: () => adminApi.time.now });
    const run = (executionId: string): Promise<TurnResult> => turns.execute(turnOf(namespaceId, executionId));

    expect((await run("turn-1")).status).toBe("escalated");
    const [record] = (await adminApi.get<Page>(path, { namespaceId, status: "pending" })).body.escalations;
    if (record === undefined) throw new Error("Nothing was asked.");
    expect(record).toMatchObject({ requester: assistant, reviewer: alice, executionId: "turn-1" });
    expect((await run("turn-2")).status).toBe("escalated");
    expect((await adminApi.get<Page>(path, { namespaceId })).body.escalations).toHaveLength(1);

    const approval = { ...about(record), expiresAt: soon, maxUses: 1 };
    expect((await adminApi.post(`${path}/approve`, approval)).status).toBe(200);
    expect(await run("turn-3")).toMatchObject({ status: "succeeded", output: "succeeded" });
    expect(reads).toHaveLength(1);
    expect((await run("turn-4")).status).toBe("escalated");
    const again = (await adminApi.get<Page>(path, { namespaceId, status: "pending" })).body.escalations;
    expect(again).toHaveLength(1);
    expect(again[0]?.id).not.toBe(record.id);
    expect(reads).toHaveLength(1);
  });
});

/** An escalation in words alone. */
function withoutAsk() {
  const { requestedAuthority: _asked, ...record } = escalation();
  return record;
}

/** Reads the diary when it may, and asks for it when it may not. */
const peeking: RuntimePlugin = {
  manifest: { id: "peeking", version: "1" },
  async run({ tools }, host) {
    if (!tools.some(({ name }) => name === "files.peek"))
      return { type: "escalate", reason: "May I read the diary?", requestedAuthority: wanted };
    const call = { id: "call-1", tool: "files.peek", arguments: {}, requestedAt: officeTime, traceId: "trace-1" };
    return { type: "complete", output: (await host.invokeTool(call)).status };
  },
};

function turnOf(namespaceId: string, executionId: string) {
  const trusted = context({ namespaceId, now: officeTime, enabledToolNamespaces: ["files", "service"] });
  const message = {
    version: 1 as const,
    id: `message-${executionId}`,
    createdAt: officeTime,
    traceId: "trace-1",
    purpose: "support",
    sender: alice,
    receiver: assistant,
    payload: "What is in the diary?",
  };
  return { version: 1 as const, executionId, agent: assistant as AgentRef, message, context: trusted };
}

describe("two operators at once, on hosts that share a PostgreSQL", () => {
  test("answer an escalation once: one of two approvals wins, and the other one is told what became of it", async () => {
    const adminApis = await Promise.all((await openPair()).map((database) => openOffice(database)));
    for (let round = 0; round < 10; round += 1) {
      const namespaceId = newTenant();
      const [here] = adminApis;
      if (here === undefined) throw new Error("There is no adminApi.");
      const record = await askIn(here.stores, namespaceId);
      const sent = { ...about(record), expiresAt: soon };
      const said = await Promise.all(adminApis.map(({ post }) => post<Refusal>(`${path}/approve`, sent)));
      expect(said.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      expect(said.find(({ status }) => status === 409)?.body.error.code).toBe("conflict");
      const issued = await Promise.all(adminApis.map(({ stores }) => stores.grants.list(namespaceId, { limit: 9 })));
      expect(issued.map((grants) => grants.length)).toEqual([1, 1]);
    }
    expect(adminApis.flatMap(({ errors }) => errors)).toEqual([]);
  });

  test("what is asked and approved through one is found by the agent on the other with its next call", async () => {
    const [here, there] = await Promise.all((await openPair()).map((database) => openOffice(database)));
    if (!here || !there) throw new Error("An office is missing.");
    const own = context({ now: officeTime });
    expect((await there.kernel.authorize(own, readDiary)).allowed).toBe(false);
    const record = await askIn(there.stores, "tenant-1");
    await here.post(`${path}/approve`, { ...about(record), expiresAt: soon });
    expect((await there.kernel.authorize(own, readDiary)).allowed).toBe(true);
  });
});
