import { describe, expect, test } from "vitest";
import { sharedDatabase } from "../../test/databases.ts";
import { noon } from "../../test/identity-provider.ts";
import { access } from "../../test/records.ts";
import { DiscoveryContextSchema, type DiscoveryContext } from "turnpike/contracts";
import { toHeaderValue } from "turnpike/http";
import { createRateLimit } from "./rate-limit.ts";
import { openRecord } from "./request-record.ts";
import { openStores } from "../compose/stores.ts";
import { createContextResolver } from "./resolve-context.ts";

const open = sharedDatabase("sqlite");
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The context of a request, and the headers its response gets. */
async function resolve(
  sent: Record<string, string>,
): Promise<{ context: DiscoveryContext; headers: Record<string, string> }> {
  const { credentials, settings } = openStores(await open());
  const { token } = await credentials.create({ namespaceId: "tenant-1", access });
  const rateLimit = createRateLimit({ perSecond: 1, burst: 1 });
  const resolver = createContextResolver({ credentials, settings, rateLimit, clock: () => noon });
  const record = openRecord("request-1");
  const context = await resolver(new Headers({ authorization: `Bearer ${token}`, ...sent }), record);
  return { context, headers: record.headers };
}

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const traceOfParent = "4bf92f3577b34da6a3ce929d0e0e4736";
const long = "界".repeat(256);

describe("the trace id", () => {
  for (const row of [
    { name: "is the caller's own", sent: { "x-trace-id": "trace-1" }, traceId: "trace-1" },
    {
      name: "is the caller's own before that of a distributed trace",
      sent: { "x-trace-id": "trace-1", traceparent: parent },
      traceId: "trace-1",
    },
    { name: "is that of a distributed trace", sent: { traceparent: parent }, traceId: traceOfParent },
    { name: "is decoded", sent: { "x-trace-id": "caf%C3%A9%20%E7%95%8C" }, traceId: "café 界" },
    { name: "is taken as it is when it is not encoded", sent: { "x-trace-id": "100%" }, traceId: "100%" },
    { name: "may be as long as an identifier", sent: { "x-trace-id": "x".repeat(256) }, traceId: "x".repeat(256) },
    {
      name: "may be as long as an identifier, however long that is encoded",
      sent: { "x-trace-id": toHeaderValue(long) },
      traceId: long,
    },
    {
      name: "is that of the distributed trace when the caller's own is blank",
      sent: { "x-trace-id": "", traceparent: parent },
      traceId: traceOfParent,
    },
    {
      name: "is that of the distributed trace when the caller's own is an encoded blank",
      sent: { "x-trace-id": "%20", traceparent: parent },
      traceId: traceOfParent,
    },
  ]) {
    test(row.name, async () => {
      const { context, headers } = await resolve(row.sent);
      expect(context.traceId).toBe(row.traceId);
      expect(headers["x-trace-id"]).toBe(toHeaderValue(row.traceId));
    });
  }

  for (const row of [
    { name: "nothing is sent", sent: {} },
    { name: "the own one is blank", sent: { "x-trace-id": "" } },
    { name: "the own one is an encoded blank", sent: { "x-trace-id": "%20%09" } },
    { name: "the own one is too long", sent: { "x-trace-id": "x".repeat(257) } },
    { name: "traceparent is cut", sent: { traceparent: parent.slice(0, -1) } },
    { name: "traceparent is in upper case", sent: { traceparent: parent.toUpperCase() } },
    { name: "traceparent names no trace", sent: { traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` } },
    { name: "traceparent has the forbidden version", sent: { traceparent: `ff${parent.slice(2)}` } },
  ] satisfies { name: string; sent: Record<string, string> }[]) {
    test(`is a fresh one when ${row.name}, and the response names it`, async () => {
      const [one, other] = [await resolve(row.sent), await resolve(row.sent)];
      expect(one.context.traceId).toMatch(uuid);
      expect(one.context.traceId).not.toBe(other.context.traceId);
      expect(one.headers["x-trace-id"]).toBe(one.context.traceId);
    });
  }

  for (const value of ["%0d%0ax-evil: 1", "%E7%95%8C", "%00", "caf%C3%A9", "%F0%9F%98%80"]) {
    test(`${value} can be sent back: every header of the response is a legal one`, async () => {
      const { context, headers } = await resolve({ "x-trace-id": value });
      expect(DiscoveryContextSchema.safeParse(context).success).toBe(true);
      expect(() => new Headers(headers)).not.toThrow();
      expect(headers["x-trace-id"]).toMatch(/^[\x20-\x7e]+$/);
    });
  }
});
