// Puts what bench/results.md has into docs/sizing.md.
import { readFileSync, writeFileSync } from "node:fs";
import { withMeasured } from "./support/sizing.ts";

const page = "docs/sizing.md";
writeFileSync(page, withMeasured(readFileSync(page, "utf8"), readFileSync("bench/results.md", "utf8")));
console.log(`${page} is written.`);
