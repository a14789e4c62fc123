import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AuditEvent } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { openOffice, readPages, type Office, type Refusal } from "../../../test/office.ts";
import { access, alice, auditEvent, grant } from "../../../test/records.ts";
import type { Database } from "../../storage/database.ts";
import type { Schema } from "../../storage/schema.ts";

interface Page {
  events: { strand: number; sequence: number; event: AuditEvent }[];
  cursor?: string;
}

const path = "/admin/v1/audit";

function idsOf(pages: readonly Page[]): string[] {
  return pages.flatMap(({ events }) => events.map(({ event: { id } }) => id));
}

async function recordAll({ stores }: Office, namespaceId: string, events: readonly AuditEvent[]): Promise<void> {
  await Promise.all(events.map((event) => stores.audit.record({ ...event, namespaceId })));
}

function numbered(count: number): AuditEvent[] {
  return Array.from({ length: count }, (_, place) => auditEvent(`event-${place + 1}`));
}

interface Verdict {
  isWhole: boolean;
  rows: number;
  heads: object[];
  checkpoints: number;
  broken?: { strand?: number; sequence?: number; why: string };
}

async function verified({ get }: Office, namespaceId: string): Promise<Verdict> {
  return (await get<Verdict>(`${path}/verify`, { namespaceId })).body;
}

type Db = Database["db"];

const origin = "0".repeat(64);

/** The rows of a tenant, oldest first. */
function rowsOf(db: Db, namespaceId: string): Promise<Schema["audit"][]> {
  return db.selectFrom("audit").selectAll().where("namespace_id", "=", namespaceId).orderBy("sequence").execute();
}

/** Makes rows the whole audit log of a tenant, hashed as they have to be, with the head that they have to have. */
async function replaceAuditLog(db: Db, namespaceId: string, rows: readonly Schema["audit"][]): Promise<void> {
  await db.deleteFrom("audit").where("namespace_id", "=", namespaceId).execute();
  let [hash, sequence] = [origin, 0];
  for (const row of rows) {
    sequence += 1;
    hash = createHash("sha256").update(`${hash}\n${sequence}\n${row.content}`).digest("hex");
    await db
      .insertInto("audit")
      .values({ ...row, sequence, hash })
      .execute();
  }
  await db.updateTable("audit_heads").set({ sequence, hash }).where("namespace_id", "=", namespaceId).execute();
}

async function cutTail(db: Db, namespaceId: string, from: number): Promise<void> {
  await replaceAuditLog(db, namespaceId, (await rowsOf(db, namespaceId)).slice(0, from - 1));
}

/** Says of a row that it was denied, and hashes it and all behind it anew. */
async function rewriteTail(db: Db, namespaceId: string, from: number): Promise<void> {
  const denied = (row: Schema["audit"]): Schema["audit"] => ({
    ...row,
    outcome: "denied",
    content: row.content.replace('"outcome":"allowed"', '"outcome":"denied"'),
  });
  const rows = await rowsOf(db, namespaceId);
  await replaceAuditLog(
    db,
    namespaceId,
    rows.map((row) => (row.sequence < from ? row : denied(row))),
  );
}

const signedBy = (checkpoint: number): string => `checkpoint ${checkpoint} of 2026-01-01T12:00:00.000Z signed`;

