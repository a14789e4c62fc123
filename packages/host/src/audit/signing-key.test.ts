import { createHash, createPublicKey, generateKeyPairSync } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { openSigningKey, parseVerifyingKey, readVerifyingKey } from "./signing-key.ts";

function newFile(): string {
  return join(temporaryFolder(), "data", "audit-key.pem");
}

// A thread cannot set the umask of its process.
test.runIf(isMainThread)("a key is made where there is none, for its owner alone, whatever the umask", () => {
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const file = newFile();
  expect(openSigningKey(file)).toMatchObject({ isExposed: false });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(file, ".."))).toEqual(["audit-key.pem"]);
});

test("a key that is there is used and left as it is", () => {
  const file = newFile();
  const made = openSigningKey(file);
  const text = readFileSync(file, "utf8");
  const { id, pem } = openSigningKey(file);
  expect([id, pem]).toEqual([made.id, made.pem]);
  expect(readFileSync(file, "utf8")).toBe(text);
});

for (const mode of [0o640, 0o604, 0o660]) {
  test(`a key with mode ${mode.toString(8)} is known to be exposed`, () => {
    const file = newFile();
    openSigningKey(file);
    chmodSync(file, mode);
    expect(openSigningKey(file).isExposed).toBe(true);
  });
}

test("a key whose file is another user's is known to be exposed", () => {
  const file = newFile();
  openSigningKey(file);
  vi.spyOn(process, "getuid").mockReturnValue((process.getuid?.() ?? 0) + 1);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(openSigningKey(file).isExposed).toBe(true);
});

test("a key is drafted under a name that cannot be predicted, and no file in its way is written to", () => {
  const folder = temporaryFolder();
  const [file, victim] = [join(folder, "audit-key.pem"), join(folder, "victim")];
  writeFileSync(victim, "unchanged");
  symlinkSync(victim, `${file}.${process.pid}`);
  openSigningKey(file);
  expect(readFileSync(victim, "utf8")).toBe("unchanged");
  expect(lstatSync(file).isFile()).toBe(true);
});

for (const [name, text, says] of [
  ["an empty file", "", "cannot be read as an Ed25519 key in PEM"],
  ["no key", "not a key\n", "cannot be read as an Ed25519 key in PEM"],
  ["a key of another kind", otherKind(), "is a key of another kind; expected Ed25519"],
] as const) {
  test(`${name} is refused by its name, and not replaced`, () => {
    const file = join(temporaryFolder(), "audit-key.pem");
    writeFileSync(file, text);
    expect(() => openSigningKey(file)).toThrow(`${file} ${says}`);
    expect(readFileSync(file, "utf8")).toBe(text);
  });
}

test("a folder without permission to write is named", () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "");
  expect(() => openSigningKey(join(file, "audit-key.pem"))).toThrow("cannot be made");
});

test("what a key signed is known by its public half, and by no other key", async () => {
  const [key, other] = [openSigningKey(newFile()), openSigningKey(newFile())];
  const signature = await key.sign("text");
  const file = join(temporaryFolder(), "public.pem");
  writeFileSync(file, key.pem);
  for (const half of [key, parseVerifyingKey(key.pem), readVerifyingKey(file)]) {
    expect(half.id).toBe(key.id);
    expect(half.isSigned("text", signature)).toBe(true);
    expect(half.isSigned("texT", signature)).toBe(false);
    expect(half.isSigned("text", "")).toBe(false);
  }
  expect(other.isSigned("text", signature)).toBe(false);
  expect(other.id).not.toBe(key.id);
  const der = createPublicKey(key.pem).export({ type: "spki", format: "der" });
  expect(key.id).toBe(createHash("sha256").update(der).digest("hex").slice(0, 32));
});

test("the public half does not hold the private one", () => {
  expect(openSigningKey(newFile()).pem).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
});

function otherKind(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
