import { expect, test } from "vitest";
import { alice, assistant } from "../../test/records.ts";
import type { Caller } from "./authenticate.ts";
import { callOfStoredCaller, storedCaller } from "./stored-caller.ts";
import { openRecord, recordOf } from "./request-record.ts";

const credential = { id: "c1", namespaceId: "acme", access: { actor: assistant, owner: alice, purposes: ["support"] } };
const noon = new Date("2026-01-01T12:00:00Z");

/** Whether a caller who is restored from what was stored of them is valid at noon. */
async function isValidLater(
  caller: Pick<Caller, "credential" | "foreign"> | undefined,
  known: { isValid?: boolean; isDeleted?: boolean } = {},
): Promise<boolean | undefined> {
  const { isValid = true, isDeleted = false } = known;
  const record = {
    ...openRecord("request"),
    ...(caller && { caller: { ...caller, isValidAt: () => Promise.resolve(true) } }),
  };
  const credentials = { isValidAt: (id: string) => Promise.resolve(isValid && id === "c1") };
  const ports = { credentials: credentials as never, isDeleted: () => Promise.resolve(isDeleted) };
  const stored = storedCaller({ host: record });
  return recordOf(callOfStoredCaller(ports, stored))?.caller?.isValidAt(noon);
}

test("a caller with a credential of this host is valid while the credential is", async () => {
  expect(await isValidLater({ credential })).toBe(true);
  expect(await isValidLater({ credential }, { isValid: false })).toBe(false);
});

test("a token of an identity provider is valid until it expires, whatever this host knows of its id", async () => {
  const until = (lastsUntil: string) => isValidLater({ credential, foreign: { lastsUntil } }, { isValid: false });
  expect(await until("2026-01-01T12:00:00.001Z")).toBe(true);
  expect(await until("2026-01-01T12:00:00.000Z")).toBe(false);
});

test("no caller of a deleted tenant is valid", async () => {
  expect(await isValidLater({ credential }, { isDeleted: true })).toBe(false);
  expect(await isValidLater({ credential, foreign: { lastsUntil: "2027" } }, { isDeleted: true })).toBe(false);
});

test("a turn without a caller is restored without one, and no token is stored", async () => {
  expect(await isValidLater(undefined)).toBeUndefined();
  expect(recordOf(callOfStoredCaller({ credentials: {} as never }, undefined))?.caller).toBeUndefined();
  const caller = { credential, isValidAt: () => Promise.resolve(true), token: "tp_secret" };
  expect(JSON.stringify(storedCaller({ host: { ...openRecord("request"), caller } }))).not.toContain("secret");
});
