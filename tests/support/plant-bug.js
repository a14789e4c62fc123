// Loaded into a host with `--import`, to show that a suite would notice: changes one of the built files as it is read.
import { readFileSync } from "node:fs";
import { register } from "node:module";

const { TURNPIKE_PLANTED_BUG } = process.env;
if (TURNPIKE_PLANTED_BUG !== undefined) register(import.meta.url, { data: JSON.parse(TURNPIKE_PLANTED_BUG) });

let bug;

export function initialize(given) {
  bug = given;
}

export async function load(url, context, next) {
  if (bug === undefined || !url.endsWith(`/dist/${bug.file}`)) return next(url, context);
  const source = readFileSync(new URL(url), "utf8");
  if (!source.includes(bug.from)) throw new Error(`${bug.file} has nothing of: ${bug.from}`);
  return { format: "module", shortCircuit: true, source: source.replaceAll(bug.from, bug.to) };
}
