import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { makeServerFolder, removeServerFolder } from "./server-folder.ts";

const unprivileged = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;

test("a folder is new, in the place for temporary files, and its user's alone", async () => {
  // Only root can give a folder away.
  const user = isRoot ? unprivileged : undefined;
  const [one, other] = [await makeServerFolder(user), await makeServerFolder(user)];
  onTestFinished(() => removeServerFolder(other, user));
  expect(one).not.toBe(other);
  expect(dirname(one)).toBe(tmpdir());
  const { mode, uid, gid } = statSync(one);
  expect({ mode: mode & 0o777, uid, gid }).toEqual({
    mode: 0o700,
    uid: user?.uid ?? process.getuid?.(),
    gid: user?.gid ?? process.getgid?.(),
  });
  writeFileSync(join(one, "left-behind"), "");
  await removeServerFolder(one, user);
  expect(existsSync(one)).toBe(false);
});

test("a link in a folder leads no server out of it", async () => {
  const elsewhere = temporaryFolder();
  writeFileSync(join(elsewhere, "untouched"), "");
  const folder = await makeServerFolder(undefined);
  symlinkSync(elsewhere, join(folder, "link"));
  await removeServerFolder(folder, undefined);
  expect([existsSync(folder), existsSync(join(elsewhere, "untouched"))]).toEqual([false, true]);
});

test("another user's folder is removed as that user, so that nothing in it can be used to remove what is not theirs", async () => {
  const user = isRoot ? unprivileged : undefined;
  const folder = await makeServerFolder(user);
  onTestFinished(() => removeServerFolder(folder, undefined));
  mkdirSync(join(folder, "hosts"), { mode: 0o700 });
  writeFileSync(join(folder, "hosts", "file"), "");
  await removeServerFolder(folder, user);
  // For a host that is not root there is no other user, and everything in the folder is its own.
  expect(existsSync(join(folder, "hosts", "file"))).toBe(isRoot);
});
