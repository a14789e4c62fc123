// Writes what is shipped as a CycloneDX document, `.build/sbom.cdx.json`, and prints the licences in it. Shipped are the three
// packages, what they need at run time, and what the console's bundle contains, in the versions of the lock file.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** npm names a component after its folder. */
const folder = join(root, ".build/sbom/turnpike-as-shipped");
const shipped = [
  ["turnpike", "packages/turnpike"],
  ["turnpike-host", "packages/host"],
  ["turnpike-agents", "packages/agents"],
];

const read = (file) => JSON.parse(readFileSync(join(root, file), "utf8"));
const write = (place, file, value) => {
  mkdirSync(join(folder, place), { recursive: true });
  writeFileSync(join(folder, place, file), JSON.stringify(value));
};

// What the build put into the bundle, as its list of licences has it: `## preact - 10.29.8 (MIT)`.
const licences = readFileSync(join(root, "packages/host/dist/console/THIRD-PARTY-LICENSES.md"), "utf8");
const bundled = [...licences.matchAll(/^## (\S+) - (\S+) \(/gm)].map(([, name, version]) => [name, version]);

// A copy of the manifests and of the lock file in which no one develops, because `npm sbom --omit=dev` leaves out what a
// tool needs as well. Providers of models are optional and not shipped.
const { version, license } = read("package.json");
const workspaces = shipped.map(([name]) => name);
const manifest = {
  name: "turnpike-as-shipped",
  version,
  license,
  workspaces,
  dependencies: Object.fromEntries(bundled),
};
const lock = read("package-lock.json");
const locked = new Map(Object.entries(lock.packages));
locked.set("", manifest);
locked.delete("packages/console");
locked.delete("node_modules/turnpike-console");
rmSync(folder, { recursive: true, force: true });
for (const [name, place] of shipped) {
  const { dependencies } = read(`${place}/package.json`);
  const alone = { name, version, license, dependencies };
  write(name, "package.json", alone);
  for (const [key, value] of [...locked].filter(([found]) => found.startsWith(place))) {
    locked.delete(key);
    locked.set(key.replace(place, name), key === place ? alone : value);
  }
  locked.set(`node_modules/${name}`, { resolved: name, link: true });
}
write("", "package.json", manifest);
write("", "package-lock.json", { ...lock, packages: Object.fromEntries(locked) });

const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=application"];
const text = execFileSync("npm", args, { cwd: folder, encoding: "utf8", maxBuffer: 2 ** 26 });
writeFileSync(join(root, ".build/sbom.cdx.json"), text);

const counts = new Map();
for (const { licenses = [] } of JSON.parse(text).components) {
  const names = licenses.map(({ license: { id } = {}, expression }) => expression ?? id).join(" and ") || "unknown";
  counts.set(names, (counts.get(names) ?? 0) + 1);
}
for (const [names, count] of [...counts].toSorted()) console.log(`${names}: ${count}`);
console.log("All of it is in .build/sbom.cdx.json");
