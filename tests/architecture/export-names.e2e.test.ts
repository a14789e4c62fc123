import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../support/repository.ts";
import { readRoomExports } from "../support/room-exports.ts";

const library = join(repository, "packages/turnpike");

/** The room that no package may import. */
const unexported = "internal";

const rooms = readdirSync(join(library, "src"))
  .filter((name) => name !== unexported && existsSync(join(library, "src", name, "index.ts")))
  .map((name) => ({ name, exports: readRoomExports(join(library, "src", name, "index.ts")) }));

const agents = join(repository, "packages/agents");

/** What no package but that of the agents imports. */
const shared = "core";

const frameworks = readdirSync(join(agents, "src"))
  .filter((name) => name !== shared)
  .map((name) => ({ name, exports: readRoomExports(join(agents, "src", name, "index.ts")) }));

test("the exports of package.json are the rooms that have an index.ts, and package.json itself", () => {
  const manifest: unknown = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  const subpaths = rooms.map(({ name }) => [
    `./${name}`,
    { types: `./dist/${name}/index.d.ts`, default: `./dist/${name}/index.js` },
  ]);
  expect(manifest).toHaveProperty("exports", Object.fromEntries([...subpaths, ["./package.json", "./package.json"]]));
});

test("what is internal to the library cannot be imported from outside", () => {
  expect(existsSync(join(library, "dist", unexported, "index.js"))).toBe(true);
  const importing = (specifier: string) => () =>
    execFileSync(process.execPath, ["--input-type=module", "--eval", `await import("${specifier}")`], {
      cwd: repository,
      stdio: ["ignore", "ignore", "pipe"],
    });
  for (const specifier of ["turnpike/internal", "turnpike/internal/index.js", "turnpike/dist/internal/index.js"])
    expect(importing(specifier)).toThrow("ERR_PACKAGE_PATH_NOT_EXPORTED");
});

test("the public names are the recorded ones", async () => {
  const all = [
    ...rooms.map(({ name, exports }) => ({ path: `turnpike/${name}`, exports })),
    ...frameworks.map(({ name, exports }) => ({ path: `turnpike-agents/${name}`, exports })),
  ];
  const text = all.map(({ path, exports }) =>
    [path, ...section("values", exports.values), ...section("types", exports.types), ""].join("\n"),
  );
  await expect(text.join("\n")).toMatchFileSnapshot("__snapshots__/exports.txt");
});

for (const { name, exports } of rooms) {
  test(`the index.ts of ${name} holds named re-exports, nothing else`, () => {
    expect(exports.strays).toEqual([]);
  });

  test(`Node imports turnpike/${name} from the build, with the names of its source`, () => {
    const script = `console.log(JSON.stringify(Object.keys(await import("turnpike/${name}"))))`;
    const names: unknown = JSON.parse(
      execFileSync(process.execPath, ["--input-type=module", "--eval", script], { cwd: repository, encoding: "utf8" }),
    );
    expect(names).toEqual(exports.values);
  });
}

test("the exports of the agents' package.json are its frameworks, and package.json itself", () => {
  const manifest: unknown = JSON.parse(readFileSync(join(agents, "package.json"), "utf8"));
  const subpaths = frameworks.map(({ name }) => [
    `./${name}`,
    { types: `./dist/${name}/index.d.ts`, default: `./dist/${name}/index.js` },
  ]);
  expect(manifest).toHaveProperty("exports", Object.fromEntries([...subpaths, ["./package.json", "./package.json"]]));
  expect(frameworks.flatMap(({ exports }) => exports.strays)).toEqual([]);
});

test("names are read apart as values and types, and whatever is no named re-export is a stray", () => {
  expect(readRoomExports(join(repository, "tests/support/fixtures/rooms/index.ts"))).toEqual({
    values: ["decide", "reach"],
    types: ["Grant", "ReachResult"],
    strays: [
      `import { grant } from "./grant.ts";`,
      `export * from "./match.ts";`,
      `export { grant };`,
      `export const version = 1;`,
    ],
  });
});

function section(title: string, names: readonly string[]): string[] {
  return [`  ${title}`, ...names.map((name) => `    ${name}`)];
}
