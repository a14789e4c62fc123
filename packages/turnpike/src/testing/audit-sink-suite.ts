import type { AuditEvent } from "../contracts/index.ts";
import type { AuditSink } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

/** A sink, and a way to read what it stored of one tenant, in order. */
export interface AuditSinkUnderTest {
  sink: AuditSink;
  recorded(namespaceId: string): Promise<readonly AuditEvent[]>;
}

function event(id: string, changes: Partial<AuditEvent> = {}): AuditEvent {
  return {
    id,
    version: 1,
    type: "authorization.checked",
    outcome: "denied",
    at: "2026-01-01T12:00:00.123+02:00",
    traceId: "trace-1",
    namespaceId: "tenant-1",
    actor: { kind: "agent", agentId: "assistant" },
    authority: { kind: "human", userId: "alice" },
    owner: { kind: "human", userId: "alice" },
    purpose: "support",
    executionId: "execution-1",
    resource: { namespace: "files", path: ["a", "b c", "ä"] },
    action: "read",
    reason: "no_matching_grant",
    metadata: { grants: [{ grantId: "grant-1", failed: "path" }] },
    ...changes,
  };
}

/**
 * Whether a sink stores every event it acknowledged, whole and in order.
 *
 * @example
 * import { auditSinkSuite, memoryAudit } from "turnpike/testing";
 *
 * const sink = memoryAudit();
 * const recorded = async (tenant: string) => sink.events.filter(({ namespaceId }) => namespaceId === tenant);
 * const [first] = auditSinkSuite(async () => ({ sink, recorded }));
 * await first?.run();
 * console.log(first?.name); // stores every field of an event
 */
export function auditSinkSuite(open: () => Promise<AuditSinkUnderTest>): PortCase[] {
  return [
    {
      name: "stores every field of an event",
      async run() {
        const { sink, recorded } = await open();
        await sink.record(event("event-1"));
        expectSame(await recorded("tenant-1"), [event("event-1")], "what was recorded");
      },
    },
    {
      name: "stores events in the order in which they were acknowledged, and separates tenants",
      async run() {
        const { sink, recorded } = await open();
        for (const id of ["event-1", "event-2", "event-3"]) await sink.record(event(id));
        await sink.record(event("event-4", { namespaceId: "tenant-2" }));
        expectSame(
          (await recorded("tenant-1")).map(({ id }) => id),
          ["event-1", "event-2", "event-3"],
          "the order",
        );
        expectSame(
          (await recorded("tenant-2")).map(({ id }) => id),
          ["event-4"],
          "another tenant's",
        );
      },
    },
    {
      name: "two hundred events at once are all there, each once",
      async run() {
        const { sink, recorded } = await open();
        const ids = Array.from({ length: 200 }, (_, place) => `event-${String(place).padStart(3, "0")}`);
        await Promise.all(ids.map((id) => sink.record(event(id))));
        expectSame((await recorded("tenant-1")).map(({ id }) => id).toSorted(), ids, "all of them");
      },
    },
  ];
}
