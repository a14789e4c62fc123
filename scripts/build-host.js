// Builds what `npm start` and the container need, and says so: the library, the host and its console. `npm run build` also
// checks the types of the console, the tests and the benchmarks, which takes twice as long.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const steps = [
  ["Building the library and the host (some seconds at the first time)", "npx tsc -b packages/host"],
  ["Bundling the command", "npm run --silent build --workspace turnpike-host"],
  ["Building the console", "npm run --silent build --workspace turnpike-console"],
];

for (const [name, command] of steps) {
  console.log(`${name} ...`);
  const { status } = spawnSync(command, { shell: true, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
