import { readFileSync } from "node:fs";
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/client/validators/cf-worker";
import { expect, test } from "vitest";
import { configJsonSchema, settingKeys } from "./config.ts";

const published = new URL("../../turnpike.config.schema.json", import.meta.url);

test("the published JSON Schema is that of the configuration; run with --update after a change that is meant", async () => {
  await expect(`${JSON.stringify(configJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(published.pathname);
});

interface Part {
  properties?: Record<string, Part>;
  anyOf?: Part[];
  oneOf?: Part[];
}

/** Whether a dotted key leads somewhere. */
function knows(part: Part, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return true;
  const there = part.properties?.[name];
  if (there !== undefined && knows(there, rest)) return true;
  return [...(part.anyOf ?? []), ...(part.oneOf ?? [])].some((variant) => knows(variant, path));
}

test("the published JSON Schema knows every setting and the address of a schema, and allows no other key", () => {
  const schema = JSON.parse(readFileSync(published, "utf8")) as Part & { additionalProperties: unknown };
  expect([...settingKeys(), "$schema"].filter((key) => !knows(schema, key.split(".")))).toEqual([]);
  expect(schema.additionalProperties).toBe(false);
  expect(schema).toMatchObject({ $schema: "http://json-schema.org/draft-07/schema#" });
});

test("the published JSON Schema requires nothing that has a default", () => {
  const schema = JSON.parse(readFileSync(published, "utf8")) as { required?: string[] };
  expect(schema.required ?? []).toEqual([]);
});

const jwt = { jwks: "keys.json", issuer: "i", audience: "a" };
for (const row of [
  { name: "an empty file", config: {}, fits: true },
  { name: "a file with its schema", config: { $schema: "x", listen: { port: 0 }, jwt }, fits: true },
  {
    name: "a model",
    config: { runtime: { kind: "model", provider: "openai", model: "m", apiKeyEnv: "KEY" } },
    fits: true,
  },
  { name: "a server", config: { mcp: { servers: { notes: { command: ["notes"] } } } }, fits: true },
  { name: "an unknown key", config: { lissen: {} }, fits: false },
  { name: "an unknown key of a part", config: { listen: { prot: 1 } }, fits: false },
  { name: "a port that is a word", config: { listen: { port: "http" } }, fits: false },
  { name: "half of a part", config: { tls: { certFile: "a" } }, fits: false },
]) {
  test(`a program that knows JSON Schema ${row.fits ? "accepts" : "refuses"} ${row.name}`, () => {
    const schema = JSON.parse(readFileSync(published, "utf8")) as object;
    const validate = new CfWorkerJsonSchemaValidator({ draft: "7" }).getValidator(schema);
    expect(validate(row.config).valid).toBe(row.fits);
  });
}
