import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { hostOpenApi } from "../../packages/host/src/protocols/pages/openapi.ts";
import { openApiDocument } from "../../packages/turnpike/src/http/index.ts";
import { repository } from "../support/repository.ts";

const folder = mkdtempSync(join(tmpdir(), "openapi-"));
afterAll(() => rmSync(folder, { recursive: true }));

const host = { securitySchemes: { bearer: { type: "http", scheme: "bearer" } }, security: [{ bearer: [] }] };

/** The rules of OpenAPI and of redocly.yaml that a document breaks. */
async function brokenRules(document: unknown): Promise<string[]> {
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const lint = [
    "node_modules/@redocly/cli/bin/cli.js",
    "lint",
    file,
    "--config=checks/lint/redocly.yaml",
    "--format=json",
  ];
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const run = promisify(execFile)(process.execPath, lint, { cwd: repository, env });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const { problems } = JSON.parse(stdout) as { problems: { ruleId: string }[] };
  return [...new Set(problems.map(({ ruleId }) => ruleId))];
}

test("the document is sound OpenAPI 3.1, its examples included", async () => {
  expect(await brokenRules(openApiDocument(host))).toEqual([]);
});

test("the host's document is too, with what operators do in it", async () => {
  const document = hostOpenApi() as { paths: object };
  expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(["/v1/turns", "/admin/v1/grants"]));
  expect(await brokenRules(document)).toEqual([]);
});

test("a document is refused whose example does not fit its schema, or whose reference leads nowhere", async () => {
  const text = JSON.stringify(openApiDocument(host));
  const spoiled = text
    .replaceAll('"callId":"call-1"', '"callId":1')
    .replaceAll("#/components/headers/Allow", "#/nowhere");
  expect(await brokenRules(JSON.parse(spoiled))).toEqual(
    expect.arrayContaining(["no-invalid-media-type-examples", "no-unresolved-refs"]),
  );
});
