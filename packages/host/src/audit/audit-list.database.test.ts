import { sql } from "kysely";
import { principalKey, type AuditEvent, type PrincipalRef } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import { withBudget } from "../shared/index.ts";
import type { Database } from "../storage/index.ts";
import type { AuditFilter, AuditPlace, AuditRow } from "./audit-list.ts";

const agents: PrincipalRef[] = ["one", "two"].map((agentId) => ({ kind: "agent", agentId }));
const types = ["authorization.checked", "tool.invoked", "turn.ended", "operator.changed"] as const;
const outcomes = ["allowed", "succeeded", "denied", "failed"] as const;
const minute = (place: number): string => `2026-01-01T12:${String(place).padStart(2, "0")}:00.000Z`;

/** Sixty events, all of which differ in something that can be asked for. */
const events = Array.from({ length: 60 }, (_, place) =>
  auditEvent(`event-${place}`, {
    at: minute(Math.floor(place / 2)),
    ...(agents[place % 2] && { actor: agents[place % 2] as PrincipalRef }),
    type: types[Math.floor(place / 2) % 4] ?? "tool.invoked",
    outcome: outcomes[Math.floor(place / 3) % 4] ?? "allowed",
    traceId: `trace-${place % 3}`,
    resource: {
      namespace: place % 5 === 0 ? "mail" : "files",
      path: ["notes", `n${place % 4}`, "a"].slice(0, place % 7),
    },
    tool: `files.tool-${place % 2}`,
    ...(place % 3 === 0 && { reason: place % 6 === 0 ? "grant_exhausted" : "no_matching_grant" }),
    ...(place % 4 === 0 && { grantId: "grant-1" }),
    // What looks like another member inside of one is none.
    metadata: {
      parentId: place % 8 === 1 ? "grant-1" : "x",
      tool: "files.tool-0",
      said: '"tool":"files.tool-1"',
      place,
    },
  }),
);

const filters: AuditFilter[] = [undefined, agents[0]].flatMap((actor) =>
  [undefined, ...types.slice(1, 3)].flatMap((type) =>
    [undefined, ...outcomes.slice(1, 3)].flatMap((outcome) =>
      [undefined, "trace-1"].flatMap((traceId) =>
        [{}, { from: minute(3), until: minute(20) }].map((times) => ({ actor, type, outcome, traceId, ...times })),
      ),
    ),
  ),
);

const notes = (...path: string[]) => ({ namespace: "files", path });
/** Each with what a person would search an event for. */
const details: { filter: AuditFilter; isWanted(event: AuditEvent): boolean }[] = [
  { filter: { tool: "files.tool-1" }, isWanted: ({ tool }) => tool === "files.tool-1" },
  { filter: { tool: "files.tool" }, isWanted: () => false },
  { filter: { reason: "grant_exhausted" }, isWanted: ({ reason }) => reason === "grant_exhausted" },
  {
    filter: { grant: "grant-1" },
    isWanted: ({ grantId, metadata }) => grantId === "grant-1" || metadata?.["parentId"] === "grant-1",
  },
  { filter: { resource: notes() }, isWanted: ({ resource }) => resource?.namespace === "files" },
  {
    filter: { resource: notes("notes", "n1") },
    isWanted: ({ resource }) => `${resource?.namespace}/${resource?.path.join("/")}/`.startsWith("files/notes/n1/"),
  },
  { filter: { resource: notes("notes", "n") }, isWanted: () => false },
  {
    filter: { text: "NOTES/n2/A" },
    isWanted: ({ resource }) => resource?.path.join("/") === "notes/n2/a",
  },
  { filter: { text: "Agent:ONE" }, isWanted: ({ actor }) => principalKey(actor) === "agent:one" },
  { filter: { text: '"PLACE":7,' }, isWanted: ({ id }) => id === "event-7" },
  {
    filter: { text: "exhausted", tool: "files.tool-0", type: "turn.ended", actor: agents[0] },
    isWanted: ({ reason, tool, type, actor }) =>
      reason === "grant_exhausted" &&
      tool === "files.tool-0" &&
      type === "turn.ended" &&
      principalKey(actor) === "agent:one",
  },
];

/** All pages of a list, as an operator reads them. */
async function readAll({ audit }: Stores, namespaceId: string, filter: AuditFilter, limit: number) {
  const pages: AuditRow[][] = [];
  let before: AuditPlace | undefined;
  do {
    const downTo = await audit.findScanEnd(namespaceId, { ...filter, before });
    const page = await audit.list(namespaceId, { ...filter, before, downTo, limit });
    pages.push(page);
    before = page.length === limit ? page.at(-1) : downTo;
  } while (before !== undefined);
  return pages;
}

