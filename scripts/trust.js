// Tries for so long whether the promises hold, and reports what it saw: npm run trust -- --minutes 30 --seed 42
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const folder = ".build/trust";
const document = "docs/security/model.md";
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    only: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0 && Number.isInteger(seed))) {
  console.error("--minutes takes a positive number, --seed an integer, --only the name of a suite");
  process.exit(2);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
console.log(`seed ${seed}`);
const start = Date.now();
const { status } = spawnSync("npx", ["vitest", "run", "--config", "tests/trust/vitest.config.ts"], {
  stdio: "inherit",
  env: {
    ...process.env,
    TEST_SEED: String(seed),
    TRUST_MINUTES: String(minutes),
    ...(values.only && { TRUST_ONLY: values.only }),
  },
});
const report = reportOf(
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => JSON.parse(readFileSync(`${folder}/${name}`, "utf8"))),
);
writeFileSync(`${folder}/report.md`, report);
console.log(`\n${report}\nThe report is in ${folder}/report.md.`);
if (values.write) writeInto(report);
process.exitCode = status ?? 1;

function reportOf(outcomes) {
  const took = Math.round((Date.now() - start) / 60_000);
  const findings = outcomes.flatMap((one) => one.findings.map((finding) => ({ ...finding, suite: one.name })));
  return [
    `Seed ${seed}, ${took} minutes, ${new Date(start).toISOString().slice(0, 10)}, Node ${process.versions.node}, ` +
      `${cpus().length} cores (${process.arch}).`,
    "",
    "| Suite | What has to hold | Seconds | Seen | Did not hold |",
    "| ----- | ---------------- | ------- | ---- | ------------ |",
    ...outcomes.map(
      ({ name, says, seconds, counts, findings: found }) =>
        `| ${name} | ${says} | ${seconds} | ${seenIn(counts)} | ${found.length} |`,
    ),
    ...findings.flatMap(({ suite, what, repeat }) => ["", `**${suite}**: \`${repeat}\``, "", "```text", what, "```"]),
    "",
  ].join("\n");
}

function seenIn(counts) {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString("en")} ${name}`)
    .join(", ");
}

/** Puts the report into the document, in place of the last one. */
function writeInto(latest) {
  const [begin, end] = ["<!-- report -->", "<!-- end of report -->"];
  const text = readFileSync(document, "utf8");
  const [before, after] = [text.indexOf(begin), text.indexOf(end)];
  if (before < 0 || after < before) throw new Error(`${document} has no place for a report`);
  writeFileSync(document, `${text.slice(0, before + begin.length)}\n\n${latest}\n${text.slice(after)}`);
  spawnSync("npx", ["oxfmt", document], { stdio: "inherit" });
}
