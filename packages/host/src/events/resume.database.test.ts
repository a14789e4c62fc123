import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, newTenant, openFresh, openPair } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import type { LiveEvent } from "../admin-contract/index.ts";
import type { Database } from "../storage/index.ts";
import type { LiveReader } from "./live-reader.ts";
import { createLiveTenants, type LiveTenants } from "./live-tenants.ts";
import { parseCursor } from "./audit-cursor.ts";

/** Two hosts on one PostgreSQL write a strand each. On SQLite there is one host, which writes one. */
async function openHosts(kind: Database["kind"]): Promise<{ stores: Stores; live: LiveTenants }[]> {
  const databases = kind === "postgres" ? await openPair() : [await openFresh(kind)];
  return databases.map((database) => {
    const stores = openStores(database);
    const failures: unknown[] = [];
    const onFailure = (error: unknown): void => void failures.push(error);
    const withdrawnTools = () => Promise.resolve([]);
    const live = createLiveTenants({
      stores,
      withdrawnTools,
      clock: () => new Date(),
      maxStreams: 9,
      pollMs: 1,
      onFailure,
    });
    onTestFinished(async () => {
      await live.close();
      expect(failures).toEqual([]);
    });
    return { stores, live };
  });
}

/** What happens next: rows are written, at once through both hosts; some are read; the connection breaks, and another host answers. */
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("write" as const), counts: fc.tuple(fc.nat(3), fc.nat(3)) }),
    fc.record({ kind: fc.constant("read" as const), most: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant("reconnect" as const), host: fc.nat(1) }),
  ),
  { minLength: 3, maxLength: 14 },
);

describe.each(databaseKinds)("on %s", (kind) => {
  test("a reader who resumes by cursor misses no row and is told none twice, whichever host writes and whichever host answers", async () => {
    const hosts = await openHosts(kind);
    const hostAt = (place: number) => hosts[place % hosts.length] ?? Promise.reject(new Error("There is no host."));
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const namespaceId = newTenant();
        const connect = async (place: number, cursor: string | undefined): Promise<LiveReader> => {
          const { live } = await hostAt(place);
          const from = cursor === undefined ? undefined : parseCursor(cursor);
          const isStillAdmitted = (): Promise<boolean> => Promise.resolve(true);
          const request = { namespaceId, credentialId: "credential-1", isAuditTold: true, from, isStillAdmitted };
          const reader = await live.open(request);
          if (typeof reader === "string") throw new Error(reader);
          return reader;
        };
        let [reader, cursor, written] = [await connect(0, undefined), "0.0", 0];
        const told: string[] = [];
        /** Reads so many rows. What else came with them is lost with the connection. */
        const read = async (most: number): Promise<void> => {
          const until = Math.min(told.length + most, written);
          while (told.length < until) {
            for (const event of (await reader.next()) ?? []) {
              if (told.length === until) return reconnect(0);
              cursor = event.cursor ?? cursor;
              const one = JSON.parse(event.data) as LiveEvent;
              if (one.kind === "trail") told.push(one.event.id);
            }
          }
        };
        const reconnect = async (place: number): Promise<void> => {
          reader.close();
          reader = await connect(place, cursor);
        };
        const write = async (place: number, count: number): Promise<void> => {
          const { stores } = await hostAt(place);
          for (let row = 0; row < count; row += 1) {
            written += 1;
            await stores.audit.record(auditEvent(`${place}-${String(written)}`, { namespaceId }));
          }
        };
        for (const step of plan) {
          if (step.kind === "write") await Promise.all(step.counts.map((count, place) => write(place, count)));
          if (step.kind === "read") await read(step.most);
          if (step.kind === "reconnect") await reconnect(step.host);
        }
        await read(written);
        reader.close();
        const { stores } = await hostAt(0);
        const stored = await stores.audit.list(namespaceId, { limit: 500 });
        expect(told.toSorted()).toEqual(stored.map(({ event }) => event.id).toSorted());
        for (const writer of [0, 1]) {
          const own = told.filter((id) => id.startsWith(`${writer}-`)).map((id) => Number(id.slice(2)));
          expect(own).toEqual(own.toSorted((one, other) => one - other));
        }
      }),
      { numRuns: 25 },
    );
  });
});
