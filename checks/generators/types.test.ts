import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

// What every client of @hey-api/openapi-ts comes with does not fit exactOptionalPropertyTypes.
for (const { project, clients } of [
  { project: "tsconfig.json", clients: "every client, and what uses it, compiles under strict TypeScript" },
  {
    project: "tsconfig.exact.json",
    clients: "those of openapi-typescript and orval do with exact optional properties",
  },
]) {
  test(clients, async () => {
    const compile = ["../node_modules/typescript/bin/tsc", "-p", project];
    const run = promisify(execFile)(process.execPath, compile, { cwd: import.meta.dirname });
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });
}