describe.each(databaseKinds)("a list of audit events on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("has what a check of every event finds, by every filter and all of them together", async () => {
    const stores = openStores(await open());
    const namespaceId = newTenant();
    for (const event of events) await stores.audit.record({ ...event, namespaceId });
    for (const filter of filters) {
      const { actor, type, outcome, traceId, from = "", until = "9" } = filter;
      const wanted = events.filter(
        (event) =>
          (actor === undefined || principalKey(event.actor) === principalKey(actor)) &&
          (type === undefined || event.type === type) &&
          (outcome === undefined || event.outcome === outcome) &&
          (traceId === undefined || event.traceId === traceId) &&
          event.at >= from &&
          event.at < until,
      );
      const found = (await readAll(stores, namespaceId, filter, 7)).flat().map(({ event }) => event.id);
      expect([filter, found]).toEqual([filter, wanted.map(({ id }) => id).toReversed()]);
    }
  });

  test("has what a search of every event finds, by its content", async () => {
    const stores = openStores(await open());
    const namespaceId = newTenant();
    for (const event of events) await stores.audit.record({ ...event, namespaceId });
    for (const { filter, isWanted } of details) {
      const wanted = events.filter(isWanted).map(({ id }) => id);
      const found = (await readAll(stores, namespaceId, filter, 7)).flat().map(({ event }) => event.id);
      expect([filter, found]).toEqual([filter, wanted.toReversed()]);
    }
  });

  test("finds names that no column holds as they are", async () => {
    const stores = openStores(await open());
    const namespaceId = newTenant();
    const tool = 'a "\0\uD800\\ tool';
    await stores.audit.record(auditEvent("odd", { namespaceId, tool }));
    const found = await stores.audit.list(namespaceId, { tool, limit: 9 });
    expect(found.map(({ event }) => event.id)).toEqual(["odd"]);
  });

  /** So many events of the time before `minute(0)`, all of them alike. */
  const fill = ({ db }: Database, namespaceId: string, count: number) =>
    sql`insert into audit (namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash)
      select ${namespaceId}, 0, 1000 + i, 'filled', 'tool.invoked', 'allowed', '2026-01-01T11:00:00.000Z',
        'agent:one', 'trace-1', '{}', 'hash'
      from (with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(count)})
        select i from n) as n`.execute(db);

  test("searches for a text in slices, and ends when its budget does", async () => {
    const database = await openFresh(kind);
    const stores = openStores(database);
    const namespaceId = newTenant();
    await fill(database, namespaceId, 1200);
    let slices = 0;
    const search = (most: number) => {
      slices = 0;
      const nextSlice = async (): Promise<void> => {
        slices += 1;
        if (slices > most) throw new Error("It is over.");
        return Promise.resolve();
      };
      return withBudget({ nextSlice }, () => stores.audit.list(namespaceId, { text: "nowhere", limit: 9 }));
    };
    expect(await search(Infinity)).toEqual([]);
    expect(slices).toBeGreaterThanOrEqual(2);
    await expect(search(1)).rejects.toThrow("It is over.");
  });

  // Ten thousand events a page by time, and two thousand by anything else.
  const tenEmpty = Array<number>(10).fill(0);
  for (const { name, filter, pages } of [
    { name: "a common type", filter: { type: "authorization.checked" }, pages: [1, 0, 1] },
    { name: "a common outcome", filter: { outcome: "succeeded" }, pages: [1, 0, 0] },
    {
      name: "an actor and an outcome",
      filter: { actor: agents[0], outcome: "succeeded" },
      pages: [1, ...tenEmpty],
    },
    { name: "a trace and a rare type", filter: { traceId: "trace-1", type: "turn.ended" }, pages: [...tenEmpty, 1] },
    { name: "a tool", filter: { tool: "old-tool" }, pages: [0, 0, 1] },
    { name: "a text", filter: { text: "OLD-tool" }, pages: [...tenEmpty, 1] },
    { name: "a grant and an actor", filter: { grant: "none", actor: agents[0] }, pages: [0, ...tenEmpty] },
    { name: "an actor alone", filter: { actor: agents[1] }, pages: [1] },
    { name: "a rare outcome", filter: { outcome: "denied" }, pages: [1] },
  ] satisfies { name: string; filter: AuditFilter; pages: number[] }[]) {
    test(`of ${name} continues behind the events that it read, and misses none`, async () => {
      const database = await openFresh(kind);
      const stores = openStores(database);
      const namespaceId = newTenant();
      const [one, two] = agents as [PrincipalRef, PrincipalRef];
      const old = { namespaceId, at: "2026-01-01T10:00:00.000Z", traceId: "trace-1", actor: two };
      const late = { namespaceId, at: minute(0), traceId: "trace-2", actor: one };
      await stores.audit.record(auditEvent("old", { ...old, type: "turn.ended", outcome: "denied" }));
      await stores.audit.record(
        auditEvent("old-check", { ...old, type: "authorization.checked", actor: one, tool: "old-tool" }),
      );
      await fill(database, namespaceId, 20_050);
      await stores.audit.record(auditEvent("late", { ...late, type: "authorization.checked", outcome: "succeeded" }));
      const found = await readAll(stores, namespaceId, filter, 50);
      expect(found.map(({ length }) => length)).toEqual(pages);
    });
  }
});