/** What an attacker may do who has the database alone, to six rows of which the third and the sixth were signed. */
const attacks: {
  name: string;
  attack(db: Db, namespaceId: string): Promise<unknown>;
  found: { sequence: number; why: string };
}[] = [
  {
    name: "a cut of the newest rows",
    attack: (db, tenant) =>
      db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", ">", 4).execute(),
    found: { sequence: 5, why: "row 5 was changed or removed" },
  },
  {
    name: "a cut of the newest rows together with the head",
    attack: (db, tenant) => cutTail(db, tenant, 5),
    found: { sequence: 5, why: `row 5 was removed: ${signedBy(2)} row 6` },
  },
  {
    name: "a tail that was rewritten and properly hashed anew",
    attack: (db, tenant) => rewriteTail(db, tenant, 5),
    found: { sequence: 6, why: `row 6 or one before it was changed: ${signedBy(2)} another` },
  },
  {
    name: "a tail that was rewritten, hashed anew and grown beyond what was signed",
    async attack(db, tenant) {
      await rewriteTail(db, tenant, 5);
      const rows = await rowsOf(db, tenant);
      await replaceAuditLog(db, tenant, [...rows, ...rows]);
    },
    found: { sequence: 6, why: `row 6 or one before it was changed: ${signedBy(2)} another` },
  },
  {
    name: "an audit log that was replaced as a whole",
    attack: (db, tenant) => rewriteTail(db, tenant, 1),
    found: { sequence: 3, why: `row 3 or one before it was changed: ${signedBy(1)} another` },
  },
  {
    name: "a tenant without a row and without a head",
    async attack(db, tenant) {
      await db.deleteFrom("audit").where("namespace_id", "=", tenant).execute();
      await db.deleteFrom("audit_heads").where("namespace_id", "=", tenant).execute();
    },
    found: { sequence: 1, why: `row 1 was removed: ${signedBy(1)} row 3` },
  },
];

