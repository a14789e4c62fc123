import { expect, test } from "vitest";
import { alice, assistant } from "../../test/records.ts";
import type { Caller } from "./authenticate.ts";
import { callOfKeptCaller, keptCaller } from "./kept-caller.ts";
import { openRecord, recordOf } from "./request-record.ts";

const credential = { id: "c1", namespaceId: "acme", access: { actor: assistant, owner: alice, purposes: ["support"] } };
const noon = new Date("2026-01-01T12:00:00Z");

/** Whether a caller stands at noon who is known again from what was kept of them. */
async function stands(
  caller: Pick<Caller, "credential" | "foreign"> | undefined,
  known: { isValid?: boolean; isDeleted?: boolean } = {},
): Promise<boolean | undefined> {
  const { isValid = true, isDeleted = false } = known;
  const record = {
    ...openRecord("request"),
    ...(caller && { caller: { ...caller, stands: () => Promise.resolve(true) } }),
  };
  const credentials = { stands: (id: string) => Promise.resolve(isValid && id === "c1") };
  const ports = { credentials: credentials as never, isDeleted: () => Promise.resolve(isDeleted) };
  const kept = keptCaller({ host: record });
  return recordOf(callOfKeptCaller(ports, kept))?.caller?.stands(noon);
}

test("a credential of this host stands while it is valid", async () => {
  expect(await stands({ credential })).toBe(true);
  expect(await stands({ credential }, { isValid: false })).toBe(false);
});

test("a token of somebody else stands until it ends, whatever this host knows of its id", async () => {
  const until = (lastsUntil: string) => stands({ credential, foreign: { lastsUntil } }, { isValid: false });
  expect(await until("2026-01-01T12:00:00.001Z")).toBe(true);
  expect(await until("2026-01-01T12:00:00.000Z")).toBe(false);
});

test("nobody of a deleted tenant stands", async () => {
  expect(await stands({ credential }, { isDeleted: true })).toBe(false);
  expect(await stands({ credential, foreign: { lastsUntil: "2027" } }, { isDeleted: true })).toBe(false);
});

test("a turn of nobody has no caller, and what is kept is no token", async () => {
  expect(await stands(undefined)).toBeUndefined();
  expect(recordOf(callOfKeptCaller({ credentials: {} as never }, undefined))?.caller).toBeUndefined();
  const caller = { credential, stands: () => Promise.resolve(true), token: "tp_secret" };
  expect(JSON.stringify(keptCaller({ host: { ...openRecord("request"), caller } }))).not.toContain("secret");
});
