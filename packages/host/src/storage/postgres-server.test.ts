import { expect, test } from "vitest";
import { isOutage } from "./outage.ts";
import { readServer, readTimeline } from "./postgres-server.ts";

/** A connection to a server that answers every query with this row, or refuses it. */
function serverOf(row: object | Error) {
  const query = () => (row instanceof Error ? Promise.reject(row) : Promise.resolve({ rows: [row] }));
  return { query } as unknown as Parameters<typeof readServer>[0];
}

test("a server is known by the time of its start", async () => {
  expect(await readServer(serverOf({ standby: false, started: "1795000000.123456" }))).toBe("1795000000.123456");
});

test("a connection to a standby is an outage: what it lacks may still come", async () => {
  const refused = await readServer(serverOf({ standby: true, started: "1" })).catch((error: unknown) => error);
  expect(isOutage(refused)).toBe(true);
});

test("a timeline is the beginning of the name of its log, and unknown where the server does not tell", async () => {
  expect(await readTimeline(serverOf({ timeline: "0000000B" }))).toBe("11");
  expect(await readTimeline(serverOf(new Error("permission denied")))).toBeUndefined();
});
