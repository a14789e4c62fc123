// Lets a share of all changes be tried, drawn by a seed, the place and the change. The rest is reported as if it did not
// compile, which counts neither way.
import { createHash } from "node:crypto";
import { relative } from "node:path";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";

const share = Number(process.env.MUTATION_SHARE) / 100;
const seed = process.env.MUTATION_SEED;

class Sample {
  async init() {}

  async group(mutants) {
    return [mutants.map(({ id }) => id)];
  }

  async check(mutants) {
    return Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        isDrawn(mutant) ? { status: "passed" } : { status: "compileError", reason: "not drawn" },
      ]),
    );
  }
}

function isDrawn({ fileName, location, replacement }) {
  const what = JSON.stringify([seed, relative(process.cwd(), fileName), location, replacement]);
  return createHash("sha256").update(what).digest().readUInt32BE() < share * 2 ** 32;
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Checker, "sample", Sample)];