describe.each(databaseKinds)("the audit log for operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("is shown newest first, each event whole and with its place in the chain", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const event = auditEvent("event-1", {
      outcome: "denied",
      authority: alice,
      executionId: "turn-1",
      resource: { namespace: "files", path: ["notes", "ä\ud800"] },
      action: "read",
      reason: "no_matching_grant",
      metadata: { grants: [{ grantId: "grant-1", failed: "path" }] },
    });
    await recordAll(adminApi, namespaceId, [event, auditEvent("event-2")]);
    const { status, body } = await adminApi.get<Page>(path, { namespaceId });
    expect(status).toBe(200);
    expect(body).toEqual({
      events: [
        { strand: 0, sequence: 2, event: auditEvent("event-2", { namespaceId }) },
        { strand: 0, sequence: 1, event: { ...event, namespaceId } },
      ],
    });
  });

  describe("is filtered", () => {
    const events = [
      auditEvent("1", { at: "2026-01-01T11:59:59.999Z" }),
      auditEvent("2", { at: "2026-01-01T12:00:00.000Z", traceId: "trace-2" }),
      auditEvent("3", { at: "2026-01-01T12:00:00.000Z", actor: alice }),
      auditEvent("4", { at: "2026-01-01T12:00:00.001Z", type: "turn.ended", outcome: "denied" }),
      auditEvent("5", { at: "2026-01-01T12:30:00.000Z", outcome: "denied", traceId: "trace-2" }),
      auditEvent("6", { at: "2026-01-01T13:00:00.000Z", actor: { kind: "service", serviceId: "alice" } }),
      auditEvent("7", { at: "2026-01-01T13:00:00.000Z", traceId: "nul\0" }),
    ];
    const rows: { name: string; query: Record<string, string>; ids: string }[] = [
      { name: "nothing", query: {}, ids: "7654321" },
      { name: "a beginning, which belongs to it", query: { from: "2026-01-01T12:00:00Z" }, ids: "765432" },
      { name: "an end, which does not", query: { until: "2026-01-01T12:00:00Z" }, ids: "1" },
      { name: "a beginning elsewhere on earth", query: { from: "2026-01-01T14:30:00+02:00" }, ids: "765" },
      { name: "an end elsewhere on earth", query: { until: "2026-01-01T07:00:00.001-05:00" }, ids: "321" },
      {
        name: "a span of time",
        query: { from: "2026-01-01T12:00:00.001Z", until: "2026-01-01T13:00:00Z" },
        ids: "54",
      },
      {
        name: "a span that ends before it begins",
        query: { from: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z" },
        ids: "",
      },
      { name: "all of time, wherever one is", query: { until: "9999-12-31T23:59:59-01:00" }, ids: "7654321" },
      { name: "an actor", query: { actor: "human:alice" }, ids: "3" },
      { name: "an actor of another kind with the same id", query: { actor: "service:alice" }, ids: "6" },
      { name: "an actor who did nothing", query: { actor: "human:bob" }, ids: "" },
      { name: "a type", query: { type: "turn.ended" }, ids: "4" },
      { name: "an outcome", query: { outcome: "denied" }, ids: "54" },
      { name: "a trace", query: { traceId: "trace-2" }, ids: "52" },
      { name: "a trace that no column can hold as it is", query: { traceId: "nul\0" }, ids: "7" },
      { name: "the beginning of a trace", query: { traceId: "trace" }, ids: "" },
      {
        name: "everything at once",
        query: {
          from: "2026-01-01T12:00:00Z",
          until: "2026-01-01T13:00:00Z",
          actor: "agent:assistant",
          type: "tool.invoked",
          outcome: "denied",
          traceId: "trace-2",
        },
        ids: "5",
      },
    ];
    for (const { name, query, ids } of rows) {
      test(`by ${name}`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        await recordAll(adminApi, namespaceId, events);
        await recordAll(adminApi, newTenant(), events);
        expect(idsOf([(await adminApi.get<Page>(path, { namespaceId, ...query })).body]).join("")).toBe(ids);
        const pages = await readPages<Page>(adminApi, path, { namespaceId, ...query, limit: 2 });
        expect(idsOf(pages).join("")).toBe(ids);
      });
    }
  });

  describe("is searched by what its events say", () => {
    const facts = { resource: { namespace: "files", path: ["notes", "todo.md"] }, tool: "files.read" };
    const denied = { outcome: "denied", reason: "no_matching_grant" } as const;
    const searched = [
      auditEvent("1", { grantId: "grant-1", ...facts }),
      auditEvent("2", { ...denied, ...facts, tool: "files.list" }),
      auditEvent("3", { ...denied, reason: "grant_exhausted", resource: { namespace: "files", path: ["notes"] } }),
      auditEvent("4", { type: "operator.changed", metadata: { parentId: "grant-1" } }),
    ];
    for (const { query, ids } of [
      { query: { resource: "files/notes/todo.md" }, ids: "21" },
      { query: { resource: "files/notes" }, ids: "321" },
      { query: { tool: "files.read" }, ids: "1" },
      { query: { grant: "grant-1" }, ids: "41" },
      { query: { reason: "grant_exhausted" }, ids: "3" },
      { query: { text: "TODO.md" }, ids: "21" },
      { query: { text: "todo.md", outcome: "denied", reason: "no_matching_grant" }, ids: "2" },
    ]) {
      test(JSON.stringify(query), async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        for (const event of searched) await recordAll(adminApi, namespaceId, [event]);
        await recordAll(adminApi, newTenant(), searched);
        expect(idsOf(await readPages<Page>(adminApi, path, { namespaceId, ...query, limit: 1 })).join("")).toBe(ids);
      });
    }

    for (const { query, says } of [
      { query: { resource: "files//todo" }, says: "/resource: expected a place such as files/notes/todo.md" },
      { query: { text: " " }, says: "/text: expected more than white space" },
      { query: { text: "x".repeat(201) }, says: "/text: " },
      { query: { tool: "" }, says: "/tool: " },
      {
        query: { reason: "no_matching_grant", outcome: "allowed" },
        says: "/reason: expected it or this outcome, not both: only what was refused or failed has a reason",
      },
    ]) {
      test(`${JSON.stringify(query).slice(0, 80)} is refused`, async () => {
        const { status, body } = await (await office()).get<Refusal>(path, { namespaceId: newTenant(), ...query });
        expect([status, body.error.code]).toEqual([400, "invalid_request"]);
        expect(body.error.message).toContain(says);
      });
    }
  });

  for (const limit of [1, 2, 3, 7]) {
    test(`in pages of ${limit} neither repeats nor skips, whatever is recorded between them`, async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await recordAll(adminApi, namespaceId, numbered(7));
      const pages = await readPages<Page>(adminApi, path, { namespaceId, limit }, (page) =>
        recordAll(adminApi, namespaceId, [auditEvent(`late-${page}`)]),
      );
      expect(idsOf(pages)).toEqual(
        numbered(7)
          .map(({ id }) => id)
          .toReversed(),
      );
      expect(pages.slice(0, -1).map(({ events }) => events.length)).toEqual(pages.slice(0, -1).map(() => limit));
    });
  }

  test("of a tenant of which nothing is known is empty", async () => {
    const { status, body } = await (await office()).get<Page>(path, { namespaceId: newTenant() });
    expect([status, body]).toEqual([200, { events: [] }]);
  });

  test("has what the operators did, and reading it leaves no trace", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await adminApi.post("/admin/v1/namespaces", { namespaceId, actor: alice, update: { enable: ["files"] } });
    for (let reading = 0; reading < 3; reading += 1) {
      const { body } = await adminApi.get<Page>(path, { namespaceId, type: "operator.changed", actor: "human:oona" });
      expect(body.events.map(({ sequence, event }) => [sequence, event.outcome])).toEqual([
        [2, "succeeded"],
        [1, "allowed"],
      ]);
    }
  });

  for (const cursor of ["0", "-1", "01", "1.5", "1e3", "one", " 1", "9".repeat(16), "0x1"]) {
    test(`a cursor that no page gave is refused: ${JSON.stringify(cursor)}`, async () => {
      const { status, body } = await (await office()).get<Refusal>(path, { namespaceId: newTenant(), cursor });
      expect([status, body.error.code]).toEqual([400, "invalid_request"]);
      expect(body.error.message).toMatch(/^\/cursor: expected/);
    });
  }

  describe("is verified", () => {
    test("and whole when it was not touched: it says how many rows and which heads it saw", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await recordAll(adminApi, namespaceId, numbered(5));
      const { db } = await open();
      const last = db.selectFrom("audit").select("hash").where("namespace_id", "=", namespaceId);
      const { hash } = await last.where("sequence", "=", 5).executeTakeFirstOrThrow();
      const whole = { isWhole: true, rows: 5, heads: [{ strand: 0, sequence: 5, hash }] };
      expect(await verified(adminApi, namespaceId)).toEqual({ ...whole, checkpoints: 0 });
      await adminApi.checkpoints.write();
      expect(await verified(adminApi, namespaceId)).toEqual({ ...whole, checkpoints: 1 });
    });

    test("and broken at the first row that was changed or removed, for its tenant alone", async () => {
      const adminApi = await office();
      const [touched, other] = [newTenant(), newTenant()];
      for (const tenant of [touched, other]) await recordAll(adminApi, tenant, numbered(5));
      const { db } = await open();
      const rows = db.deleteFrom("audit").where("namespace_id", "=", touched);
      await rows.where("sequence", "in", [3, 5]).execute();
      expect(await verified(adminApi, touched)).toMatchObject({
        isWhole: false,
        rows: 2,
        broken: { strand: 0, sequence: 3, why: "row 3 was changed or removed" },
      });
      expect(await verified(adminApi, other)).toMatchObject({ isWhole: true, rows: 5 });
    });

    test("part by part: only the last part says that it is whole", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await recordAll(adminApi, namespaceId, numbered(5));
      await adminApi.checkpoints.write();
      const whole = await verified(adminApi, namespaceId);
      const parts = await readPages<Verdict & { cursor?: string }>(adminApi, `${path}/verify`, {
        namespaceId,
        rows: 2,
      });
      expect(parts.map(({ isWhole, rows, heads, checkpoints }) => [isWhole, rows, heads, checkpoints])).toEqual([
        [false, 2, [], 0],
        [false, 2, [], 0],
        [true, 1, whole.heads, 1],
      ]);
      for (const cursor of ["3", "0_2_abc", `0_2_${"x".repeat(64)}`, `0_2_${"0".repeat(64)}_`]) {
        const { status, body } = await adminApi.get<Refusal>(`${path}/verify`, { namespaceId, cursor });
        expect([status, body.error.message]).toEqual([400, "/cursor: expected the cursor of the part before."]);
      }
      const elsewhere = { namespaceId, rows: 2, cursor: `0_2_${"0".repeat(64)}` };
      expect((await adminApi.get<Verdict>(`${path}/verify`, elsewhere)).body).toMatchObject({
        isWhole: false,
        broken: { sequence: 3 },
      });
    });

    test("unless nothing is known of its tenant, which is not the same as an empty audit log", async () => {
      const adminApi = await office();
      const { status, body } = await adminApi.get<Refusal>(`${path}/verify`, { namespaceId: newTenant() });
      expect([status, body.error.code]).toEqual([404, "not_found"]);
      const [holder, caller] = [newTenant(), newTenant()];
      await adminApi.stores.grants.issue(grant("grant-1", { namespaceId: holder }));
      await adminApi.stores.credentials.create({ namespaceId: caller, access });
      for (const tenant of [holder, caller])
        expect(await verified(adminApi, tenant)).toEqual({ isWhole: true, rows: 0, heads: [], checkpoints: 0 });
    });

    for (const { name, attack, found } of attacks) {
      for (const isRestarted of [false, true]) {
        test(`and ${name} is found${isRestarted ? ", also by a host that started since" : ""}`, async () => {
          const adminApi = await office();
          const [namespaceId, other] = [newTenant(), newTenant()];
          for (const tenant of [namespaceId, other]) await recordAll(adminApi, tenant, numbered(3));
          await adminApi.checkpoints.write();
          for (const tenant of [namespaceId, other]) await recordAll(adminApi, tenant, numbered(3));
          await adminApi.checkpoints.write();
          await attack((await open()).db, namespaceId);
          const asked = isRestarted
            ? await openOffice(await open(), { checkpointFile: adminApi.checkpointFile })
            : adminApi;
          const verdict = await verified(asked, namespaceId);
          expect(verdict).toMatchObject({ isWhole: false, broken: { strand: 0, ...found } });
          expect(await verified(asked, other)).toMatchObject({ isWhole: true, rows: 6, checkpoints: 2 });
          // And whatever comes later does not heal it.
          await recordAll(asked, namespaceId, numbered(9));
          await asked.checkpoints.write();
          expect((await verified(asked, namespaceId)).isWhole).toBe(false);
        });
      }
    }

    test("and a cut of what is not signed yet is found while the host runs that wrote it", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await recordAll(adminApi, namespaceId, numbered(5));
      await cutTail((await open()).db, namespaceId, 3);
      expect((await verified(adminApi, namespaceId)).broken).toEqual({
        strand: 0,
        sequence: 3,
        why: "row 3 was removed: this host wrote row 5",
      });
    });

    test("and rows that came after the newest checkpoint are no break, nor are those of a killed process", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await recordAll(adminApi, namespaceId, numbered(2));
      await adminApi.checkpoints.write();
      await recordAll(adminApi, namespaceId, numbered(2));
      expect(await verified(adminApi, namespaceId)).toMatchObject({ isWhole: true, rows: 4, checkpoints: 1 });
      const next = await openOffice(await open(), { checkpointFile: adminApi.checkpointFile });
      expect(await verified(next, namespaceId)).toMatchObject({ isWhole: true, rows: 4, checkpoints: 1 });
    });

    test("and whole every time while it is written, checkpoints are made and others verify", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const progress = { isDone: false };
      const write = async (): Promise<void> => {
        for (let round = 0; round < 20; round += 1) {
          await recordAll(adminApi, namespaceId, numbered(30));
          await adminApi.checkpoints.write();
        }
        progress.isDone = true;
      };
      const verdicts: Verdict[] = [];
      const verify = async (): Promise<void> => {
        do verdicts.push(await verified(adminApi, namespaceId));
        while (!progress.isDone);
      };
      await recordAll(adminApi, namespaceId, numbered(1));
      await Promise.all([write(), verify(), verify()]);
      expect(verdicts.filter(({ isWhole }) => !isWhole)).toEqual([]);
      const last = await verified(adminApi, namespaceId);
      expect(last).toMatchObject({ isWhole: true, rows: 601 });
      // A verification takes the head so far along, so that the next checkpoint may sign two heads of the audit log.
      expect(last.checkpoints).toBeGreaterThanOrEqual(20);
    });

    test("and not whole when its checkpoints are not, whatever the rows say", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      for (let round = 0; round < 3; round += 1) {
        await recordAll(adminApi, namespaceId, numbered(1));
        await adminApi.checkpoints.write();
      }
      const lines = readFileSync(adminApi.checkpointFile, "utf8").split("\n");
      writeFileSync(adminApi.checkpointFile, lines.toSpliced(1, 1).join("\n"));
      for (const tenant of [namespaceId, "unknown"]) {
        const { isWhole, checkpoints, broken } = await verified(adminApi, tenant);
        expect([isWhole, checkpoints, broken?.sequence]).toEqual([false, 0, undefined]);
        expect(broken?.why).toContain("line 2 does not go on from the line before: lines were changed or removed");
      }
    });
  });

  describe("is held against signed heads from elsewhere", () => {
    const checkpoint = { sequence: 7, at: "2026-01-01T12:00:00.000Z" };
    const hold = async (adminApi: Office, namespaceId: string, heads: readonly object[]) =>
      (await adminApi.post<Pick<Verdict, "isWhole" | "broken">>(`${path}/verify`, { namespaceId, heads })).body;

    test("which are on it, or not: then it says what became of the row, and which checkpoint knows", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await recordAll(adminApi, namespaceId, numbered(5));
      const { db } = await open();
      const found = db.selectFrom("audit").select(["sequence", "hash"]).where("namespace_id", "=", namespaceId);
      const heads = (await found.execute()).map((row) => ({ strand: 0, ...row, checkpoint }));
      expect(await hold(adminApi, namespaceId, heads)).toEqual({ isWhole: true });
      await cutTail(db, namespaceId, 4);
      expect(await hold(adminApi, namespaceId, heads)).toEqual({
        isWhole: false,
        broken: {
          strand: 0,
          sequence: 4,
          why: "row 4 was removed: checkpoint 7 of 2026-01-01T12:00:00.000Z signed row 4",
        },
      });
      await rewriteTail(db, namespaceId, 2);
      expect(await hold(adminApi, namespaceId, heads)).toMatchObject({
        isWhole: false,
        broken: {
          sequence: 2,
          why: "row 2 or one before it was changed: checkpoint 7 of 2026-01-01T12:00:00.000Z signed another",
        },
      });
      expect(await hold(adminApi, "unknown", heads)).toMatchObject({ isWhole: false, broken: { sequence: 1 } });
    });

    for (const [name, heads] of [
      ["none", []],
      ["more than 500", Array.from({ length: 501 }, () => ({ strand: 0, sequence: 1, hash: origin, checkpoint }))],
      ["one without a row", [{ strand: 0, sequence: 0, hash: origin, checkpoint }]],
      ["one without a hash", [{ strand: 0, sequence: 1, hash: "x", checkpoint }]],
    ] as const) {
      test(`and ${name} is refused`, async () => {
        const { status } = await (await office()).post(`${path}/verify`, { namespaceId: "tenant-1", heads });
        expect(status).toBe(400);
      });
    }
  });

  describe("has checkpoints", () => {
    interface Copied {
      lines: string[];
      isEnd: boolean;
    }
    const copy = (adminApi: Office, from: number) => adminApi.get<Copied>(`${path}/checkpoints`, { from });

    test("that are signed when an operator asks for them, and read from where that operator is", async () => {
      const adminApi = await office();
      await recordAll(adminApi, newTenant(), numbered(1));
      const first = (await copy(adminApi, 0)).body;
      await recordAll(adminApi, newTenant(), numbered(1));
      const text = first.lines.map((line) => `${line}\n`).join("");
      const second = (await copy(adminApi, text.length)).body;
      expect(readFileSync(adminApi.checkpointFile, "utf8")).toBe(`${text}${second.lines.join("\n")}\n`);
      expect([first.isEnd, second.isEnd, second.lines.length]).toEqual([true, true, 1]);
    });

    test("and no more than there are", async () => {
      const adminApi = await office();
      const { status, body } = await adminApi.send("operator", "GET", `${path}/checkpoints?from=99999999`);
      expect([status, body.error.code]).toEqual([503, "audit_unavailable"]);
    });

    test("and a public key that they are signed by", async () => {
      const adminApi = await office();
      const { body } = await adminApi.get(`${path}/key`);
      expect(body).toEqual({
        id: adminApi.checkpoints.key.id,
        publicKey: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n[^-]+-----END PUBLIC KEY-----\n$/),
      });
    });
  });
});
