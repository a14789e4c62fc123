// Everything besides the tests that has to hold before a change goes in; stops at the first step that fails.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

// Redocly is to lint, and to call nobody.
process.env["REDOCLY_TELEMETRY"] = "off";
process.env["REDOCLY_SUPPRESS_UPDATE_NOTICE"] = "true";

const steps = [
  ["format", "npx oxfmt --check"],
  ["lint", "npx oxlint --deny-warnings"],
  ["types", "npx tsc -b"],
  ["package turnpike", "npx publint --strict packages/turnpike"],
  ["package turnpike-host", "npx publint --strict packages/host"],
  ["published types", "npx attw --pack packages/turnpike --profile esm-only"],
  ["published types of the host", "npx attw --pack packages/host --profile esm-only"],
  ["api description", "node scripts/openapi.js && npx redocly lint .build/openapi.json"],
  ["unused code", "npx knip"],
];

for (const [name, command] of steps) {
  console.log(`${name}: ${command}`);
  const { status, stdout, stderr } = spawnSync(command, { shell: true, encoding: "utf8" });
  if (status !== 0) {
    process.stderr.write(stdout + stderr);
    process.exit(1);
  }
}
