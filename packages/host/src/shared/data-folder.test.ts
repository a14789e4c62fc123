import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "./data-folder.ts";

test("folders are made for their owner alone, and those that are there are left as they are", () => {
  const folder = mkdtempSync(join(tmpdir(), "turnpike-folder-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  makeFolder(join(folder, "a", "b"));
  makeFolder(join(folder, "a", "b"));
  expect(["a", "a/b"].map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o700, 0o700]);
});

test.runIf(process.platform === "linux")("where no folder can be made, that is said at once", () => {
  expect(() => makeFolder("/proc/turnpike/a")).toThrow("ENOENT");
});
