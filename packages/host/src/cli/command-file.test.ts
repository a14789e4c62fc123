import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { ingredientTimes, isBundleCurrent } from "./command-file.ts";
import { temporaryFolder } from "../../test/databases.ts";

const compiled = [
  "packages/host/dist/host.tsbuildinfo",
  "packages/turnpike/dist/internal.tsbuildinfo",
  "packages/turnpike/dist/contracts.tsbuildinfo",
  "packages/turnpike/dist/turnpike.tsbuildinfo",
];
const others = ["node_modules/.package-lock.json", "packages/host/bundle.js"];
const bundledFrom = "packages/host/dist/command/bundled-from.json";

let root: URL;
const host = (): URL => new URL("packages/host/", root);
const pathOf = (file: string): string => fileURLToPath(new URL(file, root));
function write(file: string, text = ""): void {
  mkdirSync(dirname(pathOf(file)), { recursive: true });
  writeFileSync(pathOf(file), text);
}

beforeEach(() => {
  root = pathToFileURL(`${temporaryFolder()}/`);
  for (const file of [...compiled, ...others]) write(file);
  write(bundledFrom, JSON.stringify(ingredientTimes(host())));
});

describe("the bundle of the command", () => {
  test("is run while it is made of what is compiled and installed", () => {
    expect(isBundleCurrent(host())).toBe(true);
  });

  for (const file of [...compiled, ...others]) {
    test(`is not run when ${file} is a newer one, an older one or gone`, () => {
      for (const time of [1, 4e9]) {
        utimesSync(pathOf(file), time, time);
        expect(isBundleCurrent(host())).toBe(false);
      }
      // Without the notes of the compiler it is a published package, which has nothing else to run.
      rmSync(pathOf(file));
      expect(isBundleCurrent(host())).toBe(file === compiled[0]);
    });
  }

  test("is not run when there is none", () => {
    rmSync(pathOf(bundledFrom));
    expect(isBundleCurrent(host())).toBe(false);
  });

  test("is what a published package runs, whatever is around it", () => {
    for (const file of [...compiled, "packages/host/bundle.js"]) rmSync(pathOf(file));
    utimesSync(pathOf("node_modules/.package-lock.json"), 4e9, 4e9);
    expect(isBundleCurrent(host())).toBe(true);
  });
});
