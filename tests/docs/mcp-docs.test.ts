import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadConfig } from "../../packages/host/src/compose/config.ts";
import { McpConfigSchema } from "../../packages/host/src/mcp-servers/mcp-config.ts";
import { readBlocks } from "../support/markdown.ts";
import { repository } from "../support/repository.ts";

const guide = "docs/guide/mcp.md";
const folder = mkdtempSync(join(tmpdir(), "turnpike-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("the guide's table has every key of a server, and no other", () => {
  const text = readFileSync(join(repository, guide), "utf8");
  const keys = [...text.matchAll(/^\| `(\w+)` +\|/gm)].map(([, key]) => key);
  expect(keys.toSorted()).toEqual(Object.keys(McpConfigSchema.shape.servers.valueType.shape).toSorted());
});

for (const { line, text } of readBlocks(guide).filter(
  ({ info, text: json }) => info === "json" && json.includes('"servers"'),
)) {
  test(`the configuration at line ${line} of the guide is a valid one`, () => {
    const file = join(folder, "config.json");
    writeFileSync(file, text);
    expect(loadConfig({ file, env: {}, flags: {} })).toMatchObject(JSON.parse(text) as object);
  });
}
