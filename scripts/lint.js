// Everything besides the tests that has to hold before a change goes in; stops at the first step that fails.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

// Redocly is to lint, and to call no one.
process.env["REDOCLY_TELEMETRY"] = "off";
process.env["REDOCLY_SUPPRESS_UPDATE_NOTICE"] = "true";

const tools = "checks/node_modules/.bin";

const steps = [
  ["format", "npx oxfmt --check"],
  ["lint", "npx oxlint --deny-warnings"],
  ["types", "npx tsc -b"],
  ["tools", "node scripts/install-checks.js"],
  ["package turnpike", `${tools}/publint --strict packages/turnpike`],
  ["package turnpike-host", `${tools}/publint --strict packages/host`],
  ["package turnpike-agents", `${tools}/publint --strict packages/agents`],
  ["published types", `${tools}/attw --pack packages/turnpike --profile esm-only`],
  ["published types of the host", `${tools}/attw --pack packages/host --profile esm-only`],
  ["published types of the agents", `${tools}/attw --pack packages/agents --profile esm-only`],
  [
    "api description",
    "node scripts/openapi.js && npx redocly lint .build/openapi.json --config checks/lint/redocly.yaml",
  ],
  [
    "api description, by another linter",
    `${tools}/spectral lint .build/openapi.json .build/host-openapi.json --ruleset checks/lint/spectral.yaml -F warn`,
  ],
  ["unused code", `${tools}/knip --config checks/lint/knip.json`],
];

for (const [name, command] of steps) {
  console.log(`${name}: ${command}`);
  const { status, stdout, stderr } = spawnSync(command, { shell: true, encoding: "utf8" });
  if (status !== 0) {
    process.stderr.write(stdout + stderr);
    process.exit(1);
  }
}
