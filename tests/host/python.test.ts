import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, startHostProcess } from "../support/host-process.ts";
import { makeCredential, makeGrant } from "../support/host-world.ts";
import { repository } from "../support/repository.ts";

const folder = join(repository, "clients/python");

/** Runs a module of Python's tests; every warning is an error. */
function runTests(module: string, env: NodeJS.ProcessEnv = {}) {
  const args = ["-B", "-W", "error", "-m", "unittest", "-v", module];
  const { stderr, status } = spawnSync("python3", args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return { status, stderr };
}

test("the client for Python does what the gate says", () => {
  const { status, stderr } = runTests("test_turnpike");
  expect([status, stderr]).toEqual([0, expect.stringMatching(/Ran 25 tests in \S+\n\nOK\n$/)]);
});

test("the client for Python is governed by a host, which remembers what it did", async () => {
  const host = await startHostProcess({ folder: makeFolder() });
  await makeGrant(host, { id: "mail", resource: "mail/bob", actions: ["send"] });
  await makeGrant(host, { id: "bank", resource: "bank", actions: ["pay"], approval: "each" });
  const { token } = await makeCredential(host);
  const { status, stderr } = runTests("test_host", { TURNPIKE_URL: host.url, TURNPIKE_TOKEN: token });
  expect([status, stderr]).toEqual([0, expect.stringMatching(/Ran 4 tests in \S+\n\nOK\n$/)]);
});
