import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadConfig, settingKeys } from "../../packages/host/src/compose/config.ts";
import { readBlocks } from "../support/markdown.ts";
import { repository } from "../support/repository.ts";

const guide = "docs/guide/run-the-host.md";
const folder = mkdtempSync(join(tmpdir(), "turnpike-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What is in force with this file, and nothing in the environment. */
function load(content: string, env: NodeJS.ProcessEnv = {}): unknown {
  const file = join(folder, "config.json");
  writeFileSync(file, content);
  return loadConfig({ file, env, flags: {} });
}

/** Key and default of each row of the guide's table of settings. */
function documentedSettings(): Map<string, string> {
  const text = readFileSync(join(repository, guide), "utf8");
  const table = text.slice(text.indexOf("Every setting:"), text.indexOf("## Databases"));
  return new Map([...table.matchAll(/^\| `([\w.]+)` +\| (.*?) +\|/gm)].map(([, key = "", value = ""]) => [key, value]));
}

/** The value at a dotted key. */
function at(config: unknown, key: string): unknown {
  return key.split(".").reduce((place, name) => (place as Record<string, unknown> | undefined)?.[name], config);
}

test("the guide's table has every setting, and no other", () => {
  expect([...documentedSettings().keys()].toSorted()).toEqual(settingKeys().toSorted());
});

test("the guide's table tells the defaults", () => {
  // What has no default is asked for, so that the defaults beside it show.
  const required = { jwks: "-", issuer: "-", audience: "-" };
  const config = load(JSON.stringify({ jwt: required }));
  const defaults = [...documentedSettings().keys()].map((key) => {
    const value = at(config, key);
    return [key, value === undefined || value === "-" ? "none" : `\`${JSON.stringify(value)}\``];
  });
  expect([...documentedSettings()]).toEqual(defaults);
});

for (const page of [guide, "docs/guide/sign-in.md"]) {
  for (const { line, text } of readBlocks(page).filter((block) => block.info === "json")) {
    test(`the configuration at line ${line} of ${page} is a valid one`, () => {
      const { $schema: _schema, ...settings } = JSON.parse(text) as { $schema?: string };
      expect(load(text)).toMatchObject(settings);
    });
  }
}
