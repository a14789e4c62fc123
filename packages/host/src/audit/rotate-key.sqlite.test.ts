import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFresh, temporaryFolder } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { auditStoreOf } from "../../test/single-stores.ts";
import type { Database } from "../storage/database.ts";
import { readAnchors, removeExported } from "./anchors.ts";
import { beginning, placeBehind, signLine } from "./checkpoint.ts";
import { readCheckpoints } from "./checkpoint-file.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { refuseHalfRotated, rotateKey } from "./rotate-key.ts";
import { openSigningKey, parseVerifyingKey, type VerifyingKey } from "./signing-key.ts";

const at = "2026-01-01T00:00:00.000Z";

/** An audit log of so many events, its checkpoints, and an anchor behind its first row. */
async function signedAuditLog(count = 3) {
  const database = await openFresh("sqlite");
  const folder = temporaryFolder();
  const [keyFile, file] = [join(folder, "audit-key.pem"), join(folder, "checkpoints.jsonl")];
  const key = openSigningKey(keyFile);
  const audit = auditStoreOf(database);
  const sign = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) await audit.record(auditEvent(id, { namespaceId: "acme" }));
    const clock = (): Date => new Date();
    await createCheckpoints({
      file,
      key: openSigningKey(keyFile),
      audit,
      database,
      log: recordingLog(),
      clock,
    }).write();
  };
  await sign(Array.from({ length: count }, (_, place) => `event-${place}`));
  const [first] = await audit.list("acme", { limit: 9 }).then((rows) => rows.toReversed());
  const row = await database.db.selectFrom("audit").selectAll().where("sequence", "=", 1).executeTakeFirstOrThrow();
  expect(first?.sequence).toBe(1);
  await removeExported(database, "acme", { strand: 0, sequence: 1, hash: row.hash, at }, key);
  return { database, audit, keyFile, file, old: parseVerifyingKey(key.pem), sign };
}

async function isTrusted(file: string, key: VerifyingKey): Promise<boolean> {
  return readCheckpoints(file, beginning, key, () => {}).then(
    () => true,
    () => false,
  );
}

async function anchorsBy({ db }: Database, key: VerifyingKey): Promise<number> {
  return (await readAnchors(db, "acme", key)).anchors.length;
}

test("after a rotation the new key signs, and the file is trusted by a reader who trusts either key", async () => {
  const { database, keyFile, file, old, sign } = await signedAuditLog();
  const { from, to, anchors, publicKeyFile } = await rotateKey(database, { keyFile, file, at });
  const key = openSigningKey(keyFile);
  expect([from, to, anchors]).toEqual([old.id, key.id, 1]);
  expect(from).not.toBe(to);
  expect(readFileSync(publicKeyFile, "utf8")).toBe(old.pem);
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  expect(existsSync(`${keyFile}.next`)).toBe(false);
  expect([await isTrusted(file, old), await isTrusted(file, key)]).toEqual([true, true]);
  await sign(["later"]);
  expect([await isTrusted(file, old), await isTrusted(file, key)]).toEqual([true, true]);
  const stranger = openSigningKey(join(temporaryFolder(), "key.pem"));
  expect(await isTrusted(file, stranger)).toBe(false);
});

test("a key that handed over signs nothing any more: neither a line behind the handover nor an anchor", async () => {
  const { database, keyFile, file, old } = await signedAuditLog();
  const stolen = readFileSync(keyFile);
  await rotateKey(database, { keyFile, file, at });
  expect([await anchorsBy(database, old), await anchorsBy(database, openSigningKey(keyFile))]).toEqual([0, 1]);
  // An attacker with the old key writes one more line with it.
  const thief = openSigningKey(join(temporaryFolder(), "thief.pem"));
  writeFileSync(thief.file, stolen);
  const { place } = await readCheckpoints(file, beginning, old, () => {});
  const line = await signLine(place, { at, host: 1, heads: [] }, openSigningKey(thief.file));
  writeFileSync(file, `${readFileSync(file, "utf8")}${line}\n`);
  expect([await isTrusted(file, old), await isTrusted(file, openSigningKey(keyFile))]).toEqual([false, false]);
});

test("a handover that the trusted key did not sign moves no trust", async () => {
  const { file, old } = await signedAuditLog();
  const thief = openSigningKey(join(temporaryFolder(), "thief.pem"));
  const { place } = await readCheckpoints(file, beginning, old, () => {});
  const line = await signLine(place, { at, host: 1, heads: [], handover: { from: old.pem, to: thief.pem } }, thief);
  const next = await signLine(placeBehind(line, place), { at, host: 1, heads: [] }, thief);
  writeFileSync(file, `${readFileSync(file, "utf8")}${line}\n${next}\n`);
  expect(await isTrusted(file, old)).toBe(false);
});

test("a rotation that is killed at any time prevents hosts from starting, and is finished by running it again", async () => {
  const { database, keyFile, file, old } = await signedAuditLog();
  const [keyBefore, fileBefore] = [readFileSync(keyFile), readFileSync(file)];
  const next = openSigningKey(`${keyFile}.next`);
  // Killed before the handover, within its line, between its two lines, and before the new key has its name.
  await rotateKey(database, { keyFile, file, at });
  const fileAfter = readFileSync(file);
  const between = fileAfter.indexOf(10, fileBefore.length) + 1;
  for (const end of [fileBefore.length, fileBefore.length + 20, between, between + 20, fileAfter.length]) {
    writeFileSync(file, fileAfter);
    truncateSync(file, end);
    next.copyTo(`${keyFile}.next`);
    writeFileSync(keyFile, keyBefore);
    expect(() => refuseHalfRotated(keyFile)).toThrow(
      `The rotation of ${keyFile} was interrupted. Run: turnpike audit key rotate`,
    );
    expect((await rotateKey(database, { keyFile, file, at })).to).toBe(next.id);
    expect(() => refuseHalfRotated(keyFile)).not.toThrow();
    expect([await isTrusted(file, old), await isTrusted(file, next)]).toEqual([true, true]);
    expect(await anchorsBy(database, next)).toBe(1);
  }
});

test("a key that is given becomes the key; the one that signs already is refused", async () => {
  const { database, keyFile, file } = await signedAuditLog();
  const given = openSigningKey(join(temporaryFolder(), "given.pem"));
  await expect(rotateKey(database, { keyFile, file, at, given: openSigningKey(keyFile) })).rejects.toThrow(
    "is the key that the host signs with already",
  );
  expect(existsSync(`${keyFile}.next`)).toBe(false);
  expect((await rotateKey(database, { keyFile, file, at, given })).to).toBe(given.id);
  expect(openSigningKey(keyFile).id).toBe(given.id);
});

test("a rotation that was interrupted is resumed with its own key, and with no other that is given", async () => {
  const { database, keyFile, file, old } = await signedAuditLog();
  const next = openSigningKey(`${keyFile}.next`);
  const given = openSigningKey(join(temporaryFolder(), "given.pem"));
  const before = readFileSync(file);
  await expect(rotateKey(database, { keyFile, file, at, given })).rejects.toThrow("is another key, of a rotation");
  expect([openSigningKey(keyFile).id, readFileSync(file)]).toEqual([old.id, before]);
  expect((await rotateKey(database, { keyFile, file, at, given: next })).to).toBe(next.id);
});
