import { describe, expect, test } from "vitest";
import type { AuditEvent } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../../tests/support/databases.ts";
import { openOffice, readPages, type Office, type Refusal } from "../../../../tests/support/host/office.ts";
import { alice, auditEvent } from "../../../../tests/support/host/world.ts";

interface Page {
  events: { sequence: number; event: AuditEvent }[];
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

describe.each(databaseKinds)("the audit trail at the desk on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("is shown newest first, each event whole and with its place in the chain", async () => {
    const desk = await office();
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
    await recordAll(desk, namespaceId, [event, auditEvent("event-2")]);
    const { status, body } = await desk.get<Page>(path, { namespaceId });
    expect(status).toBe(200);
    expect(body).toEqual({
      events: [
        { sequence: 2, event: auditEvent("event-2", { namespaceId }) },
        { sequence: 1, event: { ...event, namespaceId } },
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
        const desk = await office();
        const namespaceId = newTenant();
        await recordAll(desk, namespaceId, events);
        await recordAll(desk, newTenant(), events);
        expect(idsOf([(await desk.get<Page>(path, { namespaceId, ...query })).body]).join("")).toBe(ids);
        const pages = await readPages<Page>(desk, path, { namespaceId, ...query, limit: 2 });
        expect(idsOf(pages).join("")).toBe(ids);
      });
    }
  });

  for (const limit of [1, 2, 3, 7]) {
    test(`in pages of ${limit} neither repeats nor skips, whatever is recorded between them`, async () => {
      const desk = await office();
      const namespaceId = newTenant();
      await recordAll(desk, namespaceId, numbered(7));
      const pages = await readPages<Page>(desk, path, { namespaceId, limit }, (page) =>
        recordAll(desk, namespaceId, [auditEvent(`late-${page}`)]),
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
    const desk = await office();
    const namespaceId = newTenant();
    await desk.post("/admin/v1/namespaces", { namespaceId, actor: alice, update: { enable: ["files"] } });
    for (let reading = 0; reading < 3; reading += 1) {
      const { body } = await desk.get<Page>(path, { namespaceId, type: "operator.changed", actor: "human:oona" });
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
    const verified = async ({ get }: Office, namespaceId: string) =>
      (await get<{ isWhole: boolean; firstBroken?: number }>(`${path}/verify`, { namespaceId })).body;

    test("and whole when nobody touched it, or nothing is on it", async () => {
      const desk = await office();
      const namespaceId = newTenant();
      expect(await verified(desk, namespaceId)).toEqual({ isWhole: true });
      await recordAll(desk, namespaceId, numbered(5));
      expect(await verified(desk, namespaceId)).toEqual({ isWhole: true });
    });

    test("and broken at the first row that was changed or removed, for its tenant alone", async () => {
      const desk = await office();
      const [touched, other] = [newTenant(), newTenant()];
      for (const tenant of [touched, other]) await recordAll(desk, tenant, numbered(5));
      const { db } = await open();
      const rows = db.deleteFrom("audit").where("namespace_id", "=", touched);
      await rows.where("sequence", "in", [3, 5]).execute();
      expect(await verified(desk, touched)).toEqual({ isWhole: false, firstBroken: 3 });
      expect(await verified(desk, other)).toEqual({ isWhole: true });
    });
  });
});
