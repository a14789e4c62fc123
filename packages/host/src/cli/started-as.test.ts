import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { startedAs } from "./started-as.ts";

describe("what starts the program again", () => {
  /** A program, a folder where a shell finds it, and one where it finds another of that name. */
  function install() {
    const folder = temporaryFolder();
    const script = join(folder, "it's.js");
    writeFileSync(script, "");
    for (const name of ["bin", "others"]) mkdirSync(join(folder, name));
    symlinkSync(script, join(folder, "bin", "turnpike"));
    writeFileSync(join(folder, "others", "turnpike"), "");
    const path = (...names: string[]): string => names.map((name) => join(folder, name)).join(delimiter);
    return { script, path };
  }

  test("is npx where npm ran it, whatever that put on the path", () => {
    const { script, path } = install();
    for (const npm_command of ["exec", "start", "run"])
      expect(startedAs({ npm_command, PATH: path("bin") }, script), `${npm_command}`).toBe("npx turnpike");
  });

  test("is the package where npx downloaded it for one run", () => {
    const downloaded = "/home/a/.npm/_npx/0123/node_modules/.bin/turnpike";
    expect(startedAs({ npm_command: "exec" }, downloaded)).toBe("npx turnpike-host");
  });

  test("is its name where a shell finds this very program", () => {
    const { script, path } = install();
    expect(startedAs({ PATH: path("none", "bin") }, script)).toBe("turnpike");
  });

  test("is Node with the script where a shell finds another program, or none", () => {
    const { script, path } = install();
    const line = `node '${script.replace("'", "'\\''")}'`;
    for (const PATH of [path("others"), path("none"), "", undefined])
      expect(startedAs({ PATH }, script), `${PATH}`).toBe(line);
    expect(startedAs({ PATH: path("none") }, "/opt/turnpike.js")).toBe("node /opt/turnpike.js");
  });
});
